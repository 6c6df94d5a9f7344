//! Reading what lists need of one file: its head, its tail, or what was added to it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use codex_protocol::ThreadId;

use crate::digest::Digest;
use crate::lines::Lines;
use crate::record::{Facts, Row, Stamp, ThreadRecord};

/// Within so many lines a file says what it is.
const META_LINES: usize = 10;
/// Within so many lines more its first message comes.
const MESSAGE_LINES: usize = 200;
/// The most that is read of a head.
const HEAD: u64 = 32 * 1024 * 1024;
/// What is read of a tail.
const TAIL: u64 = 64 * 1024;
/// Of what was added no more than this is read.
const ADDED: u64 = 4 * 1024 * 1024;

/// Why a file has no record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no rollout.
    #[error("{0}")]
    NoRollout(String),
}

/// What a file says of its thread, wherever it lies. Names and git facts that were said elsewhere are
/// not in it.
///
/// # Errors
/// The file cannot be read, or it is no rollout.
pub fn read_record(path: &Path) -> Result<ThreadRecord, ReadError> {
    path.metadata()?;
    let id = codex_rollout::id_of(path);
    let id = id.ok_or_else(|| ReadError::NoRollout("its name is not that of a rollout".into()))?;
    let row = read_row(path, &id, String::new(), String::new())?;
    if let Some(problem) = row.problem {
        return Err(ReadError::NoRollout(problem));
    }
    let mut record = row.into_record(Path::new(""), None);
    path.clone_into(&mut record.path);
    Ok(record)
}

/// Reads the head and the tail of a file.
pub(crate) fn read_row(
    path: &Path,
    id: &ThreadId,
    folder: String,
    file: String,
) -> io::Result<Row> {
    let opened = open(path)?;
    let stamp = Stamp::of(&opened.metadata()?);
    let mut digest = Digest {
        thread: id,
        facts: Facts::default(),
        has_meta: false,
    };
    read_base(path, &mut digest)?;
    let (opened, head_end) = read_head(opened, &mut digest)?;
    let size = u64::try_from(stamp.size).unwrap_or_default();
    let scanned = match head_end {
        end if end >= size || !digest.has_meta => end,
        end => read_from(opened, end.max(size.saturating_sub(TAIL)), end, &mut digest)?,
    };
    let problem = match digest.has_meta {
        true => None,
        false if stamp.size == 0 => Some("the file is empty".to_owned()),
        false => Some("no line at its head says what thread it is".to_owned()),
    };
    Ok(Row {
        id: id.clone(),
        folder,
        file,
        stamp,
        scanned: i64::try_from(scanned).unwrap_or(i64::MAX),
        problem,
        facts: digest.facts,
    })
}

/// Reads what was added to a file since `row` was made of it; the whole if it is another file now.
pub(crate) fn read_again(path: &Path, row: Row) -> io::Result<Row> {
    let mut opened = open(path)?;
    let stamp = Stamp::of(&opened.metadata()?);
    let only_added = row.facts.preview.is_some()
        && stamp.size >= row.scanned
        && row.scanned > 0
        && ends_line_at(&mut opened, row.scanned)?;
    if !only_added {
        return read_row(path, &row.id, row.folder, row.file);
    }
    let (size, scanned) = (stamp.size.unsigned_abs(), row.scanned.unsigned_abs());
    let from = match size - scanned <= ADDED {
        true => scanned,
        false => size - TAIL,
    };
    let mut digest = Digest {
        thread: &row.id,
        facts: row.facts,
        has_meta: true,
    };
    let scanned = read_from(opened, from, scanned, &mut digest)?;
    let facts = digest.facts;
    Ok(Row {
        stamp,
        scanned: i64::try_from(scanned).unwrap_or(i64::MAX),
        problem: None,
        facts,
        ..row
    })
}

/// Opens a file and nothing else: a pipe would make whoever opens it wait.
fn open(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        ));
    }
    File::open(path)
}

/// Reads the head of a thread that goes on from another file, for its first message.
fn read_base(path: &Path, digest: &mut Digest<'_>) -> io::Result<()> {
    if !codex_rollout::Chain::open(path)?.is_based() {
        return Ok(());
    }
    let mut count = 0;
    let read = codex_rollout::scan(path, |line| {
        digest.line(line.bytes());
        count += 1;
        match digest.has_head() || count >= META_LINES + MESSAGE_LINES {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    match read {
        Err(codex_rollout::LoadError::Io { source, .. }) => Err(source),
        _ => Ok(()),
    }
}

fn read_head(file: File, digest: &mut Digest<'_>) -> io::Result<(File, u64)> {
    let mut lines = Lines::new(file, 0, HEAD);
    let mut count = 0;
    while !digest.has_head() {
        let limit = match digest.has_meta {
            false => META_LINES,
            true => META_LINES + MESSAGE_LINES,
        };
        if count >= limit {
            break;
        }
        let Some(line) = lines.next()? else {
            // A last line that lacks only its end says what it says.
            digest.line(lines.rest());
            break;
        };
        digest.line(line);
        count += usize::from(!line.trim_ascii().is_empty());
    }
    let offset = lines.offset();
    Ok((lines.into_file(), offset))
}

/// Reads the lines after `from`, of which the first is a torn one unless `from` is `known`, the end of
/// a line. Answers the end of the last whole line.
fn read_from(mut file: File, from: u64, known: u64, digest: &mut Digest<'_>) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut lines = Lines::new(file, from, u64::MAX);
    if from != known && lines.next()?.is_none() {
        return Ok(known);
    }
    while let Some(line) = lines.next()? {
        digest.line(line);
    }
    digest.line(lines.rest());
    Ok(lines.offset())
}

fn ends_line_at(file: &mut File, offset: i64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(offset.unsigned_abs() - 1))?;
    io::Read::read_exact(file, &mut last)?;
    Ok(last == *b"\n")
}
