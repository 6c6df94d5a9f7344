//! Converts items that the engine emits as a whole.

use codex_app_server_protocol::v2::ThreadItem;
use codex_protocol as v1;

use super::item;
use super::stored_item::stored_item;

/// The wire form of an engine item.
pub(super) fn wire_item(item: &v1::TurnItem) -> Option<ThreadItem> {
    Some(match item {
        v1::TurnItem::UserMessage(from) => ThreadItem::UserMessage {
            id: from.id.clone(),
            client_id: from.client_id.clone(),
            content: from.content.iter().filter_map(item::wire_input).collect(),
        },
        v1::TurnItem::HookPrompt(from) => ThreadItem::HookPrompt {
            id: from.id.clone(),
            fragments: from.fragments.clone(),
        },
        v1::TurnItem::AgentMessage(from) => ThreadItem::AgentMessage {
            id: from.id.clone(),
            text: from.content.iter().map(text_of).collect::<String>().into(),
            phase: from.phase,
            memory_citation: from.memory_citation.as_ref().map(item::citation),
        },
        v1::TurnItem::Plan(from) => ThreadItem::Plan {
            id: from.id.clone(),
            text: from.text.clone(),
        },
        v1::TurnItem::Reasoning(from) => ThreadItem::Reasoning {
            id: from.id.clone(),
            summary: from.summary_text.clone(),
            content: from.raw_content.clone(),
        },
        v1::TurnItem::WebSearch(from) => item::web_search(&from.id, &from.query, &from.action),
        v1::TurnItem::ImageGeneration(from) => ThreadItem::ImageGeneration {
            id: from.id.clone(),
            status: from.status.clone(),
            revised_prompt: from.revised_prompt.clone(),
            result: from.result.clone(),
            saved_path: from.saved_path.clone(),
        },
        v1::TurnItem::FunctionCallOutput(from) => ThreadItem::FunctionCallOutput {
            id: from.id.clone(),
            name: from.name.clone(),
            namespace: from.namespace.clone(),
            output: from.output.clone(),
        },
        v1::TurnItem::ContextCompaction(from) => ThreadItem::ContextCompaction {
            id: from.id.clone(),
            status: None,
        },
        v1::TurnItem::Unknown(from) => return stored_item(from),
        _ => return None,
    })
}

fn text_of(v1::AgentMessageContent::Text { text }: &v1::AgentMessageContent) -> &str {
    text
}
