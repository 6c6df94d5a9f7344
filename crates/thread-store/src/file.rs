//! Reads facts from one file: from its head, its tail, or the part that was added.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use codex_protocol::ThreadId;

use crate::facts_builder::FactsBuilder;
use crate::line_reader::LineReader;
use crate::record::{FileStamp, ThreadFacts, ThreadRecord, ThreadRow};

/// The metadata must be among the first this many lines.
const META_LINES: usize = 10;
/// How many more lines are searched for the first message.
const MESSAGE_LINES: usize = 200;
/// Limit on the bytes read from the head.
const HEAD: u64 = 32 * 1024 * 1024;
/// How many bytes are read from the tail.
const TAIL: u64 = 64 * 1024;
/// Limit on the bytes read from the part that was added.
const MAX_ADDED_BYTES: u64 = 4 * 1024 * 1024;

/// Why a file has no thread record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// An operating system error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a rollout.
    #[error("{0}")]
    NoRollout(String),
}

/// Reads the facts of a thread from its file. Names and git facts from annotation files are not included.
///
/// # Errors
/// The file cannot be read or is not a rollout.
pub fn read_record(path: &Path) -> Result<ThreadRecord, RecordError> {
    path.metadata()?;
    let id = codex_rollout::id_of(path);
    let id =
        id.ok_or_else(|| RecordError::NoRollout("its name is not that of a rollout".into()))?;
    let row = read_row(path, &id, String::new(), String::new())?;
    if let Some(problem) = row.problem {
        return Err(RecordError::NoRollout(problem));
    }
    let mut record = row.into_record(Path::new(""), None);
    path.clone_into(&mut record.path);
    Ok(record)
}

/// Reads the head and the tail of a file into a row.
pub(crate) fn read_row(
    path: &Path,
    id: &ThreadId,
    folder: String,
    file: String,
) -> io::Result<ThreadRow> {
    let opened = codex_regular_file::open(path)?;
    let stamp = FileStamp::from_metadata(&opened.metadata()?);
    let mut builder = FactsBuilder {
        thread: id,
        facts: ThreadFacts::default(),
        has_meta: false,
    };
    read_base(path, &mut builder)?;
    let (opened, head_end) = read_head(opened, &mut builder)?;
    let size = u64::try_from(stamp.size).unwrap_or_default();
    let scanned = match head_end {
        end if end >= size || !builder.has_meta => end,
        end => read_from(
            opened,
            end.max(size.saturating_sub(TAIL)),
            end,
            &mut builder,
        )?,
    };
    let problem = if builder.has_meta {
        None
    } else if stamp.size == 0 {
        Some("the file is empty".to_owned())
    } else {
        Some("no line at the head of the file has the metadata of the thread".to_owned())
    };
    Ok(ThreadRow {
        id: id.clone(),
        folder,
        file,
        stamp,
        scanned: i64::try_from(scanned).unwrap_or(i64::MAX),
        problem,
        facts: builder.facts,
    })
}

/// Updates a row from what was added to its file. Reads the whole file if it was replaced.
pub(crate) fn update_row(path: &Path, row: ThreadRow) -> io::Result<ThreadRow> {
    let mut opened = codex_regular_file::open(path)?;
    let stamp = FileStamp::from_metadata(&opened.metadata()?);
    let only_added = row.facts.preview.is_some()
        && stamp.size >= row.scanned
        && row.scanned > 0
        && ends_line_at(&mut opened, row.scanned)?;
    if !only_added {
        return read_row(path, &row.id, row.folder, row.file);
    }
    let (size, scanned) = (stamp.size.unsigned_abs(), row.scanned.unsigned_abs());
    let from = if size - scanned <= MAX_ADDED_BYTES {
        scanned
    } else {
        size - TAIL
    };
    let mut builder = FactsBuilder {
        thread: &row.id,
        facts: row.facts,
        has_meta: true,
    };
    let scanned = read_from(opened, from, scanned, &mut builder)?;
    let facts = builder.facts;
    Ok(ThreadRow {
        stamp,
        scanned: i64::try_from(scanned).unwrap_or(i64::MAX),
        problem: None,
        facts,
        ..row
    })
}

/// Reads the first message from the base of a thread.
fn read_base(path: &Path, builder: &mut FactsBuilder<'_>) -> io::Result<()> {
    if !codex_rollout::RolloutChain::open(path)?.has_base() {
        return Ok(());
    }
    let mut count = 0;
    let read = codex_rollout::scan(path, |line| {
        builder.line(line.bytes());
        count += 1;
        if builder.has_head() || count >= META_LINES + MESSAGE_LINES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    match read {
        Err(codex_rollout::RolloutLoadError::Io { source, .. }) => Err(source),
        _ => Ok(()),
    }
}

fn read_head(file: File, builder: &mut FactsBuilder<'_>) -> io::Result<(File, u64)> {
    let mut lines = LineReader::new(file, 0, HEAD);
    let mut count = 0;
    while !builder.has_head() {
        let limit = if builder.has_meta {
            META_LINES + MESSAGE_LINES
        } else {
            META_LINES
        };
        if count >= limit {
            break;
        }
        let Some(line) = lines.next()? else {
            // The last line may be complete except for its line break.
            builder.line(lines.rest());
            break;
        };
        builder.line(line);
        count += usize::from(!line.trim_ascii().is_empty());
    }
    let offset = lines.offset();
    Ok((lines.into_file(), offset))
}

/// Reads the lines after `from`. The first line is skipped as incomplete unless `from` equals `known`, a known
/// line end. Returns the end of the last whole line.
fn read_from(
    mut file: File,
    from: u64,
    known: u64,
    builder: &mut FactsBuilder<'_>,
) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut lines = LineReader::new(file, from, u64::MAX);
    if from != known && lines.next()?.is_none() {
        return Ok(known);
    }
    while let Some(line) = lines.next()? {
        builder.line(line);
    }
    builder.line(lines.rest());
    Ok(lines.offset())
}

fn ends_line_at(file: &mut File, offset: i64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(offset.unsigned_abs() - 1))?;
    io::Read::read_exact(file, &mut last)?;
    Ok(last == *b"\n")
}
