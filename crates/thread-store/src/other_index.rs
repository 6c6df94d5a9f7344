//! The index that newer releases of the reference keep of their threads, in the same folder. They look for a thread where it
//! says, and never find one that was moved without a word to it; they take names from there alone.
//!
//! Only rows that are there are changed. What goes wrong is logged, and nothing here depends on it.

use std::path::Path;
use std::time::Duration;

use codex_protocol::ThreadId;
use rusqlite::{Connection, OpenFlags, Params, params};

const FILE: &str = "state_5.sqlite";
/// How long another program may write.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

const SET_PATH: &str = "UPDATE threads SET rollout_path = ?2, archived = ?3, \
                     archived_at = CASE WHEN ?3 THEN CAST(strftime('%s', 'now') AS INTEGER) END WHERE id = ?1";
const SET_NAME: &str = "UPDATE threads SET name = ?2 WHERE id = ?1";

/// Writes where a thread is now.
pub(crate) fn moved(folder: &Path, thread: &ThreadId, path: &Path, is_archived: bool) {
    if let Some(path) = path.to_str() {
        update(
            folder,
            SET_PATH,
            params![thread.as_str(), path, is_archived],
        );
    }
}

/// Writes the name of a thread.
pub(crate) fn named(folder: &Path, thread: &ThreadId, name: &str) {
    update(folder, SET_NAME, params![thread.as_str(), name]);
}

fn update(folder: &Path, statement: &str, parameters: impl Params) {
    // Without the flag that makes a file.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let changed = Connection::open_with_flags(folder.join(FILE), flags).and_then(|index| {
        index.busy_timeout(BUSY_TIMEOUT)?;
        index.execute(statement, parameters)
    });
    if let Err(error) = changed {
        tracing::debug!(%error, "the index of other releases stays as it was");
    }
}
