//! What an agent takes over from the history of the thread that starts it.

use codex_protocol::{
    AgentMessagePart, Compacted, ContentItem, MessagePhase, ResponseItem, RolloutItem,
};

use crate::history::is_contextual;

/// How much of the history an agent begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InheritedTurns {
    None,
    All,
    /// The latest.
    Last(usize),
}

/// Why a text does not say how many turns are inherited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fork_turns must be `none`, `all`, or a positive integer string")]
pub struct InvalidTurns;

impl InheritedTurns {
    pub fn parse(text: Option<&str>) -> Result<Self, InvalidTurns> {
        match text.map(str::trim) {
            None | Some("all") => Ok(Self::All),
            Some("none") => Ok(Self::None),
            Some(number) => match number.parse() {
                Ok(count) if count > 0 => Ok(Self::Last(count)),
                _ => Err(InvalidTurns),
            },
        }
    }
}

/// The lines that an agent begins with: what people and the engine said, and final answers. Work on the way to them,
/// messages of agents and the `hint` of the parent about agents are left out. With some turns only, the context is left
/// out too: the agent gets its own.
pub fn inherited_lines(
    lines: Vec<RolloutItem>,
    turns: InheritedTurns,
    hint: Option<&str>,
) -> Vec<RolloutItem> {
    let lines = match turns {
        InheritedTurns::None => return Vec::new(),
        InheritedTurns::All => lines,
        InheritedTurns::Last(count) => last_turns(lines, count),
    };
    lines
        .into_iter()
        .filter_map(|line| inherited(line, hint))
        .collect()
}

fn inherited(line: RolloutItem, hint: Option<&str>) -> Option<RolloutItem> {
    match line {
        RolloutItem::ResponseItem(item) => {
            is_inherited(&item, hint).then_some(RolloutItem::ResponseItem(item))
        }
        RolloutItem::Compacted(compacted) => {
            let history = compacted.replacement_history.map(|items| {
                let kept = items.into_iter().filter(|item| is_inherited(item, hint));
                kept.collect()
            });
            Some(RolloutItem::Compacted(Compacted {
                replacement_history: history,
                ..compacted
            }))
        }
        other => Some(other),
    }
}

fn is_inherited(item: &ResponseItem, hint: Option<&str>) -> bool {
    match item {
        ResponseItem::Message {
            role,
            content,
            phase,
            ..
        } => match role.as_str() {
            "assistant" => *phase != Some(MessagePhase::Commentary),
            "developer" => hint.is_none_or(|hint| !is_text(content, hint)),
            "user" | "system" => true,
            _ => false,
        },
        ResponseItem::Compaction { .. } => true,
        _ => false,
    }
}

fn is_text(content: &[ContentItem], expected: &str) -> bool {
    matches!(content, [ContentItem::InputText { text }] if text == expected)
}

/// The lines of the last turns, without context.
fn last_turns(mut lines: Vec<RolloutItem>, count: usize) -> Vec<RolloutItem> {
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| begins_turn(&lines[*at]))
        .collect();
    let from = starts
        .len()
        .checked_sub(count)
        .map_or(0, |first| starts[first]);
    let metas = |line: &RolloutItem| matches!(line, RolloutItem::SessionMeta(_));
    let tail = lines.split_off(from);
    lines.retain(metas);
    lines.extend(tail.into_iter().filter(|line| !is_context(line)));
    lines
}

fn begins_turn(line: &RolloutItem) -> bool {
    match line {
        RolloutItem::ResponseItem(ResponseItem::Message { role, content, .. }) => {
            role == "user" && !is_contextual(content)
        }
        RolloutItem::ResponseItem(ResponseItem::AgentMessage { content, .. }) => {
            matches!(&content[..], [AgentMessagePart::EncryptedContent { .. }])
        }
        _ => false,
    }
}

fn is_context(line: &RolloutItem) -> bool {
    match line {
        RolloutItem::TurnContext(_) => true,
        RolloutItem::ResponseItem(ResponseItem::Message { role, content, .. }) => {
            role == "developer" || (role == "user" && is_contextual(content))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(role: &str, text: &str, phase: Option<&str>) -> RolloutItem {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        let item = json!({ "type": "message", "role": role, "phase": phase,
            "content": [{ "type": kind, "text": text }] });
        RolloutItem::ResponseItem(serde_json::from_value(item).unwrap())
    }

    fn texts(lines: &[RolloutItem]) -> Vec<String> {
        let text = |line: &RolloutItem| match line {
            RolloutItem::ResponseItem(item) => {
                let item = serde_json::to_value(item).unwrap();
                item["content"][0]["text"].as_str().unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        };
        lines.iter().map(text).collect()
    }

    fn history() -> Vec<RolloutItem> {
        let call =
            json!({ "type": "function_call", "name": "x", "arguments": "{}", "call_id": "1" });
        let mail = json!({ "type": "agent_message", "author": "/root/a", "recipient": "/root",
            "content": [{ "type": "input_text", "text": "mail" }] });
        let item = |value| RolloutItem::ResponseItem(serde_json::from_value(value).unwrap());
        vec![
            message("developer", "rules", None),
            message("developer", "hint", None),
            message("user", "<environment_context></environment_context>", None),
            message("user", "one", None),
            message("assistant", "hm", Some("commentary")),
            item(call),
            message("assistant", "1", Some("final_answer")),
            message("user", "two", None),
            item(mail),
            message("assistant", "2", None),
        ]
    }

    #[test]
    fn inherited_history_has_no_reasoning_or_calls() {
        let all = inherited_lines(history(), InheritedTurns::All, Some("hint"));
        let context = "<environment_context></environment_context>";
        assert_eq!(texts(&all), ["rules", context, "one", "1", "two", "2"]);
        assert!(inherited_lines(history(), InheritedTurns::None, None).is_empty());
    }

    #[test]
    fn the_last_turns_come_without_context() {
        let last = |count| inherited_lines(history(), InheritedTurns::Last(count), None);
        assert_eq!(texts(&last(1)), ["two", "2"]);
        assert_eq!(texts(&last(9)), ["one", "1", "two", "2"]);
    }

    #[test]
    fn turns_are_counted_from_one() {
        let parse = InheritedTurns::parse;
        assert_eq!(parse(None), Ok(InheritedTurns::All));
        assert_eq!(parse(Some("3")), Ok(InheritedTurns::Last(3)));
        for wrong in ["0", "-1", "few", ""] {
            assert_eq!(parse(Some(wrong)), Err(InvalidTurns));
        }
    }
}
