//! What people say about threads, in files of their own that outlive the index: lines of JSON,
//! appended to, the newest line of a thread counts.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use codex_protocol::{GitInfo, ThreadId};
use codex_rollout::append_line;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::database::Database;
use crate::lines::Lines;

/// The names, which other programs read and write too.
const NAMES: &str = "session_index.jsonl";
/// The git facts.
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

/// Says what the repository of a thread is, in place of what was known.
///
/// # Errors
/// The file cannot be written.
pub fn say_git(home: &Path, id: &ThreadId, git: &GitInfo, at: Timestamp) -> io::Result<()> {
    let line = GitLine {
        id: id.clone(),
        git: git.clone(),
        updated_at: format!("{at:.9}"),
    };
    append_line(&home.join(METADATA), &line)
}

/// Takes what was said since the last time into the index.
pub(crate) fn catch_up(home: &Path, database: &Database) -> rusqlite::Result<()> {
    catch_up_with(home, NAMES, database, |line| {
        let line: NameLine = serde_json::from_slice(line).ok()?;
        let name = line.thread_name.trim();
        (!name.is_empty()).then(|| Said::Name(line.id, name.to_owned()))
    })?;
    catch_up_with(home, METADATA, database, |line| {
        let line: GitLine = serde_json::from_slice(line).ok()?;
        Some(Said::Git(line.id, line.git))
    })
}

/// One thing that was said.
pub(crate) enum Said {
    Name(ThreadId, String),
    Git(ThreadId, GitInfo),
}

/// How far a file was read, and which file that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) inode: i64,
    pub(crate) offset: i64,
}

fn catch_up_with(
    home: &Path,
    name: &str,
    database: &Database,
    read: impl Fn(&[u8]) -> Option<Said>,
) -> rusqlite::Result<()> {
    let before = database.progress(name)?;
    let Some((file, inode, size)) = opened(&home.join(name), before) else {
        return Ok(());
    };
    let is_same = inode == before.inode && size >= before.offset;
    let offset = if is_same { before.offset } else { 0 };
    let mut lines = Lines::new(file, offset.unsigned_abs(), u64::MAX);
    database.atomically(|| {
        if !is_same {
            database.forget_said(name == NAMES)?;
        }
        // A file that cannot be read to its end is read on from there the next time.
        while let Ok(Some(line)) = lines.next() {
            if let Some(said) = read(line) {
                database.say(&said)?;
            }
        }
        let offset = i64::try_from(lines.offset()).unwrap_or_default();
        database.set_progress(name, Progress { inode, offset })
    })
}

/// The file at the place to read on from, unless there is nothing new in it.
fn opened(path: &Path, before: Progress) -> Option<(File, i64, i64)> {
    let found = path.metadata().ok();
    let state = |metadata: &std::fs::Metadata| {
        let size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
        (inode_of(metadata), size)
    };
    let (inode, size) = found.as_ref().map(state)?;
    if (inode, size) == (before.inode, before.offset) {
        return None;
    }
    let mut file = File::open(path).ok()?;
    if inode == before.inode && size >= before.offset {
        file.seek(SeekFrom::Start(before.offset.unsigned_abs()))
            .ok()?;
    }
    Some((file, inode, size))
}

#[cfg(unix)]
fn inode_of(metadata: &std::fs::Metadata) -> i64 {
    std::os::unix::fs::MetadataExt::ino(metadata).cast_signed()
}

/// A file that was replaced is told by its size only.
#[cfg(not(unix))]
fn inode_of(_: &std::fs::Metadata) -> i64 {
    0
}
