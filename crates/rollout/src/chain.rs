//! The stretches of files that one thread is stored in.
//!
//! Mostly that is one file. Newer programs than 0.117 store a fork, and a thread that was taken back to an
//! earlier turn, by reference: the first line of the file names what it goes on from (`history_base`), and
//! where that ends. To its readers such a thread is one sequence of lines: its own first line, the lines of
//! its base, the rest of its own. The offset of a line is its place in this sequence.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::folders::ARCHIVED;
use crate::place::SESSIONS;

/// The longest first line that is looked at.
const HEAD_LIMIT: u64 = 32 * 1024 * 1024;
/// More bases than this are a mistake.
const DEPTH: usize = 256;

/// The stretches of files that a thread is stored in, in their order.
#[derive(Debug)]
pub struct Chain(Vec<Stretch>);

/// A stretch of a file. The last one of a chain is open at its end, as the file may grow.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) file: File,
    pub(crate) range: Range<u64>,
    /// The offset of its first byte.
    pub(crate) begin: u64,
}

/// What a file goes on from.
#[derive(Debug, Deserialize)]
struct Base {
    /// A thread, or one file of a thread of several.
    thread_id: String,
    end_ordinal_exclusive: Option<u64>,
    end_byte_offset: Option<u64>,
}

impl Chain {
    /// Opens the file of a thread and those that it goes on from. A base that is not there is left out.
    ///
    /// # Errors
    /// The file itself cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut builder = Builder::default();
        builder.add(path, u64::MAX)?;
        Ok(Self(builder.stretches))
    }

    /// Whether the file goes on from another one.
    #[must_use]
    pub fn is_based(&self) -> bool {
        self.0.len() > 1
    }

    /// How many bytes there are now.
    ///
    /// # Errors
    /// The file cannot be looked at.
    pub fn length(&self) -> io::Result<u64> {
        self.0.last().map_or(Ok(0), |last| {
            let length = last.file.metadata()?.len();
            Ok(last.begin + length.saturating_sub(last.range.start))
        })
    }

    /// Writes the first `length` bytes to another file.
    pub(crate) fn copy(&self, length: u64, to: &mut impl Write) -> io::Result<()> {
        self.within(0..length)
            .try_for_each(|(_, bytes)| io::copy(&mut bytes?, to).map(drop))
    }

    /// What there is of it between two offsets: each part with the offset of its first byte.
    pub(crate) fn within(
        &self,
        wanted: Range<u64>,
    ) -> impl Iterator<Item = (u64, io::Result<io::Take<&File>>)> {
        self.0.iter().filter_map(move |stretch| {
            let length = stretch.range.end - stretch.range.start;
            let end = stretch.begin.saturating_add(length).min(wanted.end);
            let begin = stretch.begin.max(wanted.start);
            (begin < end).then(|| {
                let place = stretch.range.start + (begin - stretch.begin);
                let mut file = &stretch.file;
                let sought = file.seek(SeekFrom::Start(place));
                (begin, sought.map(|_| file.take(end - begin)))
            })
        })
    }
}

#[derive(Default)]
struct Builder {
    stretches: Vec<Stretch>,
    seen: HashSet<PathBuf>,
    length: u64,
}

impl Builder {
    /// Adds a file up to `end`, with what it goes on from.
    fn add(&mut self, path: &Path, end: u64) -> io::Result<()> {
        let file = File::open(path)?;
        let based = match self.seen.insert(path.to_owned()) && self.seen.len() <= DEPTH {
            true => base_of(&file)?,
            false => None,
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
                tracing::warn!(path = %path.display(), %error, "what a thread goes on from cannot be read");
            }
            None => {
                let base = base.thread_id;
                tracing::warn!(path = %path.display(), base, "what a thread goes on from is not there");
            }
        }
        self.push(file, head..end);
        Ok(())
    }

    fn push(&mut self, file: File, range: Range<u64>) {
        let begin = self.length;
        // Only the last one has no end.
        self.length = begin.saturating_add(range.end - range.start);
        self.stretches.push(Stretch { file, range, begin });
    }
}

impl Base {
    /// Where in its file it ends: no later than the file itself.
    fn end(&self, path: &Path) -> io::Result<u64> {
        let mut file = File::open(path)?;
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

/// Where the first line begins that has this number or a greater one.
fn offset_of_ordinal(mut file: File, ordinal: u64) -> io::Result<u64> {
    #[derive(Deserialize)]
    struct Line {
        ordinal: Option<u64>,
    }
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let (mut offset, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        let number = serde_json::from_slice::<Line>(&line).ok();
        let number = number.and_then(|line| line.ordinal);
        if read == 0 || number.is_some_and(|number| number >= ordinal) {
            return Ok(offset);
        }
        offset += read as u64;
    }
}

/// What a file goes on from, if it does, and where its first line ends.
fn base_of(file: &File) -> io::Result<Option<(Base, u64)>> {
    #[derive(Deserialize)]
    struct Line {
        payload: Payload,
    }
    #[derive(Deserialize)]
    struct Payload {
        history_base: Option<Base>,
    }
    let mut line = Vec::new();
    let mut reader = BufReader::with_capacity(32 * 1024, file.take(HEAD_LIMIT));
    let head = reader.read_until(b'\n', &mut line)? as u64;
    if memchr::memmem::find(&line, b"\"history_base\"").is_none() {
        return Ok(None);
    }
    let line: Option<Line> = serde_json::from_slice(&line).ok();
    let base = line.and_then(|line| line.payload.history_base);
    Ok(base.map(|base| (base, head)))
}

/// The file of a base: that of a thread, or the one of several that has this id of its own.
fn find_base(path: &Path, id: &str) -> Option<PathBuf> {
    // It becomes part of a name.
    uuid::Uuid::try_parse(id).ok()?;
    let endings = [format!("-{id}.jsonl"), format!("_{id}.jsonl")];
    let is_it = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending)))
    };
    let beside = path.parent().and_then(|folder| search(folder, 0, &is_it));
    beside.or_else(|| {
        let roots = [SESSIONS, ARCHIVED];
        let is_root = |folder: &&Path| roots.iter().any(|root| folder.ends_with(root));
        let home = path.ancestors().find(is_root)?.parent()?;
        search(&home.join(SESSIONS), 3, &is_it).or_else(|| search(&home.join(ARCHIVED), 0, &is_it))
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
        let chain = Chain::open(path).unwrap();
        chain.copy(chain.length().unwrap(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_thread_goes_on_from_others() {
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
        // The place in bytes is wrong: the number of the line counts.
        let own = meta(Some((&id(1), 2, Some(cut - 1))));
        fs::write(&same, own.clone() + "{\"ordinal\":3}\n").unwrap();
        let fork = next.join(format!("rollout-2026-03-02T01-00-00-{}.jsonl", id(3)));
        let last = meta(Some((&id(2), 4, None)));
        fs::write(&fork, last.clone() + "end\n").unwrap();
        let expected = [&own, &meta(None), lines[0], "{\"ordinal\":3}\n"].concat();
        assert_eq!(text(&same), expected);
        assert_eq!(text(&fork), last.clone() + &expected + "end\n");
        // Part of it, over the border of two files.
        let chain = Chain::open(&fork).unwrap();
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
