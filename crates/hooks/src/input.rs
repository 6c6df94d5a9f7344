//! The input of a hook: a JSON object that describes the occasion.

use codex_protocol::HookEventName;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What all occasions have in common.
#[derive(Clone, Copy, Debug)]
pub struct HookInput<'a> {
    /// The thread; for agents, the one that started them.
    pub session_id: &'a str,
    /// The turn, if there is one.
    pub turn_id: Option<&'a str>,
    /// The rollout of the thread, if it has one.
    pub transcript_path: Option<&'a str>,
    /// The working folder.
    pub cwd: &'a str,
    /// The model.
    pub model: &'a str,
    /// Whether people are asked.
    pub permission_mode: PermissionMode,
}

/// Whether people are asked for approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// They are.
    Default,
    /// They never are.
    BypassPermissions,
}

/// The use of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The id of the call.
    pub call_id: String,
    /// The name: `Bash` for commands.
    pub name: String,
    /// More names that matchers may use.
    pub aliases: &'static [&'static str],
    /// The arguments.
    pub input: Value,
}

/// The cause of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// Somebody asked for it.
    Manual,
    /// The context window is full.
    Auto,
}

/// The end of a response of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequestEnd {
    /// Why the request failed, if it did.
    pub error: Option<String>,
    /// The tokens that it used.
    pub token_usage: Value,
}

/// An occasion, with what is special about it.
#[derive(Clone, Debug, PartialEq)]
pub enum EventInput<'a> {
    PreModelRequest,
    PostModelRequest(ModelRequestEnd),
    PreToolUse(&'a ToolUse),
    PermissionRequest(&'a ToolUse),
    PostToolUse {
        tool: &'a ToolUse,
        response: &'a Value,
    },
    PreCompact(CompactionTrigger),
    PostCompact(CompactionTrigger),
    SessionStart {
        source: &'a str,
    },
    SessionEnd {
        reason: &'a str,
    },
    UserPromptSubmit {
        prompt: &'a str,
    },
    SubagentStart {
        agent: &'a str,
        role: &'a str,
    },
    SubagentStop {
        agent: &'a str,
        role: &'a str,
        agent_transcript_path: Option<&'a str>,
        stop_hook_active: bool,
        last_assistant_message: Option<&'a str>,
    },
    Stop {
        stop_hook_active: bool,
        last_assistant_message: Option<&'a str>,
    },
    Interrupt,
}

impl EventInput<'_> {
    /// The event.
    #[must_use]
    pub fn event(&self) -> HookEventName {
        match self {
            Self::PreModelRequest => HookEventName::PreModelRequest,
            Self::PostModelRequest(_) => HookEventName::PostModelRequest,
            Self::PreToolUse(_) => HookEventName::PreToolUse,
            Self::PermissionRequest(_) => HookEventName::PermissionRequest,
            Self::PostToolUse { .. } => HookEventName::PostToolUse,
            Self::PreCompact(_) => HookEventName::PreCompact,
            Self::PostCompact(_) => HookEventName::PostCompact,
            Self::SessionStart { .. } => HookEventName::SessionStart,
            Self::SessionEnd { .. } => HookEventName::SessionEnd,
            Self::UserPromptSubmit { .. } => HookEventName::UserPromptSubmit,
            Self::SubagentStart { .. } => HookEventName::SubagentStart,
            Self::SubagentStop { .. } => HookEventName::SubagentStop,
            Self::Stop { .. } => HookEventName::Stop,
            Self::Interrupt => HookEventName::Interrupt,
        }
    }

    /// The names that matchers look at.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::PreToolUse(tool)
            | Self::PermissionRequest(tool)
            | Self::PostToolUse { tool, .. } => {
                let own = std::iter::once(tool.name.as_str());
                own.chain(tool.aliases.iter().copied()).collect()
            }
            Self::PreCompact(trigger) | Self::PostCompact(trigger) => vec![match trigger {
                CompactionTrigger::Manual => "manual",
                CompactionTrigger::Auto => "auto",
            }],
            Self::SessionStart { source } => vec![source],
            Self::SessionEnd { reason } => vec![reason],
            Self::SubagentStart { role, .. } | Self::SubagentStop { role, .. } => vec![role],
            _ => Vec::new(),
        }
    }

    /// The call of a tool that the occasion is about.
    #[must_use]
    pub fn call_id(&self) -> Option<&str> {
        match self {
            Self::PreToolUse(tool)
            | Self::PermissionRequest(tool)
            | Self::PostToolUse { tool, .. } => Some(&tool.call_id),
            _ => None,
        }
    }

    fn fields(&self) -> Value {
        match self {
            Self::PreModelRequest | Self::Interrupt => json!({}),
            Self::PostModelRequest(end) => json!({
                "status": if end.error.is_none() { "completed" } else { "failed" },
                "error": end.error,
                "token_usage": end.token_usage,
            }),
            Self::PreToolUse(tool) => json!({
                "tool_name": tool.name,
                "tool_input": tool.input,
                "tool_use_id": tool.call_id,
            }),
            Self::PermissionRequest(tool) => json!({
                "tool_name": tool.name,
                "tool_input": tool.input,
            }),
            Self::PostToolUse { tool, response } => json!({
                "tool_name": tool.name,
                "tool_input": tool.input,
                "tool_response": response,
                "tool_use_id": tool.call_id,
            }),
            Self::PreCompact(trigger) | Self::PostCompact(trigger) => json!({ "trigger": trigger }),
            Self::SessionStart { source } => json!({ "source": source }),
            Self::SessionEnd { reason } => json!({ "reason": reason }),
            Self::UserPromptSubmit { prompt } => json!({ "prompt": prompt }),
            Self::SubagentStart { agent, role } => json!({ "agent_id": agent, "agent_type": role }),
            Self::SubagentStop {
                agent,
                role,
                agent_transcript_path,
                stop_hook_active,
                last_assistant_message,
            } => json!({
                "agent_id": agent,
                "agent_type": role,
                "agent_transcript_path": agent_transcript_path,
                "stop_hook_active": stop_hook_active,
                "last_assistant_message": last_assistant_message,
            }),
            Self::Stop {
                stop_hook_active,
                last_assistant_message,
            } => json!({
                "stop_hook_active": stop_hook_active,
                "last_assistant_message": last_assistant_message,
            }),
        }
    }

    /// Whether the input says how people are asked.
    fn has_permission_mode(&self) -> bool {
        !matches!(
            self,
            Self::PreModelRequest
                | Self::PostModelRequest(_)
                | Self::PreCompact(_)
                | Self::PostCompact(_)
                | Self::SessionEnd { .. }
        )
    }
}

impl HookInput<'_> {
    /// The input for an occasion.
    #[must_use]
    pub fn json(&self, event: &EventInput<'_>) -> Value {
        let mut input = Map::new();
        let mut put = |key: &str, value: Value| input.insert(key.to_owned(), value);
        put("session_id", json!(self.session_id));
        if let Some(turn) = self.turn_id {
            put("turn_id", json!(turn));
        }
        put("transcript_path", json!(self.transcript_path));
        put("cwd", json!(self.cwd));
        put("hook_event_name", json!(event.event().pascal_case()));
        if event.event() != HookEventName::SessionEnd {
            put("model", json!(self.model));
        }
        if event.has_permission_mode() {
            put("permission_mode", json!(self.permission_mode));
        }
        if let Value::Object(fields) = event.fields() {
            input.extend(fields);
        }
        Value::Object(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON_INPUT: HookInput<'static> = HookInput {
        session_id: "t",
        turn_id: Some("u"),
        transcript_path: None,
        cwd: "/w",
        model: "m",
        permission_mode: PermissionMode::Default,
    };

    #[test]
    fn a_call_is_described_with_its_arguments() {
        let tool = ToolUse {
            call_id: "c".to_owned(),
            name: "Bash".to_owned(),
            aliases: &["Shell"],
            input: json!({ "command": "ls" }),
        };
        let response = json!("out");
        let event = EventInput::PostToolUse {
            tool: &tool,
            response: &response,
        };
        let expected = json!({
            "session_id": "t",
            "turn_id": "u",
            "transcript_path": null,
            "cwd": "/w",
            "hook_event_name": "PostToolUse",
            "model": "m",
            "permission_mode": "default",
            "tool_name": "Bash",
            "tool_input": { "command": "ls" },
            "tool_response": "out",
            "tool_use_id": "c",
        });
        assert_eq!(COMMON_INPUT.json(&event), expected);
        assert_eq!(event.names(), ["Bash", "Shell"]);
        assert_eq!(event.call_id(), Some("c"));
    }

    #[test]
    fn the_start_of_a_session_has_no_turn() {
        let common = HookInput {
            turn_id: None,
            permission_mode: PermissionMode::BypassPermissions,
            ..COMMON_INPUT
        };
        let input = common.json(&EventInput::SessionStart { source: "resume" });
        assert_eq!(input.get("turn_id"), None);
        assert_eq!(input["permission_mode"], "bypassPermissions");
        assert_eq!(input["source"], "resume");
    }

    #[test]
    fn model_request_hooks_have_no_permission_mode() {
        let end = ModelRequestEnd {
            error: None,
            token_usage: json!({ "total_tokens": 3 }),
        };
        let ended = COMMON_INPUT.json(&EventInput::SessionEnd { reason: "other" });
        assert_eq!(ended.get("model"), None);
        let input = COMMON_INPUT.json(&EventInput::PostModelRequest(end));
        assert_eq!(input.get("permission_mode"), None);
        assert_eq!(input["status"], "completed");
        assert_eq!(input["error"], Value::Null);
        assert_eq!(input["token_usage"]["total_tokens"], 3);
    }
}
