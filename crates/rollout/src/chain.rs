//! The file segments that one thread is stored in.
//!
//! Usually that is one whole file. Some engines store a fork, or a thread that was rolled back,
//! by reference: the first line of the file names the base (`history_base`) and where the base ends. Readers
//! see one sequence of lines: the file's first line, the lines of the base, the rest of the file. Offsets
//! are positions in this sequence.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::folders::ARCHIVED_FOLDER;
use crate::path::SESSIONS;

/// Limit on the length of the first line, in bytes.
const HEAD_LIMIT: u64 = 32 * 1024 * 1024;
/// Limit on the number of bases; exceeding it means that the references are corrupt.
const DEPTH: usize = 256;

/// The file segments of a thread, in order.
#[derive(Debug)]
pub struct RolloutChain(Vec<Segment>);

/// A range of a file. The last segment has no end, because the file may grow.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: File,
    pub(crate) range: Range<u64>,
    /// The offset of the segment's first byte in the whole sequence.
    pub(crate) begin: u64,
}

/// A reference to the thread or file that a file continues.
#[derive(Debug, Deserialize)]
struct HistoryBase {
    /// A thread id, or the own id of one of several files of a thread.
    thread_id: String,
    end_ordinal_exclusive: Option<u64>,
    end_byte_offset: Option<u64>,
}

impl RolloutChain {
    /// Opens the file of a thread and its bases. A missing base is logged and left out.
    ///
    /// # Errors
    /// The file itself cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut builder = ChainBuilder::default();
        builder.add(path, u64::MAX)?;
        Ok(Self(builder.segments))
    }

    /// Whether the file continues another one.
    #[must_use]
    pub fn has_base(&self) -> bool {
        self.0.len() > 1
    }

    /// The current length of the sequence in bytes.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn length(&self) -> io::Result<u64> {
        self.0.last().map_or(Ok(0), |last| {
            let length = last.file.metadata()?.len();
            Ok(last.begin + length.saturating_sub(last.range.start))
        })
    }

    /// Writes a range to another file.
    pub(crate) fn copy(&self, range: Range<u64>, to: &mut impl Write) -> io::Result<()> {
        self.within(range)
            .try_for_each(|(_, bytes)| io::copy(&mut bytes?, to).map(drop))
    }

    /// The parts between two offsets, each with the offset of its first byte.
    pub(crate) fn within(
        &self,
        wanted: Range<u64>,
    ) -> impl Iterator<Item = (u64, io::Result<io::Take<&File>>)> {
        self.0.iter().filter_map(move |segment| {
            let length = segment.range.end - segment.range.start;
            let end = segment.begin.saturating_add(length).min(wanted.end);
            let begin = segment.begin.max(wanted.start);
            (begin < end).then(|| {
                let place = segment.range.start + (begin - segment.begin);
                let mut file = &segment.file;
                let sought = file.seek(SeekFrom::Start(place));
                (begin, sought.map(|_| file.take(end - begin)))
            })
        })
    }
}

#[derive(Default)]
struct ChainBuilder {
    segments: Vec<Segment>,
    seen: HashSet<PathBuf>,
    length: u64,
}

impl ChainBuilder {
    /// Adds a file up to `end`, together with its bases.
    fn add(&mut self, path: &Path, end: u64) -> io::Result<()> {
        let file = codex_regular_file::open(path)?;
        let based = if self.seen.insert(path.to_owned()) && self.seen.len() <= DEPTH {
            base_of(&file)?
        } else {
            None
        };
        let Some((base, head)) = based else {
            self.push(file, 0..end);
            return Ok(());
        };
        let head = head.min(end);
        self.push(file.try_clone()?, 0..head);
        let found = find_base(path, &base.thread_id).filter(|found| !self.seen.contains(found));
        let added = found.map(|found| {
            let end = base.end(&found)?;
            self.add(&found, end)
        });
        match added {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::warn!(path = %path.display(), %error, "the base of a thread cannot be read");
            }
            None => {
                let base = base.thread_id;
                tracing::warn!(path = %path.display(), base, "the base of a thread is missing");
            }
        }
        self.push(file, head..end);
        Ok(())
    }

    fn push(&mut self, file: File, range: Range<u64>) {
        let begin = self.length;
        // Only the last segment has no end.
        self.length = begin.saturating_add(range.end - range.start);
        self.segments.push(Segment { file, range, begin });
    }
}

impl HistoryBase {
    /// The end offset in the base's file, at most the length of the file.
    fn end(&self, path: &Path) -> io::Result<u64> {
        let mut file = codex_regular_file::open(path)?;
        let length = file.metadata()?.len();
        if let Some(offset) = self.end_byte_offset.filter(|offset| *offset <= length) {
            let mut last = [b'\n'];
            if offset > 0 {
                file.seek(SeekFrom::Start(offset - 1))?;
                file.read_exact(&mut last)?;
            }
            if last == *b"\n" {
                return Ok(offset);
            }
        }
        match self.end_ordinal_exclusive {
            Some(ordinal) => offset_of_ordinal(file, ordinal),
            None => Ok(length),
        }
    }
}

/// The offset of the first line whose ordinal is at least `ordinal`.
fn offset_of_ordinal(mut file: File, ordinal: u64) -> io::Result<u64> {
    #[derive(Deserialize)]
    struct OrdinalLine {
        ordinal: Option<u64>,
    }
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let (mut offset, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        let number = serde_json::from_slice::<OrdinalLine>(&line).ok();
        let number = number.and_then(|line| line.ordinal);
        if read == 0 || number.is_some_and(|number| number >= ordinal) {
            return Ok(offset);
        }
        offset += read as u64;
    }
}

/// The base of a file, if it has one, and the offset where its first line ends.
fn base_of(file: &File) -> io::Result<Option<(HistoryBase, u64)>> {
    #[derive(Deserialize)]
    struct FirstLine {
        payload: FirstPayload,
    }
    #[derive(Deserialize)]
    struct FirstPayload {
        history_base: Option<HistoryBase>,
    }
    let mut line = Vec::new();
    let mut reader = BufReader::with_capacity(32 * 1024, file.take(HEAD_LIMIT));
    let head = reader.read_until(b'\n', &mut line)? as u64;
    if memchr::memmem::find(&line, b"\"history_base\"").is_none() {
        return Ok(None);
    }
    let line: Option<FirstLine> = serde_json::from_slice(&line).ok();
    let base = line.and_then(|line| line.payload.history_base);
    Ok(base.map(|base| (base, head)))
}

/// Finds the file of a base by its thread id, or by the own id of the file.
fn find_base(path: &Path, id: &str) -> Option<PathBuf> {
    // The id becomes part of a file name, so only a UUID is accepted.
    uuid::Uuid::try_parse(id).ok()?;
    let endings = [format!("-{id}.jsonl"), format!("_{id}.jsonl")];
    let is_it = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending)))
    };
    let beside = path.parent().and_then(|folder| search(folder, 0, &is_it));
    beside.or_else(|| {
        let roots = [SESSIONS, ARCHIVED_FOLDER];
        let is_root = |folder: &&Path| roots.iter().any(|root| folder.ends_with(root));
        let home = path.ancestors().find(is_root)?.parent()?;
        search(&home.join(SESSIONS), 3, &is_it)
            .or_else(|| search(&home.join(ARCHIVED_FOLDER), 0, &is_it))
    })
}

fn search(folder: &Path, depth: usize, is_it: &impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut paths = entries.map(|entry| entry.path());
    match depth {
        0 => paths.find(|path| is_it(path)),
        _ => paths.find_map(|path| search(&path, depth - 1, is_it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> String {
        format!("0195f0a0-7b1c-7000-8000-{number:012}")
    }

    fn meta(base: Option<(&str, u64, Option<u64>)>) -> String {
        let base = base.map_or_else(String::new, |(id, ordinal, offset)| {
            let offset = offset.map_or_else(String::new, |at| format!(",\"end_byte_offset\":{at}"));
            format!(",\"history_base\":{{\"thread_id\":\"{id}\",\"end_ordinal_exclusive\":{ordinal}{offset}}}")
        });
        format!("{{\"ordinal\":0,\"type\":\"session_meta\",\"payload\":{{\"id\":\"x\"{base}}}}}\n")
    }

    fn text(path: &Path) -> String {
        let mut bytes = Vec::new();
        let chain = RolloutChain::open(path).unwrap();
        chain.copy(0..chain.length().unwrap(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn thread_chain_reads_earlier_files() {
        let home = tempfile::tempdir().unwrap();
        let (day, next) = (
            home.path().join("sessions/2026/03/01"),
            home.path().join("sessions/2026/03/02"),
        );
        fs::create_dir_all(&day).unwrap();
        fs::create_dir_all(&next).unwrap();
        let first = day.join(format!("rollout-2026-03-01T01-00-00-{}.jsonl", id(1)));
        let lines = ["{\"ordinal\":1}\n", "{\"ordinal\":2}\n"];
        fs::write(&first, meta(None) + &lines.concat()).unwrap();
        let cut = (meta(None) + lines[0]).len() as u64;
        let same = day.join(format!(
            "rollout-2026-03-01T02-00-00-{}_{}.jsonl",
            id(1),
            id(2)
        ));
        // The byte offset is wrong, so the ordinal of the line is used.
        let own = meta(Some((&id(1), 2, Some(cut - 1))));
        fs::write(&same, own.clone() + "{\"ordinal\":3}\n").unwrap();
        let fork = next.join(format!("rollout-2026-03-02T01-00-00-{}.jsonl", id(3)));
        let last = meta(Some((&id(2), 4, None)));
        fs::write(&fork, last.clone() + "end\n").unwrap();
        let expected = [&own, &meta(None), lines[0], "{\"ordinal\":3}\n"].concat();
        assert_eq!(text(&same), expected);
        assert_eq!(text(&fork), last.clone() + &expected + "end\n");
        // A range that spans two files.
        let chain = RolloutChain::open(&fork).unwrap();
        let begin = last.len() as u64 - 1;
        let parts = chain.within(begin..begin + 2).map(|(at, bytes)| {
            let mut text = String::new();
            bytes.unwrap().read_to_string(&mut text).unwrap();
            (at, text)
        });
        let expected = [(begin, "\n".to_owned()), (begin + 1, "{".to_owned())];
        assert_eq!(parts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_base_that_is_missing_or_itself_is_none() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sessions");
        fs::create_dir(&folder).unwrap();
        for (number, base) in [(1, id(9)), (2, id(2)), (3, "../x".to_owned())] {
            let path = folder.join(format!("rollout-2026-03-01T01-00-00-{}.jsonl", id(number)));
            let whole = meta(Some((&base, 1, Some(1)))) + "rest\n";
            fs::write(&path, &whole).unwrap();
            assert_eq!(text(&path), whole);
        }
    }
}
