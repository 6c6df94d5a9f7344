//! What lines of stored threads mean for their turns.

use codex_projection::preview_of_message;
use codex_protocol::{EventMsg, RawRolloutLine, RolloutItem, TurnItem};
use codex_rollout::ScannedLine;
use codex_thread_store::{GOAL_UPDATED, preview_of};
use serde::Deserialize;

/// The preview, if the line is a message of the user.
pub(super) fn preview(item: &RolloutItem) -> Option<String> {
    let RolloutItem::EventMsg(event) = item else {
        return None;
    };
    match event {
        EventMsg::UserMessage(message) => preview_of_message(message).map(str::to_owned),
        EventMsg::ItemCompleted(completed) => match &completed.item {
            TurnItem::UserMessage(message) => {
                let (text, images) = message.text_and_image_count();
                preview_of(&text, images).map(str::to_owned)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The objective, if the line is about a change of the goal.
pub(super) fn objective(line: &ScannedLine<'_>) -> Option<String> {
    let (kind, payload) = line.kind()?;
    if kind != "event_msg" || payload.as_deref() != Some(GOAL_UPDATED) {
        return None;
    }
    let line = RawRolloutLine::read(std::str::from_utf8(line.bytes()).ok()?).ok()?;
    let updated: GoalUpdated = serde_json::from_str(line.payload.get()).ok()?;
    preview_of(&updated.goal.objective, 0).map(str::to_owned)
}

#[derive(Deserialize)]
struct GoalUpdated {
    goal: Goal,
}

#[derive(Deserialize)]
struct Goal {
    objective: String,
}

/// The time at which a line was written, in Unix milliseconds.
pub(super) fn milliseconds(timestamp: &str) -> Option<i64> {
    let time: jiff::Timestamp = timestamp.parse().ok()?;
    Some(time.as_millisecond())
}

/// Whether a line of this kind changes turns or items. Most lines do not. Starts of items are ignored.
pub(super) fn makes_turns(kind: &str, payload: Option<&str>) -> bool {
    match (kind, payload) {
        ("event_msg" | "response_item", None) | ("compacted", _) => true,
        ("event_msg", Some(event)) => !matches!(
            event,
            "token_count"
                | "guardian_assessment"
                | "turn_diff"
                | "item_started"
                | "exec_command_begin"
                | "exec_approval_request"
                | "patch_apply_begin"
                | "apply_patch_approval_request"
                | "dynamic_tool_call_request"
                | "question_asked"
                | "question_answered"
        ),
        ("response_item", Some(item)) => item == "reasoning",
        _ => false,
    }
}
