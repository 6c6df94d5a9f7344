//! Items as events of the first protocol of the engine: what they begin and end. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_app_server_protocol::v2::{
    CommandAction, CommandExecutionSource, CommandExecutionStatus, FileUpdateChange,
    McpToolCallError, McpToolCallResult, PatchApplyStatus, PatchChangeKind, ThreadItem, UserInput,
    WebSearchAction,
};
use codex_protocol as v1;
use codex_protocol::{Event, EventMsg};
use codex_shell_command::split_command;
use serde_json::Value;

/// The event for an item that has started, but for a patch.
pub(crate) fn begun(turn: &str, item: &ThreadItem) -> Option<EventMsg> {
    Some(match item {
        ThreadItem::CommandExecution {
            id,
            command,
            cwd,
            process_id,
            source,
            command_actions,
            ..
        } => EventMsg::ExecCommandBegin(v1::ExecCommandBeginEvent {
            call_id: id.clone(),
            process_id: process_id.clone(),
            turn_id: turn.to_owned(),
            command: words(command),
            cwd: cwd.clone(),
            parsed_cmd: command_actions.iter().map(parsed).collect(),
            source: engine_source(*source),
            interaction_input: None,
            environment: None,
        }),
        ThreadItem::McpToolCall { id, .. } => {
            EventMsg::McpToolCallBegin(v1::McpToolCallBeginEvent {
                call_id: id.clone(),
                invocation: invocation(item)?,
                read_only_hint: None,
            })
        }
        ThreadItem::WebSearch { id, .. } => EventMsg::WebSearchBegin(v1::WebSearchBeginEvent {
            call_id: id.clone(),
        }),
        _ => return None,
    })
}

/// The event for a patch that begins. It says whether somebody is asked, which shows after the item has started.
pub(crate) fn patch_begun(
    turn: &str,
    item: &str,
    changes: &[FileUpdateChange],
    auto_approved: bool,
) -> Event {
    let begin = v1::PatchApplyBeginEvent {
        call_id: item.to_owned(),
        turn_id: turn.to_owned(),
        auto_approved,
        changes: engine_changes(changes),
    };
    Event {
        id: turn.to_owned(),
        msg: EventMsg::PatchApplyBegin(begin),
    }
}

/// The event for an item that is complete.
pub(crate) fn ended(turn: &str, item: &ThreadItem) -> Option<EventMsg> {
    Some(match item {
        ThreadItem::UserMessage { content, .. } => EventMsg::UserMessage(v1::UserMessageEvent {
            message: text_of(content),
            images: Some(image_urls(content)),
            ..v1::UserMessageEvent::default()
        }),
        ThreadItem::AgentMessage { text, phase, .. } => {
            EventMsg::AgentMessage(v1::AgentMessageEvent {
                message: text.clone(),
                phase: *phase,
                ..v1::AgentMessageEvent::default()
            })
        }
        ThreadItem::Reasoning { summary, .. } if !summary.is_empty() => {
            EventMsg::AgentReasoning(v1::AgentReasoningEvent {
                text: summary.join("\n\n"),
                item_id: None,
            })
        }
        ThreadItem::CommandExecution { .. } => EventMsg::ExecCommandEnd(command_end(turn, item)?),
        ThreadItem::FileChange {
            id,
            changes,
            status,
        } => EventMsg::PatchApplyEnd(patch_end(turn, id, changes, *status)),
        ThreadItem::McpToolCall {
            id,
            result,
            error,
            duration_ms,
            ..
        } => EventMsg::McpToolCallEnd(v1::McpToolCallEndEvent {
            call_id: id.clone(),
            invocation: invocation(item)?,
            read_only_hint: None,
            duration: duration(*duration_ms),
            result: tool_result(result.as_ref(), error.as_ref()),
        }),
        ThreadItem::WebSearch { id, query, action } => {
            EventMsg::WebSearchEnd(v1::WebSearchEndEvent {
                call_id: id.clone(),
                query: query.clone(),
                action: engine_search(action.as_ref(), query),
            })
        }
        ThreadItem::ImageView { id, path } => {
            EventMsg::ViewImageToolCall(v1::ViewImageToolCallEvent {
                call_id: id.clone(),
                path: path.clone(),
            })
        }
        ThreadItem::ContextCompaction { .. } => EventMsg::ContextCompacted,
        _ => return None,
    })
}

/// A command line as a program and its arguments.
pub(crate) fn words(line: &str) -> Vec<String> {
    split_command(line).unwrap_or_else(|| vec![line.to_owned()])
}

pub(crate) fn parsed(action: &CommandAction) -> v1::ParsedCommand {
    match action.clone() {
        CommandAction::Read {
            command,
            name,
            path,
        } => v1::ParsedCommand::Read {
            cmd: command,
            name,
            path: path.to_string(),
        },
        CommandAction::ListFiles { command, path } => {
            v1::ParsedCommand::ListFiles { cmd: command, path }
        }
        CommandAction::Search {
            command,
            query,
            path,
        } => v1::ParsedCommand::Search {
            cmd: command,
            query,
            path,
        },
        CommandAction::Unknown { command } => v1::ParsedCommand::Unknown { cmd: command },
    }
}

/// Changes of files by their paths.
pub(crate) fn engine_changes(changes: &[FileUpdateChange]) -> BTreeMap<String, v1::FileChange> {
    let change = |change: &FileUpdateChange| {
        let diff = change.diff.clone();
        let engine = match &change.kind {
            PatchChangeKind::Add => v1::FileChange::Add { content: diff },
            PatchChangeKind::Delete => v1::FileChange::Delete { content: diff },
            PatchChangeKind::Update { move_path } => {
                // The diff of clients ends with the new path.
                let moved = move_path.as_ref().map(|to| format!("\n\nMoved to: {to}"));
                let end = moved.as_deref().unwrap_or_default();
                v1::FileChange::Update {
                    unified_diff: diff.strip_suffix(end).unwrap_or(&diff).to_owned(),
                    move_path: move_path.clone(),
                }
            }
        };
        (change.path.clone(), engine)
    };
    changes.iter().map(change).collect()
}

fn command_end(turn: &str, item: &ThreadItem) -> Option<Box<v1::ExecCommandEndEvent>> {
    let ThreadItem::CommandExecution {
        id,
        command,
        cwd,
        process_id,
        source,
        status,
        command_actions,
        aggregated_output,
        exit_code,
        duration_ms,
    } = item
    else {
        return None;
    };
    let output = aggregated_output.clone().unwrap_or_default();
    let text = output.as_str().into_owned();
    Some(Box::new(v1::ExecCommandEndEvent {
        call_id: id.clone(),
        process_id: process_id.clone(),
        turn_id: turn.to_owned(),
        command: words(command),
        cwd: cwd.clone(),
        parsed_cmd: command_actions.iter().map(parsed).collect(),
        source: engine_source(*source),
        interaction_input: None,
        // An item has both streams together.
        stdout: text.clone(),
        stderr: String::new(),
        aggregated_output: output,
        exit_code: exit_code.unwrap_or(-1),
        duration: duration(*duration_ms),
        formatted_output: text,
        status: match status {
            CommandExecutionStatus::Completed => v1::ExecCommandStatus::Completed,
            CommandExecutionStatus::Declined => v1::ExecCommandStatus::Declined,
            CommandExecutionStatus::Failed | CommandExecutionStatus::InProgress => {
                v1::ExecCommandStatus::Failed
            }
        },
        network: Vec::new(),
    }))
}

fn patch_end(
    turn: &str,
    id: &str,
    changes: &[FileUpdateChange],
    status: PatchApplyStatus,
) -> v1::PatchApplyEndEvent {
    v1::PatchApplyEndEvent {
        call_id: id.to_owned(),
        turn_id: turn.to_owned(),
        stdout: String::new(),
        stderr: String::new(),
        success: status == PatchApplyStatus::Completed,
        changes: engine_changes(changes),
        status: match status {
            PatchApplyStatus::Completed => v1::PatchApplyStatus::Completed,
            PatchApplyStatus::Declined => v1::PatchApplyStatus::Declined,
            PatchApplyStatus::Failed | PatchApplyStatus::InProgress => v1::PatchApplyStatus::Failed,
        },
    }
}

fn invocation(item: &ThreadItem) -> Option<v1::McpInvocation> {
    let ThreadItem::McpToolCall {
        server,
        tool,
        arguments,
        ..
    } = item
    else {
        return None;
    };
    Some(v1::McpInvocation {
        server: server.clone(),
        tool: tool.clone(),
        arguments: Some(arguments.clone()).filter(|arguments| !arguments.is_null()),
    })
}

fn tool_result(
    result: Option<&McpToolCallResult>,
    error: Option<&McpToolCallError>,
) -> Result<v1::CallToolResult, String> {
    match (result, error) {
        (_, Some(error)) => Err(error.message.clone()),
        (None, None) => Err("the call has no result".to_owned()),
        (Some(result), None) => {
            let result = serde_json::to_value(result).and_then(serde_json::from_value);
            result.map_err(|error| error.to_string())
        }
    }
}

fn engine_search(action: Option<&WebSearchAction>, query: &str) -> v1::WebSearchAction {
    let action = action
        .and_then(|action| serde_json::to_value(action).ok())
        .map(|action| in_snake_case(&action))
        .and_then(|action| serde_json::from_value(action).ok());
    action.unwrap_or(v1::WebSearchAction::Search {
        query: Some(query.to_owned()),
        queries: None,
    })
}

fn engine_source(source: CommandExecutionSource) -> v1::ExecCommandSource {
    match source {
        CommandExecutionSource::Agent => v1::ExecCommandSource::Agent,
        CommandExecutionSource::UserShell => v1::ExecCommandSource::UserShell,
        CommandExecutionSource::UnifiedExecStartup => v1::ExecCommandSource::UnifiedExecStartup,
        CommandExecutionSource::UnifiedExecInteraction => {
            v1::ExecCommandSource::UnifiedExecInteraction
        }
    }
}

fn text_of(content: &[UserInput]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        UserInput::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn image_urls(content: &[UserInput]) -> Vec<String> {
    let urls = content.iter().filter_map(|part| match part {
        UserInput::Image { url, .. } => Some(url.clone()),
        _ => None,
    });
    urls.collect()
}

fn duration(milliseconds: Option<i64>) -> Duration {
    let milliseconds = milliseconds.and_then(|number| u64::try_from(number).ok());
    Duration::from_millis(milliseconds.unwrap_or_default())
}

/// A value whose names are in camel case, with those of the first protocol: the tag, or the only text, and all members.
pub(crate) fn in_snake_case(value: &Value) -> Value {
    let name = |text: &str| {
        let mut name = String::with_capacity(text.len() + 4);
        for letter in text.chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    };
    match value {
        Value::String(text) => name(text).into(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let is_name = key == "type" || value.is_object();
                let value = if is_name {
                    in_snake_case(value)
                } else {
                    value.clone()
                };
                (name(key), value)
            });
            members.collect::<serde_json::Map<_, _>>().into()
        }
        other => other.clone(),
    }
}
