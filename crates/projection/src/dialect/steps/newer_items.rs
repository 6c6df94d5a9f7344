//! Items, and parts of messages, that older releases do not have, as those that they have.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2::{
    CollabAgentState, CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus,
    DynamicToolCallOutputContentItem as OutputPart, DynamicToolCallStatus, SubAgentActivityKind,
    ThreadItem, UserInput,
};
use codex_protocol::{FunctionCallOutputBody, FunctionCallOutputContentItem as ContentItem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::ItemPlace;
use crate::dialect::rows::Dialect;

/// What a client knows of the items that not every release has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownItems {
    agent_activities: bool,
    tool_outputs: bool,
    audio: bool,
}

pub(super) fn older(
    dialect: Dialect,
    item: &ThreadItem,
    place: ItemPlace<'_>,
) -> Option<ThreadItem> {
    KnownItems::for_dialect(dialect).older(item, place.thread)
}

impl KnownItems {
    pub(crate) const ALL: Self = Self {
        agent_activities: true,
        tool_outputs: true,
        audio: true,
    };

    pub(crate) fn for_dialect(dialect: Dialect) -> Self {
        Self {
            agent_activities: dialect.has_agent_activities(),
            tool_outputs: dialect.has_tool_outputs(),
            audio: dialect.has_audio(),
        }
    }

    /// An item of this thread as one that the client knows, if it is not among these.
    pub(crate) fn older(self, item: &ThreadItem, thread: &str) -> Option<ThreadItem> {
        match item {
            ThreadItem::SubAgentActivity { .. } if !self.agent_activities => {
                agent_call(item, thread)
            }
            ThreadItem::FunctionCallOutput {
                id, name, output, ..
            } if !self.tool_outputs => Some(ThreadItem::DynamicToolCall {
                id: id.clone(),
                namespace: None,
                tool: name.clone(),
                arguments: Value::Null,
                status: DynamicToolCallStatus::Completed,
                content_items: Some(parts_of(output)),
                success: Some(true),
                duration_ms: None,
            }),
            ThreadItem::UserMessage { content, .. }
                if !self.audio && content.iter().any(is_audio) =>
            {
                let mut older = item.clone();
                if let ThreadItem::UserMessage { content, .. } = &mut older {
                    let audio = content.iter_mut().filter(|part| is_audio(part));
                    audio.for_each(|part| *part = audio_text());
                }
                Some(older)
            }
            _ => None,
        }
    }
}

/// Whether a part of a message is sound.
pub(crate) fn is_audio(part: &UserInput) -> bool {
    matches!(part, UserInput::Audio { .. } | UserInput::LocalAudio { .. })
}

/// Stands for sound that the client cannot show.
fn audio_text() -> UserInput {
    UserInput::Text {
        text: "[audio]".to_owned(),
        text_elements: Vec::new(),
    }
}

/// An activity of an agent as a call of this thread.
fn agent_call(item: &ThreadItem, thread: &str) -> Option<ThreadItem> {
    let ThreadItem::SubAgentActivity {
        id,
        kind,
        agent_thread_id,
        model,
        reasoning_effort,
        ..
    } = item
    else {
        return None;
    };
    let (tool, status) = call_of(*kind);
    let state = CollabAgentState {
        status,
        message: None,
    };
    Some(ThreadItem::CollabAgentToolCall {
        id: id.clone(),
        tool,
        status: CollabAgentToolCallStatus::Completed,
        sender_thread_id: thread.to_owned(),
        receiver_thread_ids: vec![agent_thread_id.clone()],
        prompt: None,
        model: model.clone(),
        reasoning_effort: reasoning_effort.clone(),
        agents_states: BTreeMap::from([(agent_thread_id.clone(), state)]),
    })
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

    const FIRST: KnownItems = KnownItems {
        agent_activities: false,
        tool_outputs: false,
        audio: false,
    };

    fn older(item: Value) -> Value {
        let item = serde_json::from_value(item).unwrap();
        let older = FIRST.older(&item, "parent").unwrap();
        assert_eq!(FIRST.older(&older, "parent"), None);
        assert_eq!(KnownItems::ALL.older(&item, "parent"), None);
        serde_json::to_value(older).unwrap()
    }

    #[test]
    fn sound_in_a_message_becomes_a_text() {
        let item = older(json!({
            "type": "userMessage", "id": "m",
            "content": [{ "type": "text", "text": "hear" }, { "type": "localAudio", "path": "/a.wav" }],
        }));
        let texts = ["hear", "[audio]"];
        for (part, text) in item["content"].as_array().unwrap().iter().zip(texts) {
            assert_eq!(
                (&part["type"], &part["text"]),
                (&json!("text"), &json!(text))
            );
        }
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
