//! The outlines of large files in the home folder. Each can be made again from its file, so it may be deleted.
//!
//! A file has a line of JSON, a record for each turn, and a digest. Anything that is not exactly that is ignored.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::{Buf, BufMut};
use codex_core::NeededLines;
use codex_projection::{StoredRange, TurnRanges};
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use serde::{Deserialize, Serialize};

use super::Outline;
use super::version::FileVersion;

const FOLDER: &str = "outlines";
/// Changed whenever outlines are made in another way.
const FORMAT: u32 = 2;
/// The most bytes that are read.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The number of files. The oldest is removed for a new one.
const MAX_FILES: usize = 128;
/// Stands for no offset.
const NONE: u64 = u64::MAX;

/// The first line.
#[derive(Serialize, Deserialize)]
struct OutlineHead {
    format: u32,
    version: FileVersion,
    last_line: u64,
    turns: usize,
    late: Vec<(usize, u64)>,
    needed: NeededLines,
    preview: Option<u64>,
}

#[derive(Debug)]
pub(super) struct OutlineFolder(PathBuf);

impl OutlineFolder {
    pub(super) fn of_home(home: &Path) -> Self {
        Self(home.join(FOLDER))
    }

    /// The stored outline of a file; none if there is none that can be used.
    pub(super) fn read(&self, file: &Path) -> Option<Outline> {
        let stored = codex_regular_file::open(&self.path_of(file)?).ok()?;
        let mut bytes = Vec::new();
        stored.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        decode(file, &bytes)
    }

    pub(super) fn write(&self, outline: &Outline) -> io::Result<()> {
        let Some(path) = self.path_of(&outline.file) else {
            return Ok(());
        };
        codex_private_files::create_dir_all(&self.0)?;
        if !path.exists() {
            self.make_room()?;
        }
        let new = path.with_extension(format!("{}.tmp", std::process::id()));
        codex_private_files::write(&new, &encode(outline)?)?;
        // Replacing a file would wait for the disk.
        self.remove(&outline.file);
        fs::rename(&new, &path)
    }

    pub(super) fn remove(&self, file: &Path) {
        if let Some(path) = self.path_of(file) {
            // There may be none.
            let _ = fs::remove_file(path);
        }
    }

    fn path_of(&self, file: &Path) -> Option<PathBuf> {
        Some(self.0.join(file.file_stem()?).with_extension("outline"))
    }

    /// Removes the oldest files.
    fn make_room(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in codex_mounts::read_dir(&self.0)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort_unstable();
        let excess = (files.len() + 1).saturating_sub(MAX_FILES);
        let oldest = files.into_iter().take(excess);
        oldest
            .into_iter()
            .try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn encode(outline: &Outline) -> io::Result<Vec<u8>> {
    let head = OutlineHead {
        format: FORMAT,
        version: outline.version,
        last_line: outline.last_line,
        turns: outline.ranges.count(),
        late: outline.ranges.stored_late(),
        needed: outline.needed.clone(),
        preview: outline.preview,
    };
    let mut bytes = serde_json::to_vec(&head)?;
    bytes.push(b'\n');
    encode_ranges(&mut bytes, outline.ranges.stored())?;
    let sum = digest(&SHA256, &bytes);
    bytes.put_slice(sum.as_ref());
    Ok(bytes)
}

/// Appends the records of turns.
pub(super) fn encode_ranges<'a>(
    bytes: &mut Vec<u8>,
    ranges: impl Iterator<Item = StoredRange<'a>>,
) -> io::Result<()> {
    for range in ranges {
        let length = u16::try_from(range.turn.len()).map_err(io::Error::other)?;
        bytes.put_u16_le(length);
        bytes.put_slice(range.turn.as_bytes());
        bytes.put_u64_le(range.begin);
        bytes.put_u64_le(range.items);
        bytes.put_u64_le(range.unnamed_turns);
        bytes.put_u8(range.in_reasoning.into());
        bytes.put_u64_le(range.end.unwrap_or(NONE));
    }
    Ok(())
}

fn decode(file: &Path, bytes: &[u8]) -> Option<Outline> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(SHA256_OUTPUT_LEN)?)?;
    if digest(&SHA256, bytes).as_ref() != sum {
        return None;
    }
    let end = memchr::memchr(b'\n', bytes)?;
    let head: OutlineHead = serde_json::from_slice(&bytes[..end]).ok()?;
    if head.format != FORMAT {
        return None;
    }
    let mut rest = &bytes[end + 1..];
    let mut ranges = TurnRanges::default();
    for _ in 0..head.turns {
        let length = rest.try_get_u16_le().ok()?;
        let (turn, after) = rest.split_at_checked(length.into())?;
        rest = after;
        let begin = rest.try_get_u64_le().ok()?;
        ranges.push(&StoredRange {
            turn: std::str::from_utf8(turn).ok()?,
            begin,
            items: rest.try_get_u64_le().ok()?,
            unnamed_turns: rest.try_get_u64_le().ok()?,
            in_reasoning: rest.try_get_u8().ok()? != 0,
            end: rest
                .try_get_u64_le()
                .ok()
                .map(|end| (end != NONE).then_some(end))?,
        });
    }
    ranges.set_late(head.late);
    Some(Outline {
        file: file.to_owned(),
        length: head.version.length,
        version: head.version,
        last_line: head.last_line,
        ranges,
        needed: head.needed,
        preview: head.preview,
    })
}
