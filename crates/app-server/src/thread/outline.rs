//! The outline of a stored thread: which bytes of its file make which turn. A page of turns then needs only the lines
//! of those turns.
//!
//! It is made by the same fold as the turns themselves, from lines without their large members, so that one pass over
//! the file parses little JSON. When lines were added to the file, only the last turns are read again. The outlines of
//! recently used threads are kept in memory, and those of large files in the home folder (`OutlineFolder`).

use std::collections::BTreeSet;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use codex_core::NeededLines;
use codex_projection::dialect::StoredForm;
use codex_projection::{ByteRanges, FilePart, Fold, ItemIds, TurnRanges, Turns};
use codex_protocol::{AgentMessageEvent, EventMsg, RolloutItem, UserMessageEvent};
use codex_rollout::{LineSelection, MessageImages, RolloutChain, ScannedLine, scan_segment};

use super::ordinals::{LineOrdinals, TurnOrdinals};
use super::stored_lines::{makes_turns, milliseconds, objective, preview};

pub(super) mod builder;
mod folder;
pub(super) mod kept;
mod turn_folder;
mod version;

use version::FileVersion;

/// An event names its turn within this number of bytes.
const HEAD: usize = 512;
/// The number of last turns that are read again when lines were added, because these may belong to one of them. Turns
/// before the last one are only read again up to this size.
const REREAD_TURNS: usize = if cfg!(test) { 2 } else { 8 };
const REREAD_BYTES: u64 = 1024 * 1024;

/// The byte ranges of all turns.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    file: PathBuf,
    version: FileVersion,
    /// The length of the file, including the files that it continues.
    length: u64,
    /// The offset of the last line, which may be incomplete.
    last_line: u64,
    ranges: TurnRanges,
    needed: NeededLines,
    /// The line with the preview.
    preview: Option<u64>,
}

impl Outline {
    /// Reads an open thread.
    fn read(path: &Path, version: FileVersion, chain: &RolloutChain) -> io::Result<Self> {
        let empty = || Self::empty(path, version);
        let fold = Fold::new(ByteRanges::default());
        if let Some(outline) = empty().scan(chain, (0, fold), TurnsInMemory::Last)? {
            return Ok(outline);
        }
        let fold = Fold::new(ByteRanges::default());
        let outline = empty().scan(chain, (0, fold), TurnsInMemory::All)?;
        outline.ok_or_else(|| io::Error::other("the turns of the thread cannot be found"))
    }

    fn empty(path: &Path, version: FileVersion) -> Self {
        Self {
            file: path.to_owned(),
            version,
            length: 0,
            last_line: 0,
            ranges: TurnRanges::default(),
            needed: NeededLines::default(),
            preview: None,
        }
    }

    /// Continues with the lines that were added to the file. None if they concern older turns.
    fn extended(mut self, version: FileVersion, chain: &RolloutChain) -> io::Result<Option<Self>> {
        let Some(position) = self.turn_to_reread() else {
            return Ok(None);
        };
        let begin = self.ranges.beginning_of(position).unwrap_or_default();
        let turn = self.ranges.ids().nth(position).map(str::to_owned);
        let ranges = std::mem::take(&mut self.ranges);
        let fold = Fold::continuing(ranges, position, self.last_line);
        self.version = version;
        let extended = self.scan(chain, (begin, fold), TurnsInMemory::Last)?;
        let is_same = |outline: &Self| outline.ranges.ids().nth(position) == turn.as_deref();
        Ok(extended.filter(is_same))
    }

    fn turn_to_reread(&self) -> Option<usize> {
        let last = self.ranges.count().checked_sub(1)?;
        let is_near = |position: &usize| {
            let begin = self.ranges.beginning_of(*position);
            begin.is_some_and(|begin| self.length.saturating_sub(begin) <= REREAD_BYTES)
        };
        let near = (self.ranges.count().saturating_sub(REREAD_TURNS)..last).find(is_near);
        Some(near.unwrap_or(last))
    }

    /// Reads the lines from an offset on. None if a turn is missing in the fold.
    fn scan(
        mut self,
        chain: &RolloutChain,
        (begin, mut fold): (u64, Fold<ByteRanges>),
        in_memory: TurnsInMemory,
    ) -> io::Result<Option<Self>> {
        self.length = chain.length()?;
        scan_segment(chain, begin..self.length, |line| {
            // An incomplete line is after all that loading selects, and is read again when the file has grown.
            if line.offset() + (line.bytes().len() as u64) < self.length {
                self.needed.take(line);
            }
            self.last_line = line.offset();
            if self.preview.is_none() && objective(&line).is_some() {
                self.preview = Some(line.offset());
            }
            if !is_plain_end(&fold, line)
                && let Some((now, item)) = read(line)
            {
                if self.preview.is_none() && preview(&item).is_some() {
                    self.preview = Some(line.offset());
                }
                fold.apply_stored_at(line.offset(), now, &bare(item));
                if in_memory == TurnsInMemory::Last {
                    fold.keep_last_turns();
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(fold.into_ranges().map(|ranges| Self { ranges, ..self }))
    }

    /// The ids of the turns, in their order.
    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ranges.ids()
    }

    /// The start of a turn, if there is one at this position.
    pub(crate) fn beginning_of(&self, position: usize) -> Option<u64> {
        self.ranges.beginning_of(position)
    }

    /// The lines that loading the thread without its turns needs; none if it is the whole file.
    pub(crate) fn lines_to_load(&self) -> Option<LineSelection> {
        self.needed.selection(self.preview)
    }

    /// The lines with what is shown of the thread besides its turns.
    pub(crate) fn lines_of_facts(&self) -> LineSelection {
        self.needed.facts(self.last_line, self.preview)
    }

    /// The positions of the turns in a range that have a line which is wanted, in their order. Lines between turns
    /// count with the turn before.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn turns_with(
        &self,
        wanted: Range<usize>,
        mut is_wanted: impl FnMut(&ScannedLine<'_>) -> bool,
    ) -> io::Result<Vec<usize>> {
        let Some(begin) = self.ranges.beginning_of(wanted.start) else {
            return Ok(Vec::new());
        };
        let end = self.ranges.beginning_of(wanted.end).unwrap_or(self.length);
        let chain = RolloutChain::open(&self.file)?;
        let (mut position, mut found) = (wanted.start, BTreeSet::new());
        let is_before = |next: usize, offset: u64| {
            let begin = self.ranges.beginning_of(next);
            begin.is_some_and(|begin| begin <= offset)
        };
        let late = self.ranges.stored_late();
        scan_segment(&chain, begin..end, |line| {
            while is_before(position + 1, line.offset()) {
                position += 1;
            }
            if is_wanted(&line) {
                let own = late.iter().find(|(_, offset)| *offset == line.offset());
                found.insert(own.map_or(position, |(turn, _)| *turn));
            }
            ControlFlow::Continue(())
        })?;
        // Lines of these turns that stand elsewhere in the file.
        for (turn, offset) in late {
            if wanted.contains(&turn) && !(begin..end).contains(&offset) {
                scan_segment(&chain, offset..self.length, |line| {
                    if is_wanted(&line) {
                        found.insert(turn);
                    }
                    ControlFlow::Break(())
                })?;
            }
        }
        Ok(found
            .into_iter()
            .filter(|turn| wanted.contains(turn))
            .collect())
    }

    /// The ordinals of a range of turns. The lines before them are counted, and not parsed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn ordinals(&self, wanted: Range<usize>, ids: ItemIds) -> io::Result<TurnOrdinals> {
        let Some((begin, counters)) = self.ranges.start_of(wanted.start) else {
            return Ok(TurnOrdinals::default());
        };
        let end = self.ranges.beginning_of(wanted.end).unwrap_or(self.length);
        let starts: Vec<(u64, &str)> = self.ranges.starts().collect();
        let chain = RolloutChain::open(&self.file)?;
        let mut ordinals = LineOrdinals::default();
        let mut fold = Fold::new(TurnOrdinals::default()).with_ids(ids);
        fold.go_to(counters);
        scan_segment(&chain, 0..end, |line| {
            let ordinal = ordinals.take(&line);
            if line.offset() < begin {
                return ControlFlow::Continue(());
            }
            fold.consumer().go_to(ordinal);
            let at = starts.binary_search_by_key(&line.offset(), |(offset, _)| *offset);
            if let Ok(at) = at {
                fold.consumer().begin(starts[at].1);
            }
            if ends_turn(&line)
                && let Some(turn) = turn_of(line)
            {
                fold.consumer().end(turn);
            }
            if let Some((now, item)) = read(line) {
                fold.apply_stored(now, &item);
            }
            ControlFlow::Continue(())
        })?;
        Ok(fold.into_consumer())
    }

    /// A range of turns. Only their lines are read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn turns(&self, wanted: Range<usize>, form: StoredForm) -> io::Result<Turns> {
        let chain = RolloutChain::open(&self.file)?;
        let foreign = self.ranges.lines_of_others(&wanted);
        let mut fold = Fold::new(()).with_ids(form.ids);
        let mut images = MessageImages::default();
        for part in self.ranges.parts(wanted) {
            let lines = match part {
                FilePart::Turn {
                    counters,
                    begin,
                    end,
                } => {
                    fold.go_to(counters);
                    begin..end.unwrap_or(self.length)
                }
                FilePart::Line(begin) => {
                    fold.leave();
                    begin..self.length
                }
            };
            scan_segment(&chain, lines, |line| {
                images.see(line);
                if !foreign.contains(&line.offset())
                    && let Some((now, mut item)) = read(line)
                {
                    images.restore(&mut item);
                    fold.apply_stored(now, &item);
                }
                match part {
                    FilePart::Turn { .. } => ControlFlow::Continue(()),
                    FilePart::Line(_) => ControlFlow::Break(()),
                }
            })?;
        }
        let thread = codex_rollout::id_of(&self.file).map(|id| id.to_string());
        Ok(fold.into_turns(thread.as_deref().unwrap_or_default(), &form))
    }
}

/// Which turns the fold keeps while an outline is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnsInMemory {
    /// The last ones, which is enough for most threads.
    Last,
    All,
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

fn ends_turn(line: &ScannedLine<'_>) -> bool {
    let kind = line.start().and_then(|start| start.payload_type);
    matches!(
        kind,
        Some("task_complete" | "turn_complete" | "turn_aborted")
    )
}

/// The turn id in the first bytes of an event. Quotes in strings are escaped, so this can only be the member itself.
fn turn_of(line: ScannedLine<'_>) -> Option<&str> {
    let head = &line.bytes()[..line.bytes().len().min(HEAD)];
    let member = b"\"turn_id\":\"";
    let begin = memchr::memmem::find(head, member)? + member.len();
    let end = begin + memchr::memchr(b'"', &head[begin..])?;
    std::str::from_utf8(&head[begin..end]).ok()
}

#[cfg(test)]
mod tests;
