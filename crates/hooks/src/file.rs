//! The form of `hooks.json`, and of the table `hooks` in settings.

use codex_protocol::HookEventName;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A file of hooks.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HooksFile {
    #[serde(rename = "description")]
    _description: Option<String>,
    pub(crate) hooks: HookGroups,
}

/// The groups of each event. Unknown events are skipped: a file may be for several releases.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(crate) struct HookGroups {
    pre_model_request: Vec<HookGroup>,
    post_model_request: Vec<HookGroup>,
    pre_tool_use: Vec<HookGroup>,
    permission_request: Vec<HookGroup>,
    post_tool_use: Vec<HookGroup>,
    pre_compact: Vec<HookGroup>,
    post_compact: Vec<HookGroup>,
    session_start: Vec<HookGroup>,
    session_end: Vec<HookGroup>,
    user_prompt_submit: Vec<HookGroup>,
    subagent_start: Vec<HookGroup>,
    subagent_stop: Vec<HookGroup>,
    stop: Vec<HookGroup>,
    interrupt: Vec<HookGroup>,
}

impl HookGroups {
    pub(crate) fn for_event(&self, event: HookEventName) -> &[HookGroup] {
        match event {
            HookEventName::PreModelRequest => &self.pre_model_request,
            HookEventName::PostModelRequest => &self.post_model_request,
            HookEventName::PreToolUse => &self.pre_tool_use,
            HookEventName::PermissionRequest => &self.permission_request,
            HookEventName::PostToolUse => &self.post_tool_use,
            HookEventName::PreCompact => &self.pre_compact,
            HookEventName::PostCompact => &self.post_compact,
            HookEventName::SessionStart => &self.session_start,
            HookEventName::SessionEnd => &self.session_end,
            HookEventName::UserPromptSubmit => &self.user_prompt_submit,
            HookEventName::SubagentStart => &self.subagent_start,
            HookEventName::SubagentStop => &self.subagent_stop,
            HookEventName::Stop => &self.stop,
            HookEventName::Interrupt => &self.interrupt,
        }
    }
}

/// Hooks with the same matcher.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HookGroup {
    pub(crate) matcher: Option<String>,
    pub(crate) hooks: Vec<Handler>,
}

/// What a hook does.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Handler {
    Command(CommandHandler),
    McpTool(McpToolHandler),
    Prompt {},
    Agent {},
}

/// Runs a command.
#[derive(Debug, Deserialize)]
pub(crate) struct CommandHandler {
    pub(crate) command: String,
    /// In seconds.
    #[serde(default, alias = "timeoutSec")]
    pub(crate) timeout: Option<u64>,
    #[serde(default, rename = "statusMessage")]
    pub(crate) status_message: Option<String>,
    #[serde(default, rename = "async")]
    pub(crate) is_async: bool,
    #[serde(default, rename = "additionalContextLimit")]
    pub(crate) additional_context_limit: Option<u64>,
    #[serde(default, rename = "onError")]
    pub(crate) on_error: Option<ErrorEffect>,
}

/// Calls a tool of an MCP server.
#[derive(Debug, Deserialize)]
pub(crate) struct McpToolHandler {
    pub(crate) server: String,
    pub(crate) tool: String,
    /// The arguments, which may have placeholders.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// In seconds.
    #[serde(default, alias = "timeoutSec")]
    pub(crate) timeout: Option<u64>,
    #[serde(default, rename = "statusMessage")]
    pub(crate) status_message: Option<String>,
    #[serde(default, rename = "additionalContextLimit")]
    pub(crate) additional_context_limit: Option<u64>,
    #[serde(default, rename = "onError")]
    pub(crate) on_error: Option<ErrorEffect>,
}

/// The effect of a run that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorEffect {
    Ignore,
    Block,
}
