//! Converts items from the types of the engine to those of the wire.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_app_server_protocol::v2::{
    ByteRange, CollabAgentToolCallStatus, CommandAction, CommandExecutionSource,
    CommandExecutionStatus, ContextCompactionStatus, DynamicToolCallOutputContentItem,
    DynamicToolCallStatus, FileUpdateChange, McpToolCallError, McpToolCallResult,
    McpToolCallStatus, MemoryCitation, PatchApplyStatus, PatchChangeKind, TextElement, ThreadItem,
    UserInput, WebSearchAction,
};
use codex_protocol as v1;
use serde_json::Value;

use super::command_action::actions;

pub fn engine_input(input: UserInput) -> v1::UserInput {
    match input {
        UserInput::Text {
            text,
            text_elements,
        } => v1::UserInput::Text {
            text,
            text_elements: text_elements.into_iter().map(engine_element).collect(),
        },
        UserInput::Image {
            url,
            file_id,
            detail,
        } => v1::UserInput::Image {
            file_id: file_id.filter(|_| url.is_empty()),
            image_url: url,
            detail,
        },
        UserInput::LocalImage { path, detail } => v1::UserInput::LocalImage { path, detail },
        UserInput::Audio { url } => v1::UserInput::Audio { audio_url: url },
        UserInput::LocalAudio { path } => v1::UserInput::LocalAudio { path },
        UserInput::Skill { name, path } => v1::UserInput::Skill { name, path },
        UserInput::Mention { name, path } => v1::UserInput::Mention { name, path },
    }
}

fn engine_element(element: TextElement) -> v1::TextElement {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    v1::TextElement {
        byte_range: v1::ByteRange {
            start: size(element.byte_range.start),
            end: size(element.byte_range.end),
        },
        placeholder: element.placeholder,
    }
}

fn wire_element(element: &v1::TextElement) -> TextElement {
    TextElement {
        byte_range: ByteRange {
            start: element.byte_range.start as u64,
            end: element.byte_range.end as u64,
        },
        placeholder: element.placeholder.clone(),
    }
}

pub(super) fn wire_input(input: &v1::UserInput) -> Option<UserInput> {
    Some(match input.clone() {
        v1::UserInput::Text {
            text,
            text_elements,
        } => UserInput::Text {
            text,
            text_elements: text_elements.iter().map(wire_element).collect(),
        },
        v1::UserInput::Image {
            image_url,
            file_id,
            detail,
        } => UserInput::Image {
            url: image_url,
            file_id,
            detail,
        },
        v1::UserInput::LocalImage { path, detail } => UserInput::LocalImage { path, detail },
        v1::UserInput::Audio { audio_url } => UserInput::Audio { url: audio_url },
        v1::UserInput::LocalAudio { path } => UserInput::LocalAudio { path },
        v1::UserInput::Skill { name, path } => UserInput::Skill { name, path },
        v1::UserInput::Mention { name, path } => UserInput::Mention { name, path },
        _ => return None,
    })
}

/// The input of the user in the older event of stored threads, in its order.
pub(super) fn message_input(event: &v1::UserMessageEvent) -> Vec<UserInput> {
    if event.content.is_empty() {
        return message_parts(event);
    }
    let mut images = event.images.iter().flatten();
    let wire = event.content.iter().filter_map(wire_input);
    let with_url = |part| match part {
        UserInput::Image {
            url,
            file_id: None,
            detail,
        } if url.is_empty() => UserInput::Image {
            url: images.next().cloned().unwrap_or_default(),
            file_id: None,
            detail,
        },
        other => other,
    };
    wire.map(with_url).collect()
}

/// The same in the older form: one text, then the images.
pub(super) fn message_parts(event: &v1::UserMessageEvent) -> Vec<UserInput> {
    let mut content = Vec::new();
    if !event.message.trim().is_empty() {
        content.push(UserInput::Text {
            text: event.message.clone(),
            text_elements: event.text_elements.iter().map(wire_element).collect(),
        });
    }
    let mut details = event.image_details.iter().copied();
    let mut detail = || details.next().flatten();
    for url in event.images.iter().flatten() {
        content.push(UserInput::Image {
            url: url.clone(),
            file_id: None,
            detail: detail(),
        });
    }
    for path in &event.local_images {
        content.push(UserInput::LocalImage {
            path: path.clone(),
            detail: detail(),
        });
    }
    for id in &event.image_files {
        content.push(UserInput::Image {
            url: String::new(),
            file_id: Some(id.clone()),
            detail: detail(),
        });
    }
    content.extend(event.audio.iter().filter_map(wire_input));
    content
}

/// The preview of a message, if it has anything to show.
pub fn preview_of_message(message: &v1::UserMessageEvent) -> Option<&str> {
    let by_url = message.images.as_ref().map_or(0, Vec::len);
    let images = by_url + message.local_images.len() + message.image_files.len();
    codex_thread_store::preview_of(&message.message, images)
}

pub(super) fn command_status(status: v1::ExecCommandStatus) -> CommandExecutionStatus {
    match status {
        v1::ExecCommandStatus::Completed => CommandExecutionStatus::Completed,
        v1::ExecCommandStatus::Failed => CommandExecutionStatus::Failed,
        v1::ExecCommandStatus::Declined => CommandExecutionStatus::Declined,
    }
}

pub(super) fn reasoning_text(part: &v1::ReasoningItemContent) -> String {
    let (v1::ReasoningItemContent::ReasoningText { text }
    | v1::ReasoningItemContent::Text { text }) = part;
    text.clone()
}

pub(super) fn citation(citation: &v1::MemoryCitation) -> MemoryCitation {
    MemoryCitation {
        entries: citation.entries.clone(),
        thread_ids: citation.rollout_ids.clone(),
    }
}

pub(super) fn web_search(id: &str, query: &str, action: &v1::WebSearchAction) -> ThreadItem {
    let action = match action.clone() {
        v1::WebSearchAction::Search { query, queries } => {
            WebSearchAction::Search { query, queries }
        }
        v1::WebSearchAction::OpenPage { url } => WebSearchAction::OpenPage { url },
        v1::WebSearchAction::FindInPage { url, pattern } => {
            WebSearchAction::FindInPage { url, pattern }
        }
        _ => WebSearchAction::Other,
    };
    ThreadItem::WebSearch {
        id: id.to_owned(),
        query: query.to_owned(),
        action: Some(action),
    }
}

pub(super) fn source(source: v1::ExecCommandSource) -> CommandExecutionSource {
    match source {
        v1::ExecCommandSource::Agent => CommandExecutionSource::Agent,
        v1::ExecCommandSource::UserShell => CommandExecutionSource::UserShell,
        v1::ExecCommandSource::UnifiedExecStartup => CommandExecutionSource::UnifiedExecStartup,
        v1::ExecCommandSource::UnifiedExecInteraction => {
            CommandExecutionSource::UnifiedExecInteraction
        }
    }
}

pub(super) fn command_line(words: &[String]) -> String {
    codex_shell_command::visible_command(words)
}

pub(super) fn command_begun(begin: &v1::ExecCommandBeginEvent) -> ThreadItem {
    ThreadItem::CommandExecution {
        id: begin.call_id.clone(),
        command: command_line(&begin.command),
        cwd: begin.cwd.clone(),
        process_id: begin.process_id.clone(),
        source: source(begin.source),
        status: CommandExecutionStatus::InProgress,
        command_actions: actions(&begin.parsed_cmd, &begin.cwd),
        aggregated_output: None,
        exit_code: None,
        duration_ms: None,
    }
}

/// A command that waits for approval.
pub(super) fn command_asked(request: &v1::ExecApprovalRequestEvent) -> ThreadItem {
    ThreadItem::CommandExecution {
        id: request.call_id.clone(),
        command: command_line(&request.command),
        cwd: request.cwd.clone(),
        process_id: None,
        source: CommandExecutionSource::Agent,
        status: CommandExecutionStatus::InProgress,
        command_actions: actions(&request.parsed_cmd, &request.cwd),
        aggregated_output: None,
        exit_code: None,
        duration_ms: None,
    }
}

/// A command that waits for the verdict of a reviewer, if that is what the review is about.
pub(super) fn command_reviewed(review: &v1::GuardianAssessmentEvent) -> Option<ThreadItem> {
    let action = review.action.as_ref()?;
    let text = |member: &str| action.get(member).and_then(Value::as_str);
    let is_begun = review.status == v1::GuardianAssessmentStatus::InProgress;
    if !is_begun || text("type") != Some("command") {
        return None;
    }
    let command = text("command")?.to_owned();
    Some(ThreadItem::CommandExecution {
        id: review.id.clone(),
        command_actions: vec![CommandAction::Unknown {
            command: command.clone(),
        }],
        command,
        cwd: text("cwd")?.into(),
        process_id: None,
        source: CommandExecutionSource::Agent,
        status: CommandExecutionStatus::InProgress,
        aggregated_output: None,
        exit_code: None,
        duration_ms: None,
    })
}

pub(super) fn command_ended(end: &v1::ExecCommandEndEvent) -> ThreadItem {
    let status = command_status(end.status);
    let output = &end.aggregated_output;
    // A cancelled command never ran, and the model gets no output of it.
    let has_run = status != CommandExecutionStatus::Declined || !output.is_empty();
    ThreadItem::CommandExecution {
        id: end.call_id.clone(),
        command: command_line(&end.command),
        cwd: end.cwd.clone(),
        process_id: end.process_id.clone(),
        source: source(end.source),
        status,
        command_actions: actions(&end.parsed_cmd, &end.cwd),
        aggregated_output: (has_run && !output.is_empty()).then(|| output.clone()),
        exit_code: has_run.then_some(end.exit_code),
        duration_ms: has_run.then(|| milliseconds(end.duration)),
    }
}

pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Changes of files, in the order of their paths.
pub(super) fn file_changes(changes: &BTreeMap<String, v1::FileChange>) -> Vec<FileUpdateChange> {
    let change = |(path, change): (&String, &v1::FileChange)| {
        let (kind, diff) = match change.clone() {
            v1::FileChange::Add { content } => (PatchChangeKind::Add, content),
            v1::FileChange::Delete { content } => (PatchChangeKind::Delete, content),
            v1::FileChange::Update {
                mut unified_diff,
                move_path,
            } => {
                if let Some(to) = &move_path {
                    unified_diff.push_str(&format!("\n\nMoved to: {to}"));
                }
                (PatchChangeKind::Update { move_path }, unified_diff)
            }
        };
        let path = path.clone();
        FileUpdateChange { path, kind, diff }
    };
    changes.iter().map(change).collect()
}

pub(super) fn patch(
    id: &str,
    changes: &BTreeMap<String, v1::FileChange>,
    status: PatchApplyStatus,
) -> ThreadItem {
    ThreadItem::FileChange {
        id: id.to_owned(),
        changes: file_changes(changes),
        status,
    }
}

pub(super) fn patch_ended(end: &v1::PatchApplyEndEvent) -> ThreadItem {
    patch(&end.call_id, &end.changes, patch_status(end.status))
}

pub(super) fn patch_status(status: v1::PatchApplyStatus) -> PatchApplyStatus {
    match status {
        v1::PatchApplyStatus::Completed => PatchApplyStatus::Completed,
        v1::PatchApplyStatus::Failed => PatchApplyStatus::Failed,
        v1::PatchApplyStatus::Declined => PatchApplyStatus::Declined,
    }
}

pub(super) fn dynamic_call(request: &v1::DynamicToolCallRequestEvent) -> ThreadItem {
    ThreadItem::DynamicToolCall {
        id: request.call_id.clone(),
        namespace: request.namespace.clone(),
        tool: request.tool.clone(),
        arguments: request.arguments.clone(),
        status: DynamicToolCallStatus::InProgress,
        content_items: None,
        success: None,
        duration_ms: None,
    }
}

pub(super) fn dynamic_answer(answer: &v1::DynamicToolCallResponseEvent) -> ThreadItem {
    let content = |item: &v1::DynamicToolContentItem| match item.clone() {
        v1::DynamicToolContentItem::InputText { text } => {
            DynamicToolCallOutputContentItem::InputText { text }
        }
        v1::DynamicToolContentItem::InputImage { image_url } => {
            DynamicToolCallOutputContentItem::InputImage { image_url }
        }
    };
    ThreadItem::DynamicToolCall {
        id: answer.call_id.clone(),
        namespace: answer.namespace.clone(),
        tool: answer.tool.clone(),
        arguments: answer.arguments.clone(),
        status: if answer.success {
            DynamicToolCallStatus::Completed
        } else {
            DynamicToolCallStatus::Failed
        },
        content_items: Some(answer.content_items.iter().map(content).collect()),
        success: Some(answer.success),
        duration_ms: Some(milliseconds(answer.duration)),
    }
}

pub(super) fn mcp_call(begin: &v1::McpToolCallBeginEvent) -> ThreadItem {
    let v1::McpInvocation {
        server,
        tool,
        arguments,
    } = begin.invocation.clone();
    ThreadItem::McpToolCall {
        id: begin.call_id.clone(),
        server,
        tool,
        status: McpToolCallStatus::InProgress,
        arguments: arguments.unwrap_or_default(),
        read_only_hint: begin.read_only_hint,
        environment_id: None,
        result: None,
        error: None,
        duration_ms: None,
    }
}

pub(super) fn mcp_ended(end: &v1::McpToolCallEndEvent) -> ThreadItem {
    let v1::McpInvocation {
        server,
        tool,
        arguments,
    } = end.invocation.clone();
    let (result, error) = match &end.result {
        Ok(result) => {
            let (content, data) = (result.content.clone(), result.structured_content.clone());
            let result = McpToolCallResult {
                content,
                structured_content: data.unwrap_or_default(),
                meta: result.meta.clone(),
            };
            (Some(result), None)
        }
        Err(message) => {
            let message = message.clone();
            (None, Some(McpToolCallError { message }))
        }
    };
    ThreadItem::McpToolCall {
        id: end.call_id.clone(),
        server,
        tool,
        status: if end.is_success() {
            McpToolCallStatus::Completed
        } else {
            McpToolCallStatus::Failed
        },
        arguments: arguments.unwrap_or_default(),
        read_only_hint: end.read_only_hint,
        environment_id: None,
        result,
        error,
        duration_ms: Some(milliseconds(end.duration)),
    }
}

/// The item as it begins, if its end is the first that is known of it.
pub(super) fn as_begun(mut item: ThreadItem) -> ThreadItem {
    match &mut item {
        ThreadItem::CommandExecution {
            status,
            aggregated_output,
            exit_code,
            duration_ms,
            ..
        } => {
            *status = CommandExecutionStatus::InProgress;
            (*aggregated_output, *exit_code, *duration_ms) = (None, None, None);
        }
        ThreadItem::FileChange { status, .. } => *status = PatchApplyStatus::InProgress,
        _ => {}
    }
    item
}

/// The item when its turn ends before it is completed.
pub(super) fn broken_off(mut item: ThreadItem) -> ThreadItem {
    match &mut item {
        ThreadItem::CommandExecution { status, .. } => *status = CommandExecutionStatus::Failed,
        ThreadItem::FileChange { status, .. } => *status = PatchApplyStatus::Failed,
        ThreadItem::DynamicToolCall { status, .. } => *status = DynamicToolCallStatus::Failed,
        ThreadItem::McpToolCall { status, .. } => *status = McpToolCallStatus::Failed,
        ThreadItem::CollabAgentToolCall { status, .. } => {
            *status = CollabAgentToolCallStatus::Failed;
        }
        ThreadItem::ContextCompaction { status, .. } => {
            *status = Some(ContextCompactionStatus::Failed);
        }
        _ => {}
    }
    item
}

/// The item when it was declined.
pub(super) fn declined(mut item: ThreadItem) -> ThreadItem {
    match &mut item {
        ThreadItem::CommandExecution { status, .. } => *status = CommandExecutionStatus::Declined,
        ThreadItem::FileChange { status, .. } => *status = PatchApplyStatus::Declined,
        _ => {}
    }
    item
}

/// Whether the item takes time: it is streamed, or it runs.
pub(super) fn takes_time(item: &ThreadItem) -> bool {
    matches!(
        item,
        ThreadItem::AgentMessage { .. }
            | ThreadItem::Plan { .. }
            | ThreadItem::Reasoning { .. }
            | ThreadItem::CommandExecution { .. }
            | ThreadItem::McpToolCall { .. }
            | ThreadItem::CollabAgentToolCall { .. }
    )
}

/// Whether the item was declined and the turn goes on with a text for the model. A cancelled command has none.
pub(super) fn is_declined_with_text(item: &ThreadItem) -> bool {
    match item {
        ThreadItem::CommandExecution {
            status,
            aggregated_output,
            ..
        } => *status == CommandExecutionStatus::Declined && aggregated_output.is_some(),
        ThreadItem::FileChange { status, .. } => *status == PatchApplyStatus::Declined,
        _ => false,
    }
}

/// Whether the item may outlive its turn: a terminal in the background.
pub(super) fn outlives_turn(item: &ThreadItem) -> bool {
    matches!(
        item,
        ThreadItem::CommandExecution {
            source: CommandExecutionSource::UnifiedExecStartup,
            process_id: Some(_),
            ..
        }
    )
}

/// The duration of an item in milliseconds, if it is known.
pub(super) fn duration_of(item: &ThreadItem) -> Option<i64> {
    match item {
        // The time includes the wait for an approval, so it is unknown.
        ThreadItem::CommandExecution { status, .. }
            if *status == CommandExecutionStatus::Declined =>
        {
            None
        }
        ThreadItem::CommandExecution { duration_ms, .. }
        | ThreadItem::McpToolCall { duration_ms, .. }
        | ThreadItem::DynamicToolCall { duration_ms, .. } => *duration_ms,
        // Messages of the user take no time.
        ThreadItem::UserMessage { .. } => Some(0),
        _ => None,
    }
}

pub fn id_of(item: &ThreadItem) -> &str {
    match item {
        ThreadItem::UserMessage { id, .. }
        | ThreadItem::HookPrompt { id, .. }
        | ThreadItem::AgentMessage { id, .. }
        | ThreadItem::Plan { id, .. }
        | ThreadItem::Reasoning { id, .. }
        | ThreadItem::CommandExecution { id, .. }
        | ThreadItem::FileChange { id, .. }
        | ThreadItem::McpToolCall { id, .. }
        | ThreadItem::DynamicToolCall { id, .. }
        | ThreadItem::CollabAgentToolCall { id, .. }
        | ThreadItem::SubAgentActivity { id, .. }
        | ThreadItem::WebSearch { id, .. }
        | ThreadItem::ImageView { id, .. }
        | ThreadItem::ImageGeneration { id, .. }
        | ThreadItem::EnteredReviewMode { id, .. }
        | ThreadItem::ExitedReviewMode { id, .. }
        | ThreadItem::FunctionCallOutput { id, .. }
        | ThreadItem::ContextCompaction { id, .. } => id,
    }
}
