//! What compactions dropped, read from the lines of a thread, and what of it can be brought back.

use std::collections::HashMap;

use codex_model_client::PromptItem;
use codex_protocol::{
    ContentItem, EventMsg, FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem,
    RolloutItem, TruncationMode, TruncationPolicy,
};

use super::context_use::{ContextPartKind, part_of_entry};
use super::contextual::{texts, wrapped_restored};
use super::entry::{EntryKind, HistoryEntry};
use super::items::History;
use super::messages::user_message;
use super::rebuild::rebuild_observed;

/// Lines have outputs as they were sent, so they are not cut again.
const UNCUT_POLICY: TruncationPolicy = TruncationPolicy {
    mode: TruncationMode::Bytes,
    limit: u64::MAX,
};

/// A compaction of a thread.
#[derive(Clone, Debug)]
pub struct StoredCompaction {
    /// Its place among the compactions of the thread, from 1.
    pub number: usize,
    /// How many compactions the thread has.
    pub of: usize,
    /// The turn that it was made in, if a line says it.
    pub turn: Option<String>,
    /// The summary; none if the server of the model made it, which only that server can read.
    pub summary: Option<String>,
    /// The estimated tokens of the history before and after it.
    pub tokens: (usize, usize),
    /// What the history had before it, and not after it. Context that is recorded again is not among it.
    pub dropped: Vec<DroppedItem>,
}

/// An item that a compaction dropped.
#[derive(Clone, Debug)]
pub struct DroppedItem {
    /// What part of the context it was.
    pub kind: ContextPartKind,
    /// The estimated tokens.
    pub tokens: usize,
    item: ResponseItem,
}

/// Why items are not brought back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreItemsError {
    /// There is no such item.
    #[error("the compaction dropped no item {0}")]
    Missing(usize),
    /// Nobody but the server of the model can read it, or it is half of a pair.
    #[error(
        "item {0} cannot be brought back: it is reasoning, hosted work, or a call without its output"
    )]
    NotRestorable(usize),
}

/// Reads compactions.
#[derive(Debug)]
pub struct CompactionReader {
    /// The compaction that is wanted; the last one if none.
    pub number: Option<usize>,
}

impl CompactionReader {
    /// The wanted compaction, and how many there are.
    pub fn read(
        &self,
        lines: impl IntoIterator<Item = RolloutItem>,
    ) -> (Option<StoredCompaction>, usize) {
        let mut count = 0;
        let mut found: Option<StoredCompaction> = None;
        let turn = std::cell::RefCell::new(None);
        let on_line = |line: &RolloutItem, _: &History| {
            if let RolloutItem::EventMsg(EventMsg::TurnStarted(started)) = line {
                *turn.borrow_mut() = Some(started.turn_id.clone());
            }
        };
        rebuild_observed(lines, UNCUT_POLICY, on_line, |before, message, after| {
            count += 1;
            if self.number.is_none_or(|number| number == count) {
                found = Some(StoredCompaction {
                    number: count,
                    of: 0,
                    turn: turn.borrow().clone(),
                    summary: (!message.is_empty()).then(|| message.to_owned()),
                    tokens: (before.tokens(), after.tokens()),
                    dropped: dropped(before, after),
                });
            }
        });
        if let Some(found) = &mut found {
            found.of = count;
        }
        (found, count)
    }
}

/// The items that are in one history and not in the other.
fn dropped(before: &History, after: &History) -> Vec<DroppedItem> {
    let mut kept: HashMap<&str, usize> = HashMap::new();
    for (_, item) in after.sent() {
        *kept.entry(item.json).or_default() += 1;
    }
    let is_gone = |(entry, item): &(&HistoryEntry, PromptItem<'_>)| {
        if matches!(
            entry.kind,
            EntryKind::UserContext | EntryKind::Developer { .. }
        ) {
            return false;
        }
        match kept.get_mut(item.json) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        }
    };
    let gone = before.sent().filter(is_gone);
    gone.map(|(entry, item)| DroppedItem {
        kind: part_of_entry(&entry.kind),
        tokens: entry.tokens,
        item: item.read(),
    })
    .collect()
}

impl DroppedItem {
    /// What people read of it.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.item {
            ResponseItem::Message { content, .. } => texts(content).collect::<Vec<_>>().join("\n"),
            ResponseItem::FunctionCall {
                name, arguments, ..
            } => format!("{name} {arguments}"),
            ResponseItem::CustomToolCall { name, input, .. } => format!("{name} {input}"),
            ResponseItem::FunctionCallOutput { output, .. }
            | ResponseItem::CustomToolCallOutput { output, .. } => match output {
                FunctionCallOutputBody::Text(text) => text.as_str().into_owned(),
                FunctionCallOutputBody::Content(parts) => {
                    let texts = parts.iter().filter_map(|part| match part {
                        FunctionCallOutputContentItem::InputText { text } => Some(text.as_str()),
                        _ => None,
                    });
                    texts.collect::<Vec<_>>().join("\n")
                }
            },
            _ => String::new(),
        }
    }

    /// Whether it can be brought back, with its call or output.
    #[must_use]
    pub fn is_restorable(&self) -> bool {
        matches!(
            EntryKind::from_item(&self.item),
            Some(
                EntryKind::UserTurn
                    | EntryKind::Assistant
                    | EntryKind::Call(_)
                    | EntryKind::Output(_)
            )
        )
    }
}

impl StoredCompaction {
    /// What is added to the history so that the model has these items again, and its estimated tokens. A call brings its
    /// output with it, an output its call.
    ///
    /// # Errors
    /// One of them cannot be brought back.
    pub fn restored(
        &self,
        wanted: &[usize],
    ) -> Result<(Vec<ResponseItem>, usize), RestoreItemsError> {
        let mut chosen = std::collections::BTreeSet::new();
        for index in wanted.iter().copied() {
            let dropped = self.dropped.get(index);
            let dropped = dropped.ok_or(RestoreItemsError::Missing(index))?;
            if !dropped.is_restorable() {
                return Err(RestoreItemsError::NotRestorable(index));
            }
            chosen.insert(index);
            let links = |kind: &Option<EntryKind>| match kind {
                Some(EntryKind::Call(link)) => Some((true, link.clone())),
                Some(EntryKind::Output(link)) => Some((false, link.clone())),
                _ => None,
            };
            let Some((is_call, link)) = links(&EntryKind::from_item(&dropped.item)) else {
                continue;
            };
            let is_other = |at: &usize| {
                links(&EntryKind::from_item(&self.dropped[*at].item))
                    == Some((!is_call, link.clone()))
            };
            let other = if is_call {
                (index + 1..self.dropped.len()).find(is_other)
            } else {
                (0..index).rev().find(is_other)
            };
            chosen.insert(other.ok_or(RestoreItemsError::NotRestorable(index))?);
        }
        let tokens = chosen.iter().map(|at| self.dropped[*at].tokens).sum();
        let items = chosen.iter().map(|at| match &self.dropped[*at].item {
            // It begins no turn, so it is no message of the user any more.
            ResponseItem::Message { role, content, .. } if role == "user" => {
                let images = content
                    .iter()
                    .filter(|part| matches!(part, ContentItem::InputImage { .. }));
                let images: Vec<_> = images.cloned().collect();
                let mut item = user_message([wrapped_restored(&self.dropped[*at].text())]);
                if let ResponseItem::Message { content, .. } = &mut item {
                    content.extend(images);
                }
                item
            }
            other => other.clone(),
        });
        Ok((items.collect(), tokens))
    }
}
