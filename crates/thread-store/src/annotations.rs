//! Names and git facts that users set for threads, in JSONL files that outlive the index. Each file is
//! append-only; the newest line of a thread applies.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use codex_protocol::{GitInfo, ThreadId};
use codex_rollout::append_line;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::database::Database;
use crate::line_reader::LineReader;

/// The file of names, which other programs use too.
const NAMES: &str = "session_index.jsonl";
/// The file of git facts.
const METADATA: &str = "thread_metadata.jsonl";

#[derive(Deserialize)]
struct NameLine {
    id: ThreadId,
    thread_name: String,
}

#[derive(Serialize, Deserialize)]
struct GitLine {
    id: ThreadId,
    git: GitInfo,
    #[serde(default)]
    updated_at: String,
}

/// Sets the git facts of a thread.
///
/// # Errors
/// The file cannot be written.
pub fn set_git(home: &Path, id: &ThreadId, git: &GitInfo, at: Timestamp) -> io::Result<()> {
    let line = GitLine {
        id: id.clone(),
        git: git.clone(),
        updated_at: format!("{at:.9}"),
    };
    append_line(&home.join(METADATA), &line)
}

/// Applies lines that were added since the last call to the index.
pub(crate) fn catch_up(home: &Path, database: &Database) -> rusqlite::Result<()> {
    catch_up_with(home, NAMES, database, |line| {
        let line: NameLine = serde_json::from_slice(line).ok()?;
        let name = line.thread_name.trim();
        (!name.is_empty()).then(|| Annotation::Name(line.id, name.to_owned()))
    })?;
    catch_up_with(home, METADATA, database, |line| {
        let line: GitLine = serde_json::from_slice(line).ok()?;
        Some(Annotation::Git(line.id, line.git))
    })
}

/// One annotation of a thread.
pub(crate) enum Annotation {
    Name(ThreadId, String),
    Git(ThreadId, GitInfo),
}

/// How far a file was read, and the identity of that file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileProgress {
    pub(crate) inode: i64,
    pub(crate) offset: i64,
}

fn catch_up_with(
    home: &Path,
    name: &str,
    database: &Database,
    read: impl Fn(&[u8]) -> Option<Annotation>,
) -> rusqlite::Result<()> {
    let before = database.progress(name)?;
    let Some((file, inode, size)) = opened(&home.join(name), before) else {
        return Ok(());
    };
    let is_same = inode == before.inode && size >= before.offset;
    let offset = if is_same { before.offset } else { 0 };
    let mut lines = LineReader::new(file, offset.unsigned_abs(), u64::MAX);
    database.atomically(|| {
        if !is_same {
            database.clear_annotations(name == NAMES)?;
        }
        // A read error is retried from the same offset the next time.
        while let Ok(Some(line)) = lines.next() {
            if let Some(annotation) = read(line) {
                database.put_annotation(&annotation)?;
            }
        }
        let offset = i64::try_from(lines.offset()).unwrap_or_default();
        database.set_progress(name, FileProgress { inode, offset })
    })
}

/// The file, positioned where reading continues; none if it has not changed.
fn opened(path: &Path, before: FileProgress) -> Option<(File, i64, i64)> {
    let found = path.metadata().ok();
    let state = |metadata: &std::fs::Metadata| {
        let size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
        (
            codex_system::file::file_number(metadata).cast_signed(),
            size,
        )
    };
    let (inode, size) = found.as_ref().map(state)?;
    if (inode, size) == (before.inode, before.offset) {
        return None;
    }
    let mut file = codex_regular_file::open(path).ok()?;
    if inode == before.inode && size >= before.offset {
        file.seek(SeekFrom::Start(before.offset.unsigned_abs()))
            .ok()?;
    }
    Some((file, inode, size))
}
