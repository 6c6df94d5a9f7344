//! Notifications during a call: events in the form of the first protocol of the engine, and progress. Pure.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{ThreadItem, TurnStatus};
use codex_shell_command::split_command;
use serde_json::{Value, json};

/// The notification with an event, which is also the experimental capability of clients that want events.
pub(crate) const METHOD: &str = "codex/event";

/// How the names of clients end that show conversations by events and declare no capability.
const KNOWN_READERS: &str = "codex-client";

/// Whether the client of this `initialize` request reads events. Others may fail at methods that they do not know.
pub(crate) fn are_read_by(initialize: &Value) -> bool {
    let asked = &initialize["capabilities"]["experimental"][METHOD];
    let name = initialize["clientInfo"]["name"].as_str();
    asked.is_object() || *asked == true || name.is_some_and(|name| name.ends_with(KNOWN_READERS))
}

/// A short text about an item that starts, for progress notifications.
pub(crate) fn step(notification: &ServerNotification) -> Option<String> {
    let ServerNotification::ItemStarted(it) = notification else {
        return None;
    };
    Some(match &it.item.item {
        ThreadItem::CommandExecution { command, .. } => format!("Running {command}"),
        ThreadItem::FileChange { changes, .. } => {
            let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
            format!("Changing {}", paths.join(", "))
        }
        ThreadItem::McpToolCall { server, tool, .. } => format!("Calling {server}.{tool}"),
        ThreadItem::WebSearch { .. } => "Searching the web".to_owned(),
        ThreadItem::Reasoning { .. } => "Thinking".to_owned(),
        ThreadItem::AgentMessage { .. } => "Answering".to_owned(),
        _ => return None,
    })
}

fn of_turn(turn: &str, message: Value) -> Value {
    json!({ "id": turn, "msg": message })
}

/// The event with the settings of a new thread.
pub(crate) fn configured(thread: &str, started: &Value) -> Value {
    of_turn(
        "",
        json!({
            "type": "session_configured",
            "session_id": thread,
            "model": started["model"],
            "model_provider_id": started["modelProvider"],
            "approval_policy": started["approvalPolicy"],
            "cwd": started["cwd"],
            "reasoning_effort": started["reasoningEffort"],
            "rollout_path": started["thread"]["path"],
        }),
    )
}

/// The event for a notification, if there is one.
pub(crate) fn event(notification: &ServerNotification) -> Option<Value> {
    use ServerNotification as N;
    Some(match notification {
        N::TurnStarted(it) => of_turn(
            &it.turn.id,
            json!({ "type": "task_started", "turn_id": it.turn.id }),
        ),
        N::AgentMessageDelta(it) => of_turn(
            &it.turn_id,
            json!({ "type": "agent_message_delta", "delta": it.delta }),
        ),
        N::ReasoningSummaryTextDelta(it) => of_turn(
            &it.turn_id,
            json!({ "type": "agent_reasoning_delta", "delta": it.delta }),
        ),
        N::CommandExecutionOutputDelta(it) => of_turn(
            &it.turn_id,
            json!({ "type": "exec_command_output_delta", "call_id": it.item_id,
                    "stream": "stdout", "chunk": it.delta }),
        ),
        N::ItemStarted(it) => of_turn(&it.turn_id, begun(&it.item.item)?),
        N::ItemCompleted(it) => of_turn(&it.turn_id, ended(&it.item.item)?),
        N::ThreadTokenUsageUpdated(it) => {
            let usage = json!(it.token_usage);
            of_turn(&it.turn_id, json!({ "type": "token_count", "info": usage }))
        }
        N::TurnPlanUpdated(it) => of_turn(
            &it.turn_id,
            json!({ "type": "plan_update", "explanation": it.explanation, "plan": it.plan }),
        ),
        N::Error(it) => {
            let kind = if it.will_retry {
                "stream_error"
            } else {
                "error"
            };
            of_turn(
                &it.turn_id,
                json!({ "type": kind, "message": it.error.message }),
            )
        }
        N::TurnCompleted(it) => {
            let message = match it.turn.status {
                TurnStatus::Interrupted => {
                    json!({ "type": "turn_aborted", "turn_id": it.turn.id, "reason": "interrupted" })
                }
                _ => json!({ "type": "task_complete", "turn_id": it.turn.id }),
            };
            of_turn(&it.turn.id, message)
        }
        _ => return None,
    })
}

fn begun(item: &ThreadItem) -> Option<Value> {
    Some(match item {
        ThreadItem::CommandExecution {
            id, command, cwd, ..
        } => {
            let command = split_command(command).unwrap_or_else(|| vec![command.clone()]);
            json!({ "type": "exec_command_begin", "call_id": id, "command": command, "cwd": cwd })
        }
        ThreadItem::FileChange { id, changes, .. } => {
            json!({ "type": "patch_apply_begin", "call_id": id, "changes": changes })
        }
        ThreadItem::McpToolCall {
            id,
            server,
            tool,
            arguments,
            ..
        } => {
            let invocation = json!({ "server": server, "tool": tool, "arguments": arguments });
            json!({ "type": "mcp_tool_call_begin", "call_id": id, "invocation": invocation })
        }
        _ => return None,
    })
}

fn ended(item: &ThreadItem) -> Option<Value> {
    Some(match item {
        ThreadItem::UserMessage { content, .. } => {
            let texts = content.iter().filter_map(|part| match part {
                codex_app_server_protocol::v2::UserInput::Text { text, .. } => Some(text.as_str()),
                _ => None,
            });
            json!({ "type": "user_message", "message": texts.collect::<Vec<_>>().join("\n") })
        }
        ThreadItem::AgentMessage { text, .. } => {
            json!({ "type": "agent_message", "message": text.as_str() })
        }
        ThreadItem::Reasoning { summary, .. } if !summary.is_empty() => {
            json!({ "type": "agent_reasoning", "text": summary.join("\n\n") })
        }
        ThreadItem::CommandExecution {
            id,
            exit_code,
            aggregated_output,
            ..
        } => {
            let output = aggregated_output
                .as_ref()
                .map(|output| output.as_str().into_owned());
            json!({ "type": "exec_command_end", "call_id": id, "exit_code": exit_code,
                    "aggregated_output": output.unwrap_or_default() })
        }
        ThreadItem::FileChange { id, status, .. } => {
            let success = *status == codex_app_server_protocol::v2::PatchApplyStatus::Completed;
            json!({ "type": "patch_apply_end", "call_id": id, "success": success })
        }
        ThreadItem::McpToolCall { id, result, .. } => {
            json!({ "type": "mcp_tool_call_end", "call_id": id, "result": result })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_for_clients_that_ask_and_known_ones() {
        let by = |capabilities: Value, name: &str| {
            are_read_by(&json!({ "capabilities": capabilities, "clientInfo": { "name": name } }))
        };
        let asks = json!({ "experimental": { METHOD: {} } });
        assert!(by(asks, "test"));
        assert!(by(json!({ "experimental": { METHOD: true } }), "test"));
        assert!(by(json!({ "elicitation": {} }), "happy-codex-client"));
        assert!(!by(json!({ "experimental": { METHOD: false } }), "test"));
        assert!(!by(json!({ "experimental": { "other": {} } }), "codex"));
        assert!(!are_read_by(&json!({})));
    }
}
