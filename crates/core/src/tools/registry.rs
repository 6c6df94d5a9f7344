//! Which tools a turn offers, in which order, and which tool handles a call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use codex_model_client::{ApplyPatchToolType, Encoded, ModelInfo, ShellType, ToolMode, ToolSpec};
use codex_protocol::{DynamicToolSpec, SandboxPolicy};

use super::agent_jobs::{ReportAgentJobResultTool, SpawnAgentsOnCsvTool, is_worker};
use super::agents::{
    CloseAgentTool, ResumeAgentTool, SendInputTool, SpawnAgentTool, WaitAgentTool,
};
use super::apply_patch::ApplyPatchTool;
use super::call::{ToolCall, mcp_name};
use super::cells::{
    ExecTool, NestedScope, NestedTools, WaitTool, exec_description, is_direct_only,
    with_declaration,
};
use super::command::{AskablePermissions, OutputLayout};
use super::dynamic::DynamicTool;
use super::host::HostTool;
use super::js_repl::{JsReplResetTool, JsReplTool};
use super::mcp::McpTool;
use super::mcp_namespaces::McpNamespaces;
use super::mcp_resources::McpResources;
use super::mcp_tools::McpTools;
use super::places::ToolEnvironments;
use super::request_permissions::RequestPermissionsTool;
use super::request_user_input::RequestUserInputTool;
use super::services::ToolServices;
use super::shell::ShellTool;
use super::shell_command::ShellCommandTool;
use super::team;
use super::tool::Tool;
use super::tool_search::ToolSearchTool;
use super::tool_suggest::ToolSuggestTool;
use super::unified_exec::{ExecCommandTool, WriteStdinTool};
use super::update_plan::UpdatePlanTool;
use super::view_image::ViewImageTool;
use super::web_search::web_search;
use crate::agents::is_agent;
use crate::config::{HostTools, SessionConfig, TeamSettings};
use crate::mcp::OfferedTool;

/// The tools of a turn. Made again only if something that matters changes.
#[derive(Debug)]
pub(crate) struct ToolSet {
    specs: Encoded<Vec<ToolSpec>>,
    tools: HashMap<String, RegisteredTool>,
    /// The tools for scripts, if the model may write some.
    nested: Option<NestedTools>,
    namespaces: McpNamespaces,
}

#[derive(Debug)]
struct RegisteredTool {
    tool: Arc<dyn Tool>,
    offered: bool,
}

impl ToolSet {
    /// The tools for a model.
    pub(crate) fn new(
        config: &SessionConfig,
        services: &ToolServices,
        mcp: &McpTools,
        model: &ModelInfo,
        policy: &SandboxPolicy,
        environments: ToolEnvironments,
    ) -> Self {
        let mut builder = ToolSetBuilder::default();
        let has_environment = environments.has_any;
        if has_environment {
            builder.shell(config, model, &environments);
        }
        if mcp.has_servers {
            for tool in [
                McpResources::List,
                McpResources::Templates,
                McpResources::Read,
            ] {
                builder.offer(tool);
            }
        }
        builder.offer(UpdatePlanTool);
        if config.options.js_repl.is_some() && (environments.is_local_first || !has_environment) {
            builder.offer(JsReplTool);
            builder.offer(JsReplResetTool);
        }
        if !is_agent(config) && !config.identity.is_unattended {
            builder.offer(RequestUserInputTool {
                in_default_mode: config.options.features.default_mode_questions,
            });
        }
        if config.options.features.request_permissions
            && (environments.is_local_first || !has_environment)
        {
            builder.offer(RequestPermissionsTool);
        }
        builder.specs.extend(mcp.recorded_search.clone());
        builder.searched(&mcp.searched);
        if !mcp.suggestions.is_empty() {
            builder.offer(ToolSuggestTool::new(mcp.suggestions.clone()));
        }
        match model.apply_patch_tool_type {
            _ if !has_environment => {}
            Some(ApplyPatchToolType::Function) => {
                builder.offer(ApplyPatchTool::Function(environments.clone()))
            }
            Some(ApplyPatchToolType::Freeform) => {
                builder.offer(ApplyPatchTool::Freeform(environments.clone()));
            }
            None if config.options.features.apply_patch_freeform => {
                builder.offer(ApplyPatchTool::Freeform(environments.clone()));
            }
            None => {}
        }
        let search = web_search(
            &config.options.web_search,
            model,
            policy,
            &services.search_access,
        );
        builder.specs.extend(search);
        if config.options.features.image_generation && model.takes_images() {
            builder.specs.push(ToolSpec::ImageGeneration {
                output_format: "png".to_owned(),
            });
        }
        if has_environment {
            builder.offer(ViewImageTool(environments));
        }
        if let Some(agents) = &config.options.agents
            && let Some(team) = &agents.team
        {
            let tools = team::tools(agents, team, &services.model.choices());
            let code_mode = config.options.code_mode.as_ref();
            let mode = code_mode.map(|code_mode| code_mode.mode_of(model));
            let has_scripts = mode.is_some_and(|mode| mode != ToolMode::Direct);
            builder.team(team, tools, has_scripts);
        } else if let Some(agents) = &config.options.agents {
            let make = || SpawnAgentTool::make_spec(agents, &services.model.choices());
            let spec = services.spawn_tool.get_or_init(make);
            builder.offer(SpawnAgentTool(Arc::clone(spec)));
            builder.offer(SendInputTool);
            builder.offer(ResumeAgentTool);
            builder.offer(WaitAgentTool);
            builder.offer(CloseAgentTool);
        }
        if config.options.agent_jobs.is_some() {
            if config.options.agents.is_some() {
                builder.offer(SpawnAgentsOnCsvTool);
            }
            if is_worker(config) {
                builder.offer(ReportAgentJobResultTool);
            }
        }
        for tool in &mcp.tools {
            builder.offer(McpTool(tool.clone()));
            builder.namespaces.add(tool);
        }
        for spec in &mcp.recorded {
            builder.namespaces.add_recorded(spec);
            builder.recorded.insert(spec.name().to_owned());
            builder.specs.push(spec.clone());
        }
        for tool in &services.dynamic_tools {
            builder.dynamic(tool);
        }
        if let Some(tools) = config
            .services
            .host_tools
            .as_ref()
            .filter(|_| !is_agent(config))
        {
            builder.host(tools);
        }
        builder.build(config, model)
    }

    /// The tools of a request.
    pub(crate) fn specs(&self) -> Encoded<Vec<ToolSpec>> {
        self.specs.clone()
    }

    /// Gives a call of an MCP tool in the namespace of its server the name that the tool has elsewhere. Models that were
    /// trained with namespaces call tools so, however they are offered.
    pub(crate) fn name_fully(&self, call: &mut ToolCall) {
        if !self.tools.contains_key(&call.name)
            && let Some(name) = self.namespaces.full_name(&call.name)
        {
            call.name = name.to_owned();
        }
    }

    pub(crate) fn find(&self, call: &ToolCall) -> Option<&Arc<dyn Tool>> {
        let registered = self.tools.get(&call.name);
        let registered = registered.or_else(|| self.tools.get(&mcp_name(&call.name)?));
        registered.map(|registered| &registered.tool)
    }

    /// The tools for scripts, if the model may write some.
    pub(crate) fn nested(&self) -> Option<&NestedTools> {
        self.nested.as_ref()
    }

    /// A tool by the name that the model knows it by, and whether it takes free text.
    pub(crate) fn find_offered(&self, name: &str) -> Option<(Arc<dyn Tool>, bool)> {
        let registered = self.tools.get(name)?;
        let is_freeform = matches!(registered.tool.spec(), ToolSpec::Custom { .. });
        Some((Arc::clone(&registered.tool), is_freeform))
    }

    /// Whether the model is offered a tool.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools
            .get(name)
            .is_some_and(|registered| registered.offered)
    }

    /// The layout of outputs of shells and patches: plain text for models with the free-form patch tool.
    pub(crate) fn layout(&self) -> OutputLayout {
        let is_freeform = |spec: &ToolSpec| matches!(spec, ToolSpec::Custom { name, .. } if name == "apply_patch");
        if self.specs.iter().any(is_freeform) {
            OutputLayout::Plain
        } else {
            OutputLayout::Json
        }
    }

    /// Whether calls of this tool run in parallel. Tools that are not offered never do.
    pub(crate) fn is_parallel(&self, name: &str) -> bool {
        let registered = self.tools.get(name).filter(|registered| registered.offered);
        registered.is_some_and(|registered| registered.tool.is_parallel())
    }
}

#[derive(Default)]
struct ToolSetBuilder {
    specs: Vec<ToolSpec>,
    tools: HashMap<String, RegisteredTool>,
    /// Tools of the client that are not offered, with their namespaces.
    deferred: Vec<(Option<String>, ToolSpec)>,
    /// Tools that scripts cannot call.
    direct: Vec<ToolSpec>,
    /// Tools of a recorded session, as the model saw them.
    recorded: HashSet<String>,
    namespaces: McpNamespaces,
}

impl ToolSetBuilder {
    /// Offers the shell tool of the model, and accepts calls of all others.
    fn shell(
        &mut self,
        config: &SessionConfig,
        model: &ModelInfo,
        environments: &ToolEnvironments,
    ) {
        if !config.options.features.shell_tool {
            return;
        }
        let askable = AskablePermissions::in_session(config);
        let argv = ShellTool {
            askable,
            environments: environments.clone(),
        };
        let script = ShellCommandTool {
            askable,
            login: config.options.allow_login_shell,
            environments: environments.clone(),
        };
        match model.shell_type {
            ShellType::Disabled => return,
            _ if config.options.features.unified_exec => {
                self.offer(ExecCommandTool {
                    askable,
                    login: config.options.allow_login_shell,
                    environments: environments.clone(),
                });
                self.offer(WriteStdinTool);
            }
            ShellType::Default => self.offer(argv.clone()),
            ShellType::ShellCommand | ShellType::UnifiedExec => self.offer(script.clone()),
            ShellType::Local => self.specs.push(ToolSpec::LocalShell),
        }
        for name in ["shell", "container.exec", "local_shell"] {
            self.accept(name, argv.clone());
        }
        self.accept("shell_command", script);
    }

    /// Offers a tool to the model.
    fn offer(&mut self, tool: impl Tool + 'static) {
        let spec = tool.spec();
        let name = spec.name().to_owned();
        self.specs.push(spec);
        self.tools.insert(
            name,
            RegisteredTool {
                tool: Arc::new(tool),
                offered: true,
            },
        );
    }

    /// The tools for agents with paths, in their namespace if they have one. Scripts may be kept from calling them. Models
    /// that were trained with a namespace may call them in it.
    fn team(&mut self, team: &TeamSettings, tools: [Arc<dyn Tool>; 7], has_scripts: bool) {
        let mut specs = Vec::new();
        for tool in tools {
            let spec = tool.spec();
            let name = match &team.tool_namespace {
                Some(namespace) => format!("{namespace}:{}", spec.name()),
                None => spec.name().to_owned(),
            };
            let in_namespace = format!("{}:{}", team::NAMESPACE, spec.name());
            for (name, offered) in [(in_namespace, false), (name, true)] {
                let tool = Arc::clone(&tool);
                self.tools.insert(name, RegisteredTool { tool, offered });
            }
            specs.push(spec);
        }
        if let Some(namespace) = &team.tool_namespace {
            specs = vec![team::namespace(namespace, specs)];
        }
        if has_scripts && team.direct_only {
            self.direct.extend(specs);
        } else {
            self.specs.extend(specs);
        }
    }

    /// Adds tools of the client. The name of a call in a namespace contains both, see [`ToolCall::from_item`].
    fn dynamic(&mut self, tool: &DynamicToolSpec) {
        let mut offered = Vec::new();
        for (namespace, function) in tool.functions() {
            let tool = DynamicTool {
                namespace: namespace.map(str::to_owned),
                function: function.clone(),
            };
            let name = match namespace {
                Some(namespace) => format!("{namespace}:{}", function.name),
                None => function.name.clone(),
            };
            if function.defer_loading {
                self.deferred.push((tool.namespace.clone(), tool.spec()));
                self.accept(&name, tool);
                continue;
            }
            offered.push(tool.spec());
            let registered = RegisteredTool {
                tool: Arc::new(tool),
                offered: true,
            };
            self.tools.insert(name, registered);
        }
        match tool {
            // Providers refuse an empty namespace.
            _ if offered.is_empty() => {}
            DynamicToolSpec::Function(function) => match &function.namespace {
                Some(namespace) => self.add_to_namespace(namespace, offered),
                None => self.specs.extend(offered),
            },
            DynamicToolSpec::Namespace(namespace) => self.specs.push(ToolSpec::Namespace {
                name: namespace.name.clone(),
                description: namespace.description.clone(),
                tools: offered,
            }),
        }
    }

    /// Adds tools to the namespace that earlier tools of the client have named, or to a new one.
    fn add_to_namespace(&mut self, namespace: &str, offered: Vec<ToolSpec>) {
        let known = self.specs.iter_mut().find_map(|spec| match spec {
            ToolSpec::Namespace { name, tools, .. } if name == namespace => Some(tools),
            _ => None,
        });
        match known {
            Some(tools) => tools.extend(offered),
            None => self.specs.push(ToolSpec::Namespace {
                name: namespace.to_owned(),
                description: format!("Tools in the {namespace} namespace."),
                tools: offered,
            }),
        }
    }

    /// Accepts tools of apps, and offers the search for them.
    fn searched(&mut self, tools: &[OfferedTool]) {
        if tools.is_empty() {
            return;
        }
        for tool in tools {
            let found = McpTool(tool.clone());
            self.deferred.push((None, found.spec()));
            // The name within its namespace, if that is not just the rest of the whole name.
            let (namespace, name) = tool.namespaced();
            self.accept(&format!("{namespace}:{name}"), found.clone());
            self.accept(&tool.name, found);
        }
        self.offer(ToolSearchTool::new(tools));
    }

    /// Tools of the embedder.
    fn host(&mut self, tools: &Arc<dyn HostTools>) {
        let are_offered = tools.are_offered();
        for function in tools.functions() {
            let name = function.name.clone();
            let tool = HostTool {
                tools: Arc::clone(tools),
                function,
            };
            if are_offered {
                self.offer(tool);
            } else {
                self.accept(&name, tool);
            }
        }
    }

    /// Accepts calls of a tool that is not offered.
    fn accept(&mut self, name: &str, tool: impl Tool + 'static) {
        self.tools
            .entry(name.to_owned())
            .or_insert_with(|| RegisteredTool {
                tool: Arc::new(tool),
                offered: false,
            });
    }

    fn build(mut self, config: &SessionConfig, model: &ModelInfo) -> ToolSet {
        let code_mode = config.options.code_mode.as_ref();
        let nested = code_mode.and_then(|code_mode| {
            let only = match code_mode.mode_of(model) {
                ToolMode::Direct => return None,
                ToolMode::CodeMode => false,
                ToolMode::CodeModeOnly => true,
            };
            Some(self.scripts(&code_mode.excluded_namespaces, only))
        });
        self.specs.append(&mut self.direct);
        if config.options.mcp_namespaces {
            self.specs = self.namespaces.group(self.specs);
        }
        ToolSet {
            specs: Encoded::from(self.specs),
            tools: self.tools,
            nested,
            namespaces: self.namespaces,
        }
    }

    /// Offers scripts, beside the tools that they call or in place of them.
    fn scripts(&mut self, excluded: &[String], only: bool) -> NestedTools {
        let context = NestedScope {
            excluded,
            recorded: &self.recorded,
        };
        let nested = NestedTools::new(&self.specs, &self.deferred, context);
        let description = exec_description(&nested, only);
        let mut others = std::mem::take(&mut self.specs);
        self.offer(ExecTool {
            description: description.into(),
        });
        self.offer(WaitTool);
        if only {
            others.retain(|spec| match spec {
                ToolSpec::Function { name, .. } => is_direct_only(name),
                ToolSpec::Custom { .. } | ToolSpec::Namespace { .. } | ToolSpec::LocalShell => {
                    false
                }
                _ => true,
            });
        } else {
            for spec in &mut others {
                with_declaration(spec, &nested);
            }
        }
        self.specs.extend(others);
        nested
    }
}
