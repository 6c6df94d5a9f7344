//! Cutting the lines of a thread for a fork.

use codex_protocol::{EventMsg, ResponseItem, RolloutItem};
use codex_session_base::history::is_contextual;

/// How much of a thread a fork takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkAt {
    /// All of it.
    End,
    /// What comes before the n-th user message, counted from 0.
    BeforeUserMessage(usize),
}

/// The lines that a fork takes along.
pub(crate) fn cut(mut lines: Vec<RolloutItem>, at: ForkAt) -> Vec<RolloutItem> {
    let ForkAt::BeforeUserMessage(index) = at else {
        return lines;
    };
    let starts = user_messages(&lines);
    match starts.get(index) {
        Some(start) => lines.truncate(*start),
        None => lines.clear(),
    }
    lines
}

/// The user messages that were not rolled back.
fn user_messages(lines: &[RolloutItem]) -> Vec<usize> {
    let mut starts: Vec<usize> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        match line {
            RolloutItem::ResponseItem(ResponseItem::Message { role, content, .. })
                if role == "user" && !is_contextual(content) =>
            {
                starts.push(index);
            }
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(back)) => {
                let turns = usize::try_from(back.num_turns).unwrap_or(usize::MAX);
                starts.truncate(starts.len().saturating_sub(turns));
            }
            _ => {}
        }
    }
    starts
}
