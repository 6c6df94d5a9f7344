//! The messages among the lines of a rollout, which searches look through.

use codex_protocol::{AgentMessageContent, EventMsg, RolloutItem, TurnItem};
use codex_rollout::ScannedLine;

/// The text of a line that is a message of the user or of the agent.
pub(crate) fn message_of(line: &ScannedLine<'_>) -> Option<String> {
    let (kind, payload) = line.kind()?;
    let payload = payload.as_deref();
    let is_message = matches!(
        payload,
        Some("user_message" | "agent_message" | "item_completed")
    );
    if kind != "event_msg" || !is_message {
        return None;
    }
    let RolloutItem::EventMsg(event) = line.read()?.item else {
        return None;
    };
    let text = match event {
        EventMsg::UserMessage(message) => message.message,
        EventMsg::AgentMessage(message) if !message.is_cut => message.message.as_str().into_owned(),
        EventMsg::ItemCompleted(completed) => match completed.item {
            TurnItem::UserMessage(message) => message.text_and_image_count().0,
            TurnItem::AgentMessage(message) => {
                let text = |part: AgentMessageContent| match part {
                    AgentMessageContent::Text { text } => text,
                };
                message.content.into_iter().map(text).collect()
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(text)
}

/// Whether the line takes turns out of the history that are stored before it.
pub(crate) fn takes_turns_back(line: &ScannedLine<'_>) -> bool {
    line.kind().is_some_and(|(kind, payload)| {
        let payload = payload.as_deref();
        let takes_back = |event| matches!(event, "thread_rolled_back" | "inherited_history_ends");
        kind == "event_msg" && payload.is_some_and(takes_back)
    })
}
