//! Converts notifications of a turn to events for programs: one JSON object per line, with ids that count from 0.
//!
//! The form is the one that `codex exec --json` has for scripts: fewer and coarser events than the
//! app-server's, and snake_case.

use std::collections::HashMap;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    CollabAgentState, CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus,
    CommandExecutionStatus, DynamicToolCallStatus, FileUpdateChange, McpToolCallStatus,
    PatchApplyStatus, PatchChangeKind, ThreadItem, TokenUsageBreakdown, TurnPlanStep,
    TurnPlanStepStatus, TurnStatus,
};
use serde_json::{Map, Value, json};

/// Turns notifications into events.
#[derive(Debug, Default)]
pub struct ExecEvents {
    /// The numbers of items that have begun, by their ids.
    numbers: HashMap<String, usize>,
    next: usize,
    /// The number of the plan and its last form.
    plan: Option<(usize, Value)>,
    usage: Option<TokenUsageBreakdown>,
}

impl ExecEvents {
    /// The first event.
    #[must_use]
    pub fn thread_started(thread_id: &str) -> Value {
        json!({ "type": "thread.started", "thread_id": thread_id })
    }

    /// The event of a turn that could not be started or followed.
    #[must_use]
    pub fn failed(message: &str) -> Value {
        json!({ "type": "turn.failed", "error": { "message": message } })
    }

    /// The events for a notification.
    pub fn on_notification(&mut self, notification: &ServerNotification) -> Vec<Value> {
        use ServerNotification as N;
        match notification {
            N::TurnStarted(_) => vec![json!({ "type": "turn.started" })],
            N::ItemStarted(it) => self.started(&it.item),
            N::ItemCompleted(it) => self.completed(&it.item),
            N::TurnPlanUpdated(it) => self.plan(&it.plan),
            N::ThreadTokenUsageUpdated(it) => {
                self.usage = Some(it.token_usage.total.clone());
                vec![]
            }
            N::Error(it) => vec![json!({ "type": "error", "message": it.error.message })],
            N::Warning(it) => {
                let number = self.number();
                let fields = json!({ "type": "error", "message": it.message });
                vec![event("item.completed", number, fields)]
            }
            N::TurnCompleted(it) => {
                let error = it.turn.error.as_ref().map(|error| error.message.as_str());
                self.end(it.turn.status, error)
            }
            _ => vec![],
        }
    }

    fn started(&mut self, item: &ThreadItem) -> Vec<Value> {
        let Some((id, fields)) = in_progress(item) else {
            return vec![];
        };
        let number = self.number();
        self.numbers.insert(id.to_owned(), number);
        vec![event("item.started", number, fields)]
    }

    fn completed(&mut self, item: &ThreadItem) -> Vec<Value> {
        let Some((id, fields)) = in_progress(item).or_else(|| at_once(item)) else {
            return vec![];
        };
        let number = self.numbers.remove(id).unwrap_or_else(|| self.number());
        vec![event("item.completed", number, fields)]
    }

    fn plan(&mut self, plan: &[TurnPlanStep]) -> Vec<Value> {
        let items: Vec<_> = plan
            .iter()
            .map(|step| {
                let completed = step.status == TurnPlanStepStatus::Completed;
                json!({ "text": step.step, "completed": completed })
            })
            .collect();
        let fields = json!({ "type": "todo_list", "items": items });
        let (kind, number) = match &self.plan {
            Some((number, _)) => ("item.updated", *number),
            None => ("item.started", self.number()),
        };
        self.plan = Some((number, fields.clone()));
        vec![event(kind, number, fields)]
    }

    fn end(&mut self, status: TurnStatus, error: Option<&str>) -> Vec<Value> {
        let mut events = Vec::new();
        if let Some((number, fields)) = self.plan.take() {
            events.push(event("item.completed", number, fields));
        }
        events.push(match status {
            TurnStatus::Completed | TurnStatus::InProgress => {
                let usage = self.usage.as_ref();
                let count = |of: fn(&TokenUsageBreakdown) -> i64| usage.map_or(0, of);
                json!({ "type": "turn.completed", "usage": {
                    "input_tokens": count(|usage| usage.input_tokens),
                    "cached_input_tokens": count(|usage| usage.cached_input_tokens),
                    "cache_write_input_tokens": count(|usage| usage.cache_write_input_tokens.unwrap_or(0)),
                    "output_tokens": count(|usage| usage.output_tokens),
                    "reasoning_output_tokens": count(|usage| usage.reasoning_output_tokens),
                }})
            }
            TurnStatus::Failed => Self::failed(error.unwrap_or("the turn failed")),
            TurnStatus::Interrupted => Self::failed(error.unwrap_or("the turn was interrupted")),
        });
        events
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

fn event(kind: &str, number: usize, fields: Value) -> Value {
    let mut item = json!({ "id": format!("item_{number}") });
    if let (Some(item), Value::Object(fields)) = (item.as_object_mut(), fields) {
        item.extend(fields);
    }
    json!({ "type": kind, "item": item })
}

/// The id and the fields of an item that has an event at its start and one at its end.
fn in_progress(item: &ThreadItem) -> Option<(&String, Value)> {
    match item {
        ThreadItem::CommandExecution { .. } => command(item),
        ThreadItem::McpToolCall { .. } => mcp_tool_call(item),
        ThreadItem::CollabAgentToolCall { .. } => agent_tool_call(item),
        ThreadItem::FileChange {
            id,
            changes,
            status,
        } => {
            let changes: Vec<_> = changes.iter().map(change).collect();
            let fields = json!({ "type": "file_change", "changes": changes,
                                 "status": patch_status(*status) });
            Some((id, fields))
        }
        ThreadItem::DynamicToolCall {
            id,
            tool,
            arguments,
            status,
            ..
        } => {
            let status = match status {
                DynamicToolCallStatus::InProgress => "in_progress",
                DynamicToolCallStatus::Completed => "completed",
                DynamicToolCallStatus::Failed => "failed",
            };
            let fields = json!({ "type": "dynamic_tool_call", "tool": tool,
                                 "arguments": arguments, "status": status });
            Some((id, fields))
        }
        ThreadItem::WebSearch { id, query, action } => {
            let fields = json!({ "type": "web_search", "query": query, "action": action });
            Some((id, fields))
        }
        _ => None,
    }
}

fn command(item: &ThreadItem) -> Option<(&String, Value)> {
    let ThreadItem::CommandExecution {
        id,
        command,
        status,
        aggregated_output,
        exit_code,
        ..
    } = item
    else {
        return None;
    };
    let output = aggregated_output.clone().unwrap_or_default();
    let fields = json!({ "type": "command_execution", "command": command,
                         "aggregated_output": output, "exit_code": exit_code,
                         "status": command_status(*status) });
    Some((id, fields))
}

fn mcp_tool_call(item: &ThreadItem) -> Option<(&String, Value)> {
    let ThreadItem::McpToolCall {
        id,
        server,
        tool,
        status,
        arguments,
        result,
        error,
        ..
    } = item
    else {
        return None;
    };
    let status = match status {
        McpToolCallStatus::InProgress => "in_progress",
        McpToolCallStatus::Completed => "completed",
        McpToolCallStatus::Failed => "failed",
    };
    let result = result.as_ref().map(|result| {
        json!({ "content": result.content, "structured_content": result.structured_content })
    });
    let fields = json!({ "type": "mcp_tool_call", "server": server, "tool": tool,
                         "arguments": arguments, "result": result, "error": error,
                         "status": status });
    Some((id, fields))
}

fn agent_tool_call(item: &ThreadItem) -> Option<(&String, Value)> {
    let ThreadItem::CollabAgentToolCall {
        id,
        tool,
        status,
        sender_thread_id,
        receiver_thread_ids,
        prompt,
        agents_states,
        ..
    } = item
    else {
        return None;
    };
    let status = match status {
        CollabAgentToolCallStatus::InProgress => "in_progress",
        CollabAgentToolCallStatus::Completed => "completed",
        CollabAgentToolCallStatus::Failed => "failed",
    };
    let states: Map<String, Value> = agents_states
        .iter()
        .map(|(thread, state)| (thread.clone(), agent_state(state)))
        .collect();
    let fields = json!({ "type": "collab_tool_call", "tool": collab_tool(*tool),
                         "sender_thread_id": sender_thread_id,
                         "receiver_thread_ids": receiver_thread_ids, "prompt": prompt,
                         "agents_states": states, "status": status });
    Some((id, fields))
}

/// The id and the fields of an item that has one event, at its end.
fn at_once(item: &ThreadItem) -> Option<(&String, Value)> {
    Some(match item {
        // Messages of a reviewer have no text.
        ThreadItem::AgentMessage { id, text, .. } if !text.as_str().is_empty() => {
            (id, json!({ "type": "agent_message", "text": text }))
        }
        ThreadItem::Reasoning { id, summary, .. } if !summary.is_empty() => {
            let text = summary.join("\n\n");
            (id, json!({ "type": "reasoning", "text": text }))
        }
        _ => return None,
    })
}

fn change(change: &FileUpdateChange) -> Value {
    let kind = match change.kind {
        PatchChangeKind::Add => "add",
        PatchChangeKind::Delete => "delete",
        PatchChangeKind::Update { .. } => "update",
    };
    json!({ "path": change.path, "kind": kind })
}

fn command_status(status: CommandExecutionStatus) -> &'static str {
    match status {
        CommandExecutionStatus::InProgress => "in_progress",
        CommandExecutionStatus::Completed => "completed",
        CommandExecutionStatus::Failed => "failed",
        CommandExecutionStatus::Declined => "declined",
    }
}

fn collab_tool(tool: CollabAgentTool) -> &'static str {
    match tool {
        CollabAgentTool::SpawnAgent => "spawn_agent",
        CollabAgentTool::SendInput => "send_input",
        CollabAgentTool::ResumeAgent => "resume_agent",
        CollabAgentTool::Wait => "wait",
        CollabAgentTool::CloseAgent => "close_agent",
    }
}

fn agent_state(state: &CollabAgentState) -> Value {
    let status = match state.status {
        CollabAgentStatus::PendingInit => "pending_init",
        CollabAgentStatus::Running => "running",
        CollabAgentStatus::Interrupted => "interrupted",
        CollabAgentStatus::Completed => "completed",
        CollabAgentStatus::Errored => "errored",
        CollabAgentStatus::Shutdown => "shutdown",
        CollabAgentStatus::NotFound => "not_found",
    };
    json!({ "status": status, "message": state.message })
}

fn patch_status(status: PatchApplyStatus) -> &'static str {
    match status {
        PatchApplyStatus::InProgress => "in_progress",
        PatchApplyStatus::Completed => "completed",
        PatchApplyStatus::Failed | PatchApplyStatus::Declined => "failed",
    }
}

#[cfg(test)]
#[path = "exec_events_tests.rs"]
mod tests;
