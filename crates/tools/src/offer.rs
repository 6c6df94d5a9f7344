//! What decides which tools a turn has, and the list to which each tool adds itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use codex_model_client::{ModelInfo, ToolMode, ToolSpec};
use codex_protocol::SandboxPolicy;
use codex_session_base::config::{SessionConfig, SessionOptions};

use super::cells::NestedTools;
use super::mcp_namespaces::McpNamespaces;
use super::mcp_tools::McpTools;
use super::places::ToolEnvironments;
use super::services::ToolServices;
use super::tool::Tool;

/// What decides which tools a turn has.
#[derive(Debug)]
pub struct ToolSituation<'a> {
    pub config: &'a SessionConfig,
    pub services: &'a ToolServices,
    pub mcp: &'a McpTools,
    pub model: &'a ModelInfo,
    pub policy: &'a SandboxPolicy,
    pub environments: ToolEnvironments,
}

impl ToolSituation<'_> {
    pub(super) fn options(&self) -> &SessionOptions {
        &self.config.options
    }

    /// Whether what works on this machine alone is what the model means: no other machine comes first.
    pub(super) fn is_local(&self) -> bool {
        self.environments.is_local_first || !self.environments.has_any
    }

    /// Whether the model may write scripts that call tools, beside the tools or in place of them.
    pub(super) fn script_mode(&self) -> ToolMode {
        let code_mode = self.options().code_mode.as_ref();
        code_mode.map_or(ToolMode::Direct, |code_mode| code_mode.mode_of(self.model))
    }
}

/// The tools of a turn, as they add themselves.
#[derive(Debug, Default)]
pub(crate) struct ToolSetBuilder {
    pub(super) specs: Vec<ToolSpec>,
    pub(super) tools: HashMap<String, RegisteredTool>,
    /// Tools that are not offered, for scripts, with their namespaces.
    pub(super) deferred: Vec<(Option<String>, ToolSpec)>,
    /// Tools that scripts cannot call.
    pub(super) direct: Vec<ToolSpec>,
    /// Tools of a recorded session, as the model saw them.
    pub(super) recorded: HashSet<String>,
    pub(super) namespaces: McpNamespaces,
    /// The tools for scripts, if the model may write some.
    pub(super) nested: Option<NestedTools>,
}

/// A tool under one of its names.
#[derive(Debug)]
pub(super) struct RegisteredTool {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) offered: bool,
}

impl ToolSetBuilder {
    /// Offers a tool to the model.
    pub(super) fn offer(&mut self, tool: impl Tool + 'static) {
        let spec = tool.spec();
        self.handle(spec.name().to_owned(), tool);
        self.specs.push(spec);
    }

    /// Handles calls of a tool that is offered in another way.
    pub(super) fn handle(&mut self, name: String, tool: impl Tool + 'static) {
        let tool = Arc::new(tool);
        let registered = RegisteredTool {
            tool,
            offered: true,
        };
        self.tools.insert(name, registered);
    }

    /// Accepts calls of a tool that is not offered, unless there is another of that name.
    pub(super) fn accept(&mut self, name: &str, tool: impl Tool + 'static) {
        self.tools
            .entry(name.to_owned())
            .or_insert_with(|| RegisteredTool {
                tool: Arc::new(tool),
                offered: false,
            });
    }
}
