//! A stored thread: the lines that its history is rebuilt from.
//!
//! Most lines of a long thread are events for clients, and most settings of turns are replaced by later ones.
//! They are skipped without being parsed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use codex_protocol::{LineStart, RolloutItem, RolloutLine, SessionMeta};
use codex_rollout::{
    LineSelection, LoadedRollout, RolloutLoadError, ScannedLine, scan, scan_selection,
};
use memchr::memmem::Finder;

use crate::history::{CompactionReader, StoredCompaction, UnfinishedLines};

mod needed_lines;
mod reverted;

pub use needed_lines::NeededLines;
pub use reverted::beginning_of;
use reverted::{RemovedLines, Revert, without_reverted};

/// A stored thread, read as far as the engine needs it.
#[derive(Debug)]
pub struct StoredThread {
    pub path: PathBuf,
    /// The first line with the facts about the thread.
    pub meta: SessionMeta,
    /// The base instructions, if a line has them.
    pub instructions: Option<String>,
    pub lines: StoredLines,
    /// The last turn, if it has not ended.
    pub unfinished: Option<UnfinishedLines>,
    /// The length of the complete lines.
    pub length: u64,
    /// The length of the file when it was read, at least. If it is longer now, another process has added lines.
    pub size: u64,
}

impl StoredThread {
    /// Reads the file of a thread up to `end`, or the selected lines of it. `also` is called with every line, so the
    /// file is read only once.
    ///
    /// # Errors
    /// The file cannot be read or has no thread id.
    pub fn read(
        path: &Path,
        end: Option<u64>,
        selection: Option<&LineSelection>,
        mut also: impl FnMut(ScannedLine<'_>),
    ) -> Result<Self, RolloutLoadError> {
        let end = end.unwrap_or(u64::MAX);
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        let mut reader = StoredThreadReader::default();
        let take = |line: ScannedLine<'_>| {
            if line.offset() >= end {
                return ControlFlow::Break(());
            }
            reader.take(line);
            also(line);
            ControlFlow::Continue(())
        };
        let length = match selection {
            Some(selection) => scan_selection(path, selection, take)?,
            None => scan(path, take)?,
        };
        if !reader.reverts.is_empty() {
            reader.lines = Self::read_reverted(path, end, &reader.reverts)?;
        }
        let meta = reader.meta.ok_or(RolloutLoadError::NoMeta)?;
        let unfinished = reader.unfinished;
        Ok(Self {
            path: path.to_owned(),
            unfinished: unfinished.filter(|turn| turn.is_of_thread(&meta)),
            meta,
            instructions: reader.instructions,
            lines: StoredLines::Raw(reader.lines),
            length: length.min(end),
            size,
        })
    }

    /// Reads the lines up to `end` that are left after these reverts. They may go back behind a compaction, so this
    /// cannot be done while the file is read for the first time.
    fn read_reverted(
        path: &Path,
        end: u64,
        reverts: &[Revert],
    ) -> Result<RawLines, RolloutLoadError> {
        let removed = RemovedLines::find(path, reverts)?;
        let mut reader = StoredThreadReader::default();
        scan(path, |line| {
            if line.offset() >= end {
                return ControlFlow::Break(());
            }
            if !removed.contains(line) {
                reader.take(line);
            }
            ControlFlow::Continue(())
        })?;
        Ok(reader.lines)
    }

    /// Reads all lines of the file of a thread, but for those of reverted turns.
    pub fn read_all(path: &Path) -> Result<Self, RolloutLoadError> {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        let LoadedRollout { meta, items, .. } = codex_rollout::load(path)?;
        let mut metas = items.iter().filter_map(|item| match item {
            RolloutItem::SessionMeta(meta) => Some(&**meta),
            _ => None,
        });
        Ok(Self {
            path: path.to_owned(),
            meta,
            instructions: metas.find_map(instructions),
            lines: StoredLines::Read(without_reverted(items)),
            unfinished: None,
            length: size,
            size,
        })
    }
}

/// A compaction of the thread in this file, by its number or the last one, and how many there are.
///
/// # Errors
/// The file cannot be read or is not that of a thread.
pub fn read_compaction(
    path: &Path,
    number: Option<usize>,
) -> Result<(Option<StoredCompaction>, usize), RolloutLoadError> {
    let stored = StoredThread::read_all(path)?;
    Ok(CompactionReader { number }.read(stored.lines))
}

fn instructions(meta: &SessionMeta) -> Option<String> {
    let base = meta.base_instructions.as_ref();
    base.map(|base| base.text.clone())
}

/// The lines that a history is rebuilt from.
#[derive(Debug)]
pub enum StoredLines {
    Read(Vec<RolloutItem>),
    Raw(RawLines),
}

impl StoredLines {
    /// The lines that are parsed already: all or none.
    pub fn read(&self) -> &[RolloutItem] {
        match self {
            Self::Read(items) => items,
            Self::Raw(_) => &[],
        }
    }
}

impl IntoIterator for StoredLines {
    type Item = RolloutItem;
    type IntoIter = Box<dyn Iterator<Item = RolloutItem>>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            Self::Read(items) => Box::new(items.into_iter()),
            Self::Raw(unread) => Box::new(unread.read()),
        }
    }
}

/// A chunk takes no more lines from this size on.
const CHUNK_BYTES: usize = 256 * 1024;

/// Lines as bytes, in chunks. They are parsed when the history is rebuilt, so they are never all in memory in
/// both forms.
#[derive(Debug, Default)]
pub struct RawLines {
    chunks: Vec<Vec<u8>>,
    count: usize,
    settings: LatestLine,
    /// What the settings that were kept last say about outputs and searches.
    kept_settings: Option<Vec<u8>>,
    tokens: LatestLine,
    pins: LatestLine,
}

/// The latest line of a kind of which only the latest counts.
#[derive(Debug, Default)]
struct LatestLine {
    line: Vec<u8>,
    /// The number of kept lines before it.
    at: usize,
}

impl LatestLine {
    fn set(&mut self, line: &[u8], at: usize) {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.at = at;
    }
}

impl RawLines {
    fn push(&mut self, line: &[u8]) {
        let is_full = |chunk: &Vec<u8>| chunk.len() + line.len() >= CHUNK_BYTES;
        if self.chunks.last().is_none_or(is_full) {
            self.chunks
                .push(Vec::with_capacity(CHUNK_BYTES.max(line.len() + 1)));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.extend_from_slice(line);
            chunk.push(b'\n');
            self.count += 1;
        }
    }

    /// Of the settings of turns the latest count, and those from which on outputs are cut or searches are made in another way.
    fn take_settings(&mut self, line: &[u8]) {
        self.settings.set(line, self.count);
        let mut marks = memchr::memmem::find(line, b"\"truncation_policy\":")
            .map(|at| line[at..].split_inclusive(|byte| *byte == b'}'))
            .and_then(|mut parts| parts.next())
            .unwrap_or_default()
            .to_vec();
        let is_full = memchr::memmem::find(line, b"\"danger-full-access\"").is_some();
        marks.push(u8::from(is_full));
        if self.kept_settings.as_ref() != Some(&marks) {
            self.push(line);
            self.kept_settings = Some(marks);
        }
    }

    /// Drops the lines so far, because a compaction replaces what they make.
    fn clear(&mut self) {
        self.chunks.clear();
        self.count = 0;
        self.settings.at = 0;
        self.kept_settings = None;
    }

    fn read(self) -> impl Iterator<Item = RolloutItem> {
        let (settings, tokens) = (read_line(&self.settings.line), read_line(&self.tokens.line));
        let pins = read_line(&self.pins.line);
        let at = self.settings.at;
        let (mut early, late) = if at < self.count {
            (settings, None)
        } else {
            (None, settings)
        };
        let lines = self.chunks.into_iter().flat_map(ChunkLines::new);
        let lines = lines.enumerate().flat_map(move |(index, line)| {
            let before = if index == at { early.take() } else { None };
            before.into_iter().chain(line)
        });
        lines.chain(late).chain(tokens).chain(pins)
    }
}

/// The parsed lines of a chunk. Only one is in memory at a time.
struct ChunkLines {
    chunk: Vec<u8>,
    at: usize,
}

impl ChunkLines {
    fn new(chunk: Vec<u8>) -> Self {
        Self { chunk, at: 0 }
    }
}

impl Iterator for ChunkLines {
    type Item = Option<RolloutItem>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.chunk[self.at..];
        let end = memchr::memchr(b'\n', rest)?;
        self.at += end + 1;
        Some(read_line(&rest[..end]))
    }
}

fn read_line(line: &[u8]) -> Option<RolloutItem> {
    if let Some(line) = LineStart::parse(line).and_then(|start| start.read()) {
        return Some(line.item);
    }
    let line = RolloutLine::read(std::str::from_utf8(line).ok()?.trim()).ok()?;
    Some(line.item)
}

#[derive(Debug, Default)]
struct StoredThreadReader {
    meta: Option<SessionMeta>,
    instructions: Option<String>,
    lines: RawLines,
    unfinished: Option<UnfinishedLines>,
    reverts: Vec<Revert>,
}

impl StoredThreadReader {
    fn take(&mut self, line: ScannedLine<'_>) {
        let Some((kind, payload)) = line.kind() else {
            return;
        };
        if let ("event_msg", Some(event)) = (kind.as_ref(), payload.as_deref()) {
            UnfinishedLines::take(&mut self.unfinished, event, line);
        }
        let (lines, bytes) = (&mut self.lines, line.bytes());
        let at = lines.count;
        match (kind.as_ref(), payload.as_deref()) {
            ("turn_context", _) => lines.take_settings(bytes),
            ("thread_pins", _) => lines.pins.set(bytes, at),
            ("session_meta", _) => {
                if let Some(RolloutItem::SessionMeta(meta)) = line.read().map(|line| line.item) {
                    let earlier = self.instructions.take();
                    self.instructions = earlier.or_else(|| instructions(&meta));
                    self.meta.get_or_insert(*meta);
                }
            }
            ("event_msg", Some("token_count")) => {
                if !has_no_usage(bytes) {
                    lines.tokens.set(bytes, at);
                }
            }
            ("event_msg", Some("thread_rolled_back")) => {
                self.reverts.extend(Revert::parse(line));
                lines.push(bytes);
            }
            ("event_msg", Some(kind)) if kind != "undo_completed" => {}
            ("compacted", _) => {
                if replaces_history(line) {
                    lines.clear();
                }
                lines.push(bytes);
            }
            _ => lines.push(bytes),
        }
    }
}

/// Whether a compaction has the history after it, so that earlier lines do not matter. Those of older programs do not.
fn replaces_history(line: ScannedLine<'_>) -> bool {
    let member = b"\"replacement_history\"";
    memchr::memmem::find(line.bytes(), member).is_some()
        && line.read().is_some_and(|line| {
            matches!(line.item, RolloutItem::Compacted(compacted) if compacted.replacement_history.is_some())
        })
}

/// Whether a token count is empty, as before the first response.
fn has_no_usage(line: &[u8]) -> bool {
    static NO_USAGE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"info\":null"));
    NO_USAGE.find(&line[..line.len().min(200)]).is_some()
}

#[cfg(test)]
mod tests {
    use codex_protocol::{TruncationMode, TruncationPolicy};

    use super::*;
    use crate::history::Conversation;

    const LINES: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","timestamp":"t","cwd":"/","originator":"o","cli_version":"1","model_provider":null,"base_instructions":null}}
{"timestamp":"t","type":"event_msg","payload":{"type":"task_started","turn_id":"1","model_context_window":null}}
{"timestamp":"t","type":"turn_context","payload":{"cwd":"/","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"old","summary":"auto"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":null}}
{"timestamp":"t","type":"turn_context","payload":{"cwd":"/","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"new","summary":"auto"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"last_token_usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"model_context_window":null},"rate_limits":null}}
{"timestamp":"t","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"timestamp":"t","type":"response_item","payload":{"type":"ghost_snapshot","ghost_commit":{"id":"g","parent":null,"preexisting_untracked_files":[],"preexisting_untracked_dirs":[]}}}
{"timestamp":"t","type":"event_msg","payload":{"type":"undo_completed","success":true}}
{"torn"#;

    #[test]
    fn less_is_read_and_it_comes_to_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), LINES).unwrap();
        let stored = StoredThread::read(file.path(), None, None, |_| {}).unwrap();
        assert_eq!(stored.length, (LINES.len() - "{\"torn".len()) as u64);
        let StoredLines::Raw(unread) = &stored.lines else {
            panic!("all lines were read");
        };
        assert_eq!(unread.count, 6);
        let policy = TruncationPolicy {
            mode: TruncationMode::Bytes,
            limit: 100,
        };
        let whole = codex_rollout::load(file.path()).unwrap();
        let (all, few) = (
            Conversation::rebuilt(whole.items, policy),
            Conversation::rebuilt(stored.lines, policy),
        );
        assert_eq!(all.history.len(), few.history.len());
        assert_eq!(all.reference, few.reference);
        assert_eq!(all.previous_model, few.previous_model);
        assert_eq!(all.previous_model.as_deref(), Some("new"));
        assert_eq!(all.usage.info, few.usage.info);
        assert!(few.usage.info.is_some());
    }

    #[test]
    fn needed_lines_rebuild_the_same_history() {
        let compacted = r#"{"timestamp":"t","type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}]}}"#;
        let lines: Vec<&str> = LINES.lines().collect();
        let turn = lines[1].replace("\"1\"", "\"2\"");
        // A compaction in the middle of the first turn, or after it; a second turn begins or not.
        for (at, is_running) in [(4, false), (4, true), (8, false), (8, true)] {
            let mut lines = lines.clone();
            lines.insert(at, compacted);
            if is_running {
                lines.insert(lines.len() - 3, &turn);
            }
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), lines.join("\n")).unwrap();
            let mut needed = NeededLines::default();
            let all = StoredThread::read(file.path(), None, None, |line| needed.take(line));
            let selection = needed.selection([]).unwrap();
            assert!(selection.rest > 0);
            let few = StoredThread::read(file.path(), None, Some(&selection), |_| {});
            let (all, few) = (all.unwrap(), few.unwrap());
            assert_eq!(all.meta, few.meta);
            assert_eq!(all.length, few.length);
            assert_eq!(all.unfinished.is_some(), few.unfinished.is_some());
            let policy = TruncationPolicy {
                mode: TruncationMode::Bytes,
                limit: 100,
            };
            let whole = codex_rollout::load(file.path()).unwrap().items;
            let of = |lines: Vec<RolloutItem>| Conversation::rebuilt(lines, policy);
            let expected = of(whole);
            for lines in [all.lines, few.lines] {
                let found = of(lines.into_iter().collect());
                assert_eq!(expected.history.len(), found.history.len());
                assert_eq!(expected.reference, found.reference);
                assert_eq!(expected.previous_model, found.previous_model);
                assert_eq!(expected.usage.info, found.usage.info);
            }
        }
    }
}
