//! Items that 0.117 does not have, as items that it has.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::{
    CollabAgentState, CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus,
    DynamicToolCallOutputContentItem as OutputPart, DynamicToolCallStatus, SubAgentActivityKind,
    ThreadItem,
};
use codex_protocol::{FunctionCallOutputBody, FunctionCallOutputContentItem as ContentItem};
use serde_json::Value;

use super::place::ItemPlace;
use crate::dialect::rows::Dialect;

pub(super) fn older(
    dialect: Dialect,
    item: &ThreadItem,
    place: ItemPlace<'_>,
) -> Option<ThreadItem> {
    if dialect.has_newer_items() {
        return None;
    }
    as_call(item, place.thread)
}

/// An item of this thread as one that 0.117 has, if it has no such item.
pub(crate) fn as_call(item: &ThreadItem, thread: &str) -> Option<ThreadItem> {
    let older = match item {
        ThreadItem::SubAgentActivity {
            id,
            kind,
            agent_thread_id,
            model,
            reasoning_effort,
            ..
        } => {
            let (tool, status) = call_of(*kind);
            let state = CollabAgentState {
                status,
                message: None,
            };
            ThreadItem::CollabAgentToolCall {
                id: id.clone(),
                tool,
                status: CollabAgentToolCallStatus::Completed,
                sender_thread_id: thread.to_owned(),
                receiver_thread_ids: vec![agent_thread_id.clone()],
                prompt: None,
                model: model.clone(),
                reasoning_effort: reasoning_effort.clone(),
                agents_states: BTreeMap::from([(agent_thread_id.clone(), state)]),
            }
        }
        ThreadItem::FunctionCallOutput {
            id, name, output, ..
        } => ThreadItem::DynamicToolCall {
            id: id.clone(),
            namespace: None,
            tool: name.clone(),
            arguments: Value::Null,
            status: DynamicToolCallStatus::Completed,
            content_items: Some(parts_of(output)),
            success: Some(true),
            duration_ms: None,
        },
        _ => return None,
    };
    Some(older)
}

/// The call that does the same with an agent that has an id, and the state of the agent after it.
fn call_of(kind: SubAgentActivityKind) -> (CollabAgentTool, CollabAgentStatus) {
    match kind {
        SubAgentActivityKind::Started => {
            (CollabAgentTool::SpawnAgent, CollabAgentStatus::PendingInit)
        }
        SubAgentActivityKind::Interacted => {
            (CollabAgentTool::SendInput, CollabAgentStatus::Running)
        }
        SubAgentActivityKind::Interrupted => {
            (CollabAgentTool::CloseAgent, CollabAgentStatus::Interrupted)
        }
        SubAgentActivityKind::Completed => (CollabAgentTool::Wait, CollabAgentStatus::Completed),
    }
}

fn parts_of(output: &FunctionCallOutputBody) -> Vec<OutputPart> {
    let text = |text: &str| OutputPart::InputText {
        text: text.to_owned(),
    };
    match output {
        FunctionCallOutputBody::Text(whole) => vec![text(&whole.as_str())],
        FunctionCallOutputBody::Content(parts) => (parts.iter())
            .map(|part| match part {
                ContentItem::InputText { text: part } => text(part),
                ContentItem::InputImage { image_url, .. } => OutputPart::InputImage {
                    image_url: image_url.clone(),
                },
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn older(item: Value) -> Value {
        let item = serde_json::from_value(item).unwrap();
        let older = as_call(&item, "parent").unwrap();
        assert_eq!(as_call(&older, "parent"), None);
        serde_json::to_value(older).unwrap()
    }

    #[test]
    fn a_started_agent_is_a_call_that_spawns_one() {
        let item = older(json!({
            "type": "subAgentActivity", "id": "c", "kind": "started", "agentThreadId": "child",
            "agentPath": "/root/child", "model": "m", "reasoningEffort": "low",
        }));
        let expected = json!({
            "type": "collabAgentToolCall", "id": "c", "tool": "spawnAgent", "status": "completed",
            "senderThreadId": "parent", "receiverThreadIds": ["child"], "prompt": null, "model": "m",
            "reasoningEffort": "low",
            "agentsStates": { "child": { "status": "pendingInit", "message": null } },
        });
        assert_eq!(item, expected);
    }

    #[test]
    fn output_without_a_call_becomes_a_call() {
        let item = older(json!({
            "type": "functionCallOutput", "id": "c", "name": "clock", "namespace": "time", "output": "noon",
        }));
        assert_eq!(item["type"], "dynamicToolCall");
        let content = json!([{ "type": "inputText", "text": "noon" }]);
        assert_eq!(item["contentItems"], content);
    }
}
