//! Converts items to ACP tool calls, at any stage of the item. Pure.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    ContentBlock, ImageContent, ResourceLink, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolKind,
};
use codex_app_server_protocol::v2::{
    CollabAgentTool, CollabAgentToolCallStatus, DynamicToolCallOutputContentItem,
    DynamicToolCallStatus, FileUpdateChange, McpToolCallStatus, PatchApplyStatus, PatchChangeKind,
    ThreadItem, WebSearchAction,
};
use codex_visible_text::visible_line;
use serde_json::json;

use crate::call_content::{shown, text};
use crate::command_calls::{self, TERMINAL_TOOL};

/// The tool call for an item; none for items of other kinds. `diffs` are those of a patch. With `terminal` the output
/// of a command is shown as a terminal.
pub(crate) fn of_item(
    item: &ThreadItem,
    diffs: Vec<ToolCallContent>,
    terminal: bool,
) -> Option<ToolCall> {
    use ThreadItem as I;
    Some(match item {
        I::CommandExecution { .. } => command_calls::of_item(item, terminal)?,
        I::FileChange {
            id,
            changes,
            status,
        } => file_change(id, changes)
            .content(diffs)
            .status(patch_status(*status)),
        I::McpToolCall { .. } => mcp_call(item)?,
        I::DynamicToolCall { .. } => dynamic_call(item)?,
        I::CollabAgentToolCall { .. } => agent_call(item)?,
        I::WebSearch { id, query, action } => web_search(id, query, action.as_ref()),
        I::ImageView { id, path } => image_view(id, path),
        I::ImageGeneration { id, result, .. } => {
            let image = ImageContent::new(result.clone(), "image/png");
            ToolCall::new(id.clone(), "Generate an image")
                .kind(ToolKind::Other)
                .status(if result.is_empty() {
                    ToolCallStatus::InProgress
                } else {
                    ToolCallStatus::Completed
                })
                .content(if result.is_empty() {
                    Vec::new()
                } else {
                    vec![shown(ContentBlock::Image(image))]
                })
        }
        I::UserMessage { .. }
        | I::HookPrompt { .. }
        | I::AgentMessage { .. }
        | I::Plan { .. }
        | I::Reasoning { .. }
        | I::EnteredReviewMode { .. }
        | I::ExitedReviewMode { .. }
        | I::FunctionCallOutput { .. }
        | I::SubAgentActivity { .. }
        | I::ContextCompaction { .. } => return None,
    })
}

/// The tool call of a patch, without its diffs.
fn file_change(id: &str, changes: &[FileUpdateChange]) -> ToolCall {
    let name = |change: &FileUpdateChange| match Path::new(&change.path).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => change.path.clone(),
    };
    let all = |is: fn(&PatchChangeKind) -> bool| {
        !changes.is_empty() && changes.iter().all(|change| is(&change.kind))
    };
    let (kind, verb) = if all(|kind| matches!(kind, PatchChangeKind::Delete)) {
        (ToolKind::Delete, "Delete")
    } else if changes.iter().all(is_pure_move) && !changes.is_empty() {
        (ToolKind::Move, "Move")
    } else {
        (ToolKind::Edit, "Edit")
    };
    let what = match changes {
        [] => "files".to_owned(),
        few if few.len() <= 3 => visible_line(&few.iter().map(name).collect::<Vec<_>>().join(", ")),
        many => format!("{} files", many.len()),
    };
    let locations = changes.iter().map(|change| {
        let path = match &change.kind {
            PatchChangeKind::Update {
                move_path: Some(path),
            } => path,
            _ => &change.path,
        };
        ToolCallLocation::new(path)
    });
    ToolCall::new(id.to_owned(), format!("{verb} {what}"))
        .kind(kind)
        .locations(locations.collect())
}

/// Whether the change is a move without an edit: its diff has only the line about the move.
fn is_pure_move(change: &FileUpdateChange) -> bool {
    matches!(&change.kind, PatchChangeKind::Update { move_path: Some(_) })
        && !change.diff.contains("@@")
}

fn patch_status(status: PatchApplyStatus) -> ToolCallStatus {
    match status {
        PatchApplyStatus::InProgress => ToolCallStatus::InProgress,
        PatchApplyStatus::Completed => ToolCallStatus::Completed,
        PatchApplyStatus::Failed | PatchApplyStatus::Declined => ToolCallStatus::Failed,
    }
}

fn mcp_call(item: &ThreadItem) -> Option<ToolCall> {
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
    let input = json!({ "server": server, "tool": tool, "arguments": arguments });
    let call = ToolCall::new(id.clone(), visible_line(&format!("mcp.{server}.{tool}")))
        .name(tool.clone())
        .kind(ToolKind::Execute)
        .raw_input(input)
        .status(match status {
            McpToolCallStatus::InProgress => ToolCallStatus::InProgress,
            McpToolCallStatus::Completed => ToolCallStatus::Completed,
            McpToolCallStatus::Failed => ToolCallStatus::Failed,
        });
    let mut content = Vec::new();
    if let Some(result) = result {
        // Blocks of unknown kinds are only in `rawOutput`.
        let blocks = result.content.iter().cloned();
        content.extend(
            blocks
                .filter_map(|block| serde_json::from_value(block).ok())
                .map(shown),
        );
    }
    if let Some(error) = error {
        content.push(text(error.message.clone()));
    }
    Some(match (result, error) {
        (None, None) => call,
        _ => call
            .content(content)
            .raw_output(json!({ "result": result, "error": error })),
    })
}

fn dynamic_call(item: &ThreadItem) -> Option<ToolCall> {
    let ThreadItem::DynamicToolCall {
        id,
        tool,
        arguments,
        status,
        content_items,
        ..
    } = item
    else {
        return None;
    };
    let call = match arguments["command"].as_str() {
        Some(command) if tool == TERMINAL_TOOL => command_calls::in_terminal(id, command, None),
        _ => ToolCall::new(id.clone(), visible_line(tool))
            .name(tool.clone())
            .kind(ToolKind::Execute)
            .raw_input(json!({ "tool": tool, "arguments": arguments })),
    };
    let content = content_items.iter().flatten().map(|part| match part {
        DynamicToolCallOutputContentItem::InputText { text: part } => text(part.clone()),
        DynamicToolCallOutputContentItem::InputImage { image_url } => {
            let link = ResourceLink::new("image", image_url.clone());
            shown(ContentBlock::ResourceLink(link))
        }
    });
    let call = call.content(content.collect()).status(match status {
        DynamicToolCallStatus::InProgress => ToolCallStatus::InProgress,
        DynamicToolCallStatus::Completed => ToolCallStatus::Completed,
        DynamicToolCallStatus::Failed => ToolCallStatus::Failed,
    });
    Some(call)
}

fn agent_call(item: &ThreadItem) -> Option<ToolCall> {
    let ThreadItem::CollabAgentToolCall {
        id,
        tool,
        status,
        receiver_thread_ids,
        prompt,
        agents_states,
        ..
    } = item
    else {
        return None;
    };
    let title = match tool {
        CollabAgentTool::SpawnAgent => "Start an agent",
        CollabAgentTool::SendInput => "Send input to an agent",
        CollabAgentTool::ResumeAgent => "Resume an agent",
        CollabAgentTool::Wait => "Wait for agents",
        CollabAgentTool::CloseAgent => "Close an agent",
    };
    let call = ToolCall::new(id.clone(), title)
        .kind(ToolKind::Other)
        .raw_input(json!({ "agents": receiver_thread_ids, "prompt": prompt }))
        .content(prompt.iter().map(|prompt| text(prompt.clone())).collect())
        .status(match status {
            CollabAgentToolCallStatus::InProgress => ToolCallStatus::InProgress,
            CollabAgentToolCallStatus::Completed => ToolCallStatus::Completed,
            CollabAgentToolCallStatus::Failed => ToolCallStatus::Failed,
        });
    Some(if agents_states.is_empty() {
        call
    } else {
        call.raw_output(json!({ "agents": agents_states }))
    })
}

fn web_search(id: &str, query: &str, action: Option<&WebSearchAction>) -> ToolCall {
    let (kind, title) = match action {
        Some(WebSearchAction::OpenPage { url }) => {
            let url = url.as_deref().unwrap_or("a page");
            (ToolKind::Fetch, format!("Open {url}"))
        }
        Some(WebSearchAction::FindInPage { url, pattern }) => {
            let pattern = pattern.as_deref().unwrap_or("a text");
            let url = url.as_deref().unwrap_or("a page");
            (ToolKind::Fetch, format!("Find '{pattern}' on {url}"))
        }
        _ if query.is_empty() => (ToolKind::Search, "Search the web".to_owned()),
        _ => (ToolKind::Search, format!("Search the web for '{query}'")),
    };
    let status = match action {
        // The action is not known while the search runs.
        Some(WebSearchAction::Other) if query.is_empty() => ToolCallStatus::InProgress,
        _ => ToolCallStatus::Completed,
    };
    ToolCall::new(id.to_owned(), visible_line(&title))
        .kind(kind)
        .status(status)
        .raw_input(json!({ "query": query, "action": action }))
}

fn image_view(id: &str, path: &str) -> ToolCall {
    let name = Path::new(path).file_name();
    let name = name.map_or(path.into(), |name| name.to_string_lossy());
    let uri = url::Url::from_file_path(path).map_or_else(|()| path.to_owned(), String::from);
    let link = ResourceLink::new(name.clone(), uri);
    ToolCall::new(
        id.to_owned(),
        format!("View image '{}'", visible_line(&name)),
    )
    .kind(ToolKind::Read)
    .status(ToolCallStatus::Completed)
    .locations(vec![ToolCallLocation::new(path)])
    .content(vec![shown(ContentBlock::ResourceLink(link))])
}

#[cfg(test)]
#[path = "tool_calls_tests.rs"]
mod tests;
