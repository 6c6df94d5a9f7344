//! Converts commands to ACP tool calls. Pure.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Meta, Terminal, TerminalId, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolKind,
};
use codex_app_server_protocol::v2::{CommandAction, CommandExecutionStatus, ThreadItem};
use codex_client::command_script;
use codex_visible_text::visible_line;
use serde_json::{Map, Value, json};

use crate::call_content::text;

/// The tool that runs a command in a terminal of the editor.
pub(crate) use codex_protocol::EDITOR_TERMINAL as TERMINAL_TOOL;

fn meta(name: &str, value: Value) -> Meta {
    Map::from_iter([(name.to_owned(), value)])
}

/// The tool call of a question about a command. It always has the whole command, whatever is known about what that does:
/// clients may allow what they take for reading by themselves.
pub(crate) fn question(id: &str, command: &str, cwd: &str) -> ToolCall {
    ToolCall::new(id.to_owned(), title(command))
        .kind(ToolKind::Execute)
        .raw_input(json!({ "command": command, "cwd": cwd }))
}

/// The tool call of a command before it ran. The texts of actions are escaped for display already.
fn outline(id: &str, command: &str, cwd: &str, actions: &[CommandAction]) -> ToolCall {
    let call = match actions {
        [CommandAction::Read { name, path, .. }] => {
            let path = Path::new(cwd).join(path);
            ToolCall::new(id.to_owned(), format!("Read file '{name}'"))
                .kind(ToolKind::Read)
                .locations(vec![ToolCallLocation::new(path)])
        }
        [CommandAction::ListFiles { path, .. }] => {
            let place = path.as_deref().unwrap_or(".");
            ToolCall::new(id.to_owned(), format!("List files in '{place}'")).kind(ToolKind::Read)
        }
        [CommandAction::Search { query, path, .. }] => {
            let what = query
                .as_deref()
                .map_or_else(|| title(command), visible_line);
            let place = path.as_deref().map(visible_line);
            let place = place.map(|path| format!(" in '{path}'"));
            let title = format!("Search for '{what}'{}", place.unwrap_or_default());
            ToolCall::new(id.to_owned(), title).kind(ToolKind::Search)
        }
        _ => ToolCall::new(id.to_owned(), title(command)).kind(ToolKind::Execute),
    };
    call.raw_input(json!({ "command": command, "cwd": cwd }))
}

/// The command as one line, on which everything shows.
pub(crate) fn title(command: &str) -> String {
    visible_line(&command_script(command))
}

/// The tool call of a command, at any stage. `has_terminal`: whether the client shows a terminal in it.
pub(crate) fn of_item(item: &ThreadItem, has_terminal: bool) -> Option<ToolCall> {
    let ThreadItem::CommandExecution {
        id,
        command,
        cwd,
        status,
        command_actions,
        aggregated_output,
        exit_code,
        ..
    } = item
    else {
        return None;
    };
    let call = outline(id, command, cwd, command_actions);
    let output = aggregated_output
        .as_ref()
        .map(|output| output.as_str().into_owned());
    let terminal_meta = |name, value| has_terminal.then(|| meta(name, value));
    let call = match output.as_deref() {
        _ if has_terminal => {
            let terminal = Terminal::new(id.clone());
            call.content(vec![ToolCallContent::Terminal(terminal)])
        }
        Some(output) if !output.is_empty() => call.content(vec![text(output)]),
        _ => call,
    };
    let status = match status {
        CommandExecutionStatus::InProgress => {
            let info = json!({ "terminal_id": id, "cwd": cwd });
            let call = call.meta(terminal_meta("terminal_info", info));
            return Some(call.status(ToolCallStatus::InProgress));
        }
        CommandExecutionStatus::Completed => ToolCallStatus::Completed,
        CommandExecutionStatus::Failed | CommandExecutionStatus::Declined => ToolCallStatus::Failed,
    };
    let exit = json!({ "terminal_id": id, "exit_code": exit_code, "signal": null });
    let raw = json!({ "exit_code": exit_code, "formatted_output": output.unwrap_or_default() });
    let call = call.meta(terminal_meta("terminal_exit", exit));
    Some(call.status(status).raw_output(raw))
}

/// A piece of command output in `_meta`, as clients with terminals expect it.
pub(crate) fn terminal_output(id: &str, data: &str) -> Meta {
    meta(
        "terminal_output",
        json!({ "terminal_id": id, "data": data }),
    )
}

/// A command in a terminal of the editor.
pub(crate) fn in_terminal(id: &str, command: &str, terminal: Option<TerminalId>) -> ToolCall {
    let terminal = terminal.map(|id| ToolCallContent::Terminal(Terminal::new(id)));
    ToolCall::new(id.to_owned(), visible_line(command))
        .name(TERMINAL_TOOL.to_owned())
        .kind(ToolKind::Execute)
        .raw_input(json!({ "command": command }))
        .content(terminal.into_iter().collect())
}
