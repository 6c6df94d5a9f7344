//! Which tools a turn has, in which order, and which tool handles a call.

use std::collections::HashMap;
use std::sync::Arc;

use codex_model_client::{Encoded, ToolSpec};

use super::call::{ToolCall, mcp_name};
use super::cells::{self, NestedTools};
use super::command_format::OutputLayout;
use super::mcp_namespaces::McpNamespaces;
use super::offer::{RegisteredTool, ToolSetBuilder, ToolSituation};
use super::tool::Tool;
use super::{
    agent_jobs, agents, apply_patch, dynamic, host, image_generation, js_repl, mcp, mcp_resources,
    request_permissions, request_user_input, shells, team, tool_search, tool_suggest, update_plan,
    view_image, web_search,
};

/// All tools, in the order in which a request has them. Each says whether a turn offers it.
const ORDER: [fn(&ToolSituation<'_>, &mut ToolSetBuilder); 19] = [
    shells::offer,
    mcp_resources::offer,
    update_plan::offer,
    js_repl::offer,
    request_user_input::offer,
    request_permissions::offer,
    tool_search::offer,
    tool_suggest::offer,
    apply_patch::offer,
    web_search::offer,
    image_generation::offer,
    view_image::offer,
    team::offer,
    agents::offer,
    agent_jobs::offer,
    mcp::offer,
    dynamic::offer,
    host::offer,
    // They call those before.
    cells::offer,
];

/// The tools of a turn. Made again only if something that matters changes.
#[derive(Debug)]
pub struct ToolSet {
    specs: Encoded<Vec<ToolSpec>>,
    tools: HashMap<String, RegisteredTool>,
    /// The tools for scripts, if the model may write some.
    nested: Option<NestedTools>,
    namespaces: McpNamespaces,
}

impl ToolSet {
    pub fn new(situation: &ToolSituation<'_>) -> Self {
        let mut builder = ToolSetBuilder::default();
        for offer in ORDER {
            offer(situation, &mut builder);
        }
        let mut specs = builder.specs;
        specs.append(&mut builder.direct);
        if situation.options().mcp_namespaces {
            specs = builder.namespaces.group(specs);
        }
        Self {
            specs: Encoded::from(specs),
            tools: builder.tools,
            nested: builder.nested,
            namespaces: builder.namespaces,
        }
    }

    /// The tools of a request.
    pub fn specs(&self) -> Encoded<Vec<ToolSpec>> {
        self.specs.clone()
    }

    /// Gives a call of an MCP tool in the namespace of its server the name that the tool has elsewhere. Models that were
    /// trained with namespaces call tools so, however they are offered.
    pub fn name_fully(&self, call: &mut ToolCall) {
        if !self.tools.contains_key(&call.name)
            && let Some(name) = self.namespaces.full_name(&call.name)
        {
            call.name = name.to_owned();
        }
    }

    pub fn find(&self, call: &ToolCall) -> Option<&Arc<dyn Tool>> {
        let registered = self.tools.get(&call.name);
        let registered = registered.or_else(|| self.tools.get(&mcp_name(&call.name)?));
        registered.map(|registered| &registered.tool)
    }

    /// The tools for scripts, if the model may write some.
    pub fn nested(&self) -> Option<&NestedTools> {
        self.nested.as_ref()
    }

    /// A tool by the name that the model knows it by, and whether it takes free text.
    pub fn find_offered(&self, name: &str) -> Option<(Arc<dyn Tool>, bool)> {
        let registered = self.tools.get(name)?;
        let is_freeform = matches!(registered.tool.spec(), ToolSpec::Custom { .. });
        Some((Arc::clone(&registered.tool), is_freeform))
    }

    /// Whether the model is offered a tool.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools
            .get(name)
            .is_some_and(|registered| registered.offered)
    }

    /// The layout of outputs of shells and patches: plain text for models with the free-form patch tool.
    pub fn layout(&self) -> OutputLayout {
        let is_freeform = |spec: &ToolSpec| matches!(spec, ToolSpec::Custom { name, .. } if name == "apply_patch");
        if self.specs.iter().any(is_freeform) {
            OutputLayout::Plain
        } else {
            OutputLayout::Json
        }
    }

    /// Whether calls of this tool run in parallel. Tools that are not offered never do.
    pub fn is_parallel(&self, name: &str) -> bool {
        let registered = self.tools.get(name).filter(|registered| registered.offered);
        registered.is_some_and(|registered| registered.tool.is_parallel())
    }
}
