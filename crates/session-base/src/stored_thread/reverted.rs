//! Turns that were taken out of a thread. Their lines stay in the file, before the line that takes them out.

use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use codex_protocol::{EventMsg, RolloutItem};
use codex_rollout::{RolloutLoadError, ScannedLine, scan};

/// A line that takes turns out of the thread and names the first of them.
#[derive(Debug)]
pub(super) struct Revert {
    first_turn: String,
    line: u64,
}

impl Revert {
    /// Reads a line of the type `thread_rolled_back`. None if it only counts turns.
    pub(super) fn parse(line: ScannedLine<'_>) -> Option<Self> {
        match line.read()?.item {
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(turns)) => Some(Self {
                first_turn: turns.first_turn_id?,
                line: line.offset(),
            }),
            _ => None,
        }
    }
}

/// The lines of turns that were taken out.
#[derive(Debug, Default)]
pub(super) struct RemovedLines(Vec<RangeInclusive<u64>>);

impl RemovedLines {
    /// Finds the turns of these reverts. One whose turn is not in the file removes nothing.
    pub(super) fn find(path: &Path, reverts: &[Revert]) -> Result<Self, RolloutLoadError> {
        let turns: Vec<&str> = reverts.iter().map(|revert| &*revert.first_turn).collect();
        let found = beginnings(path, &turns)?;
        let ranges = found.into_iter().zip(reverts);
        let ranges = ranges.filter_map(|(begin, revert)| Some(begin?..=revert.line));
        Ok(Self(ranges.collect()))
    }

    /// Whether a line is no longer part of the history. The metadata and the token counts of removed turns still hold.
    pub(super) fn contains(&self, line: ScannedLine<'_>) -> bool {
        if !self.0.iter().any(|range| range.contains(&line.offset())) {
            return false;
        }
        let kind = line.kind();
        let kind = kind
            .as_ref()
            .map(|(kind, event)| (&**kind, event.as_deref()));
        !matches!(
            kind,
            Some(("session_meta" | "thread_pins", _) | ("event_msg", Some("token_count")))
        )
    }
}

/// Where a turn begins in the file of its thread. None if it is not there.
pub fn beginning_of(path: &Path, turn: &str) -> Result<Option<u64>, RolloutLoadError> {
    Ok(beginnings(path, &[turn])?.into_iter().next().flatten())
}

fn beginnings(path: &Path, turns: &[&str]) -> Result<Vec<Option<u64>>, RolloutLoadError> {
    let mut found = vec![None; turns.len()];
    scan(path, |line| {
        if let Some(started) = started_turn(line) {
            for (turn, begin) in turns.iter().zip(&mut found) {
                if *turn == started {
                    begin.get_or_insert(line.offset());
                }
            }
        }
        if found.iter().all(Option::is_some) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(found)
}

fn started_turn(line: ScannedLine<'_>) -> Option<String> {
    match line.kind()? {
        (kind, Some(event))
            if kind == "event_msg" && matches!(&*event, "task_started" | "turn_started") => {}
        _ => return None,
    }
    match line.read()?.item {
        RolloutItem::EventMsg(EventMsg::TurnStarted(started)) => Some(started.turn_id),
        _ => None,
    }
}

/// Drops the lines of turns that were taken out.
pub(super) fn without_reverted(items: Vec<RolloutItem>) -> Vec<RolloutItem> {
    let mut kept: Vec<RolloutItem> = Vec::with_capacity(items.len());
    for item in items {
        let begin = match &item {
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(turns)) => {
                let first = turns.first_turn_id.as_deref();
                first.and_then(|first| kept.iter().position(|line| starts(line, first)))
            }
            _ => None,
        };
        let Some(begin) = begin else {
            kept.push(item);
            continue;
        };
        let still_hold = |line: &RolloutItem| {
            matches!(
                line,
                RolloutItem::SessionMeta(_)
                    | RolloutItem::Pins(_)
                    | RolloutItem::EventMsg(EventMsg::TokenCount(_))
            )
        };
        let removed = kept.split_off(begin);
        kept.extend(removed.into_iter().filter(still_hold));
    }
    kept
}

fn starts(line: &RolloutItem, turn: &str) -> bool {
    matches!(line, RolloutItem::EventMsg(EventMsg::TurnStarted(started)) if started.turn_id == turn)
}

#[cfg(test)]
mod tests {
    use codex_protocol::{TruncationMode, TruncationPolicy};
    use serde_json::{Value, json};

    use crate::history::Conversation;
    use crate::stored_thread::{NeededLines, StoredLines, StoredThread};

    fn event(payload: Value) -> Value {
        json!({"timestamp": "t", "type": "event_msg", "payload": payload})
    }

    fn message(text: &str) -> Value {
        let content = json!([{"type": "input_text", "text": text}]);
        json!({"type": "message", "role": "user", "content": content})
    }

    fn turn(id: &str) -> [Value; 3] {
        let begin = json!({"type": "task_started", "turn_id": id, "model_context_window": null});
        let end = json!({"type": "task_complete", "turn_id": id, "last_agent_message": null});
        let said = json!({"timestamp": "t", "type": "response_item", "payload": message(id)});
        [event(begin), said, event(end)]
    }

    fn revert(first: &str, turns: u32) -> Value {
        event(json!({"type": "thread_rolled_back", "num_turns": turns, "first_turn_id": first}))
    }

    fn length(lines: StoredLines) -> usize {
        let policy = TruncationPolicy {
            mode: TruncationMode::Bytes,
            limit: 100,
        };
        Conversation::rebuilt(lines, policy).history.len()
    }

    #[test]
    fn revert_restores_the_history_before_the_turn() {
        let meta = json!({"timestamp": "t", "type": "session_meta", "payload": {"id": "a", "timestamp": "t",
            "cwd": "/", "originator": "o", "cli_version": "1", "model_provider": null}});
        let compacted = json!({"message": "m", "replacement_history": [message("short")]});
        let compacted = json!({"timestamp": "t", "type": "compacted", "payload": compacted});
        let mut lines = vec![meta];
        lines.extend(["one", "two", "three"].iter().flat_map(|id| turn(id)));
        lines.push(compacted);
        lines.extend(turn("four"));
        lines.push(revert("three", 2));
        lines.extend(turn("five"));
        // A turn that is not there: the last message is counted.
        lines.push(revert("nobody", 1));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut needed = NeededLines::default();
        let few = StoredThread::read(file.path(), None, None, |line| needed.take(line)).unwrap();
        assert_eq!(needed.selection([]), None);
        assert_eq!(length(few.lines), 2);
        let all = StoredThread::read_all(file.path()).unwrap();
        assert_eq!(length(all.lines), 2);
    }
}
