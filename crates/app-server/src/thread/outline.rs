//! The outline of a stored thread: which bytes of its file make which turn. A page of turns then needs only the lines
//! of those turns.
//!
//! It is made by the same fold as the turns themselves, from lines without their large members, so that one pass over
//! the file parses little JSON. The outlines of recently paged threads are kept while their files do not change.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use codex_protocol::{AgentMessageEvent, EventMsg, RolloutItem, UserMessageEvent};
use codex_rollout::{RolloutChain, ScannedLine, scan_segment};
use parking_lot::Mutex;

use super::history::{makes_turns, milliseconds};
use crate::projection::{
    ByteRanges, FilePart, Fold, ItemIds, TurnRange, Turns, lines_of_others, parts,
};

/// The number of outlines that are kept.
const KEPT: usize = 8;
/// An event names its turn within this number of bytes.
const HEAD: usize = 512;

/// The byte ranges of all turns.
#[derive(Debug)]
pub(crate) struct Outline {
    file: PathBuf,
    /// The length of the file, including the files that it continues.
    length: u64,
    ranges: Vec<TurnRange>,
}

impl Outline {
    /// Reads an open thread.
    fn read(path: &Path, chain: &RolloutChain) -> io::Result<Self> {
        let length = chain.length()?;
        let mut fold = Fold::new(ByteRanges::default());
        scan_segment(chain, 0..length, |line| {
            if !is_plain_end(&fold, line)
                && let Some((now, item)) = read(line)
            {
                fold.apply_stored_at(line.offset(), now, &bare(item));
            }
            ControlFlow::Continue(())
        })?;
        Ok(Self {
            file: path.to_owned(),
            length,
            ranges: fold.into_ranges(),
        })
    }

    /// The ids of the turns, in their order.
    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ranges.iter().map(|range| range.turn.as_str())
    }

    /// The start of a turn, if there is one at this position.
    pub(crate) fn beginning_of(&self, position: usize) -> Option<u64> {
        self.ranges.get(position).map(TurnRange::begin)
    }

    /// A range of turns. Only their lines are read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn turns(&self, wanted: Range<usize>, ids: ItemIds) -> io::Result<Turns> {
        let chain = RolloutChain::open(&self.file)?;
        let foreign = lines_of_others(&self.ranges, wanted.clone());
        let mut fold = Fold::new(()).with_ids(ids);
        for part in parts(&self.ranges, wanted) {
            let lines = match part {
                FilePart::Turn(range, begin, end) => {
                    fold.go_to(range.counters());
                    begin..end.unwrap_or(self.length)
                }
                FilePart::Line(begin) => {
                    fold.leave();
                    begin..self.length
                }
            };
            scan_segment(&chain, lines, |line| {
                if !foreign.contains(&line.offset())
                    && let Some((now, item)) = read(line)
                {
                    fold.apply_stored(now, &item);
                }
                match part {
                    FilePart::Turn(..) => ControlFlow::Continue(()),
                    FilePart::Line(_) => ControlFlow::Break(()),
                }
            })?;
        }
        Ok(fold.into_turns())
    }
}

/// A relevant line and its time.
fn read(line: ScannedLine<'_>) -> Option<(Option<i64>, RolloutItem)> {
    let (kind, payload) = line.kind()?;
    if !makes_turns(&kind, payload.as_deref()) {
        return None;
    }
    let line = line.read()?;
    Some((milliseconds(&line.timestamp), line.item))
}

/// A line without large members: only whether a message has content matters.
fn bare(mut item: RolloutItem) -> RolloutItem {
    let RolloutItem::EventMsg(event) = &mut item else {
        return item;
    };
    match event {
        EventMsg::UserMessage(message) => *message = UserMessageEvent::default(),
        EventMsg::AgentMessage(message) if !message.message.is_empty() => {
            *message = AgentMessageEvent {
                message: "-".into(),
                ..AgentMessageEvent::default()
            };
        }
        EventMsg::AgentReasoning(said) | EventMsg::AgentReasoningRawContent(said) => {
            said.text.clear();
        }
        _ => {}
    }
    item
}

/// Whether a line is the end of a command or patch of the current turn, judged by its first bytes. Such items have
/// ids of their own and do not affect the turn. (If two of them in one turn have the same id, with reasoning in
/// between, the numbers of later reasoning may be one too high.)
fn is_plain_end(fold: &Fold<ByteRanges>, line: ScannedLine<'_>) -> bool {
    let kind = line.start().and_then(|start| start.payload_type);
    let is_end = matches!(kind, Some("exec_command_end" | "patch_apply_end"));
    is_end && turn_of(line).is_some_and(|turn| fold.can_pass_over_item_of(turn))
}

/// The turn id in the first bytes of an event. Quotes in strings are escaped, so this can only be the member itself.
fn turn_of(line: ScannedLine<'_>) -> Option<&str> {
    let head = &line.bytes()[..line.bytes().len().min(HEAD)];
    let member = b"\"turn_id\":\"";
    let begin = memchr::memmem::find(head, member)? + member.len();
    let end = begin + memchr::memchr(b'"', &head[begin..])?;
    std::str::from_utf8(&head[begin..end]).ok()
}

/// Recently used outlines.
#[derive(Debug, Default)]
pub(crate) struct Outlines(Mutex<VecDeque<(OutlineKey, Arc<Outline>)>>);

/// Identifies one state of a file.
#[derive(Debug, PartialEq, Eq)]
struct OutlineKey {
    length: u64,
    modified: Option<SystemTime>,
}

impl OutlineKey {
    fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
        }
    }
}

impl Outlines {
    /// The current outline of a file, read again only if the file has changed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn get(&self, path: &Path) -> io::Result<Arc<Outline>> {
        let stamp = OutlineKey::of(&path.metadata()?);
        let known = self.take(path).filter(|(known, _)| *known == stamp);
        let outline = match known {
            Some((_, outline)) => outline,
            None => Arc::new(Outline::read(path, &RolloutChain::open(path)?)?),
        };
        let mut kept = self.0.lock();
        kept.truncate(KEPT - 1);
        kept.push_front((stamp, Arc::clone(&outline)));
        Ok(outline)
    }

    fn take(&self, path: &Path) -> Option<(OutlineKey, Arc<Outline>)> {
        let mut kept = self.0.lock();
        let known = kept.iter().position(|(_, outline)| outline.file == path)?;
        kept.remove(known)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
