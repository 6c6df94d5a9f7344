//! The SQLite database: notes, memory modes and leases. It is created by the first change.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use thiserror::Error;

use crate::note::Note;

/// The file name in the folder of databases.
const FILE: &str = "memories.sqlite";
/// How long a statement waits for other processes.
const TIME_LIMIT: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS notes (
  thread TEXT PRIMARY KEY, thread_updated_at INTEGER NOT NULL, made_at INTEGER NOT NULL, path TEXT NOT NULL,
  cwd TEXT NOT NULL, raw_memory TEXT NOT NULL, summary TEXT NOT NULL, slug TEXT NOT NULL,
  uses INTEGER NOT NULL DEFAULT 0, used_at INTEGER, is_consolidated INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (
  work TEXT PRIMARY KEY, owner TEXT NOT NULL, ends_at INTEGER NOT NULL, retry_at INTEGER NOT NULL,
  failures INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS modes (thread TEXT PRIMARY KEY, mode TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS consolidated (id INTEGER PRIMARY KEY CHECK (id = 0), digest TEXT NOT NULL);
";

/// The database of memories could not be used.
#[derive(Debug, Error)]
pub enum MemoryStoreError {
    #[error("the database of memories cannot be read or written: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("the database of memories cannot be kept private: {0}")]
    Private(#[from] std::io::Error),
}

/// Whether memories are made of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryMode {
    /// They are.
    #[default]
    Enabled,
    /// The user does not want it.
    Disabled,
    /// The thread has texts of others, which the settings exclude.
    Polluted,
}

impl MemoryMode {
    fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Polluted => "polluted",
        }
    }

    /// Unknown names are modes of later versions.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "enabled" => Self::Enabled,
            "polluted" => Self::Polluted,
            _ => Self::Disabled,
        }
    }
}

/// Notes about threads, memory modes and leases. Every method blocks for the length of a transaction.
#[derive(Debug)]
pub struct MemoryStore {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
    /// Whether this process is making memories.
    pub(crate) is_running: AtomicBool,
}

impl MemoryStore {
    /// The database in a folder, which is not opened yet.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE),
            connection: Mutex::new(None),
            is_running: AtomicBool::new(false),
        }
    }

    /// The memory mode of a thread.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn mode(&self, thread: &str) -> Result<MemoryMode, MemoryStoreError> {
        let name: Option<String> = self.read(|connection| {
            let sql = "SELECT mode FROM modes WHERE thread = :thread";
            let params = named_params! { ":thread": thread };
            connection
                .query_row(sql, params, |row| row.get(0))
                .optional()
        })?;
        Ok(name.map_or(MemoryMode::Enabled, |name| MemoryMode::named(&name)))
    }

    /// Sets the memory mode of a thread. What was noted of a thread that is not enabled is forgotten.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn set_mode(&self, thread: &str, mode: MemoryMode) -> Result<(), MemoryStoreError> {
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO modes (thread, mode) VALUES (:thread, :mode)",
                named_params! { ":thread": thread, ":mode": mode.name() },
            )?;
            if mode != MemoryMode::Enabled {
                delete_note(connection, thread)?;
            }
            Ok(())
        })
    }

    /// The summary of a thread, if notes were taken of it.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn summary(&self, thread: &str) -> Result<Option<String>, MemoryStoreError> {
        self.read(|connection| {
            let sql = "SELECT summary FROM notes WHERE thread = :thread AND summary <> ''";
            let params = named_params! { ":thread": thread };
            connection
                .query_row(sql, params, |row| row.get(0))
                .optional()
        })
    }

    /// The number of threads whose notes are part of the files.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn consolidated_threads(&self) -> Result<u32, MemoryStoreError> {
        let count: Option<u32> = self.read(|connection| {
            let sql = "SELECT count(*) FROM notes WHERE is_consolidated";
            connection.query_row(sql, [], |row| row.get(0)).optional()
        })?;
        Ok(count.unwrap_or_default())
    }

    /// Notes that an answer was based on what is known from these threads.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn note_uses(&self, threads: &[String]) -> Result<(), MemoryStoreError> {
        if !self.path.exists() {
            return Ok(());
        }
        self.write(|connection| {
            for thread in threads {
                connection.execute(
                    "UPDATE notes SET uses = uses + 1, used_at = :now WHERE thread = :thread",
                    named_params! { ":thread": thread, ":now": now() },
                )?;
            }
            Ok(())
        })
    }

    /// Deletes everything about a thread.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn forget_thread(&self, thread: &str) -> Result<(), MemoryStoreError> {
        if !self.path.exists() {
            return Ok(());
        }
        self.write(|connection| {
            delete_note(connection, thread)?;
            let sql = "DELETE FROM modes WHERE thread = :thread";
            connection.execute(sql, named_params! { ":thread": thread })?;
            Ok(())
        })
    }

    /// Forgets all memories, the files in the folder `memories` of the home folder included. Memory modes stay. Work that
    /// is going on loses its lease.
    ///
    /// # Errors
    /// The database or the files cannot be changed.
    pub fn reset(&self, home: &Path) -> Result<(), MemoryStoreError> {
        if self.path.exists() {
            self.write(|connection| {
                connection.execute_batch(
                    "DELETE FROM notes; DELETE FROM leases; DELETE FROM consolidated;",
                )
            })?;
        }
        Ok(crate::folder::clear(home)?)
    }

    /// When the thread was last changed before notes were taken of it.
    pub(crate) fn noted_at(&self, thread: &str) -> Result<Option<i64>, MemoryStoreError> {
        self.read(|connection| {
            let sql = "SELECT thread_updated_at FROM notes WHERE thread = :thread";
            let params = named_params! { ":thread": thread };
            connection
                .query_row(sql, params, |row| row.get(0))
                .optional()
        })
    }

    /// Stores notes in place of earlier ones about the thread.
    pub(crate) fn put(&self, note: &Note) -> Result<(), MemoryStoreError> {
        self.write(|connection| {
            connection.execute(
                "INSERT INTO notes (thread, thread_updated_at, made_at, path, cwd, raw_memory, summary, slug) \
                 VALUES (:thread, :updated, :made, :path, :cwd, :raw, :summary, :slug) \
                 ON CONFLICT (thread) DO UPDATE SET thread_updated_at = :updated, made_at = :made, path = :path, \
                 cwd = :cwd, raw_memory = :raw, summary = :summary, slug = :slug",
                named_params! {
                    ":thread": note.thread,
                    ":updated": note.thread_updated_at,
                    ":made": note.made_at,
                    ":path": note.path,
                    ":cwd": note.cwd,
                    ":raw": note.raw_memory,
                    ":summary": note.summary,
                    ":slug": note.slug,
                },
            )?;
            Ok(())
        })
    }

    /// The notes for consolidation: those that were used or made since, the most used and newest first, up to a number.
    pub(crate) fn best(&self, limit: u32, since: i64) -> Result<Vec<Note>, MemoryStoreError> {
        let notes = self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT * FROM notes WHERE raw_memory <> '' AND coalesce(used_at, made_at) >= :since \
                 ORDER BY uses DESC, coalesce(used_at, thread_updated_at) DESC, thread DESC LIMIT :limit",
            )?;
            let params = named_params! { ":since": since, ":limit": limit };
            let rows = statement.query_map(params, note_of)?;
            rows.collect::<rusqlite::Result<Vec<_>>>().map(Some)
        })?;
        Ok(notes.unwrap_or_default())
    }

    /// What tells the last consolidated notes from others.
    pub(crate) fn digest(&self) -> Result<Option<String>, MemoryStoreError> {
        self.read(|connection| {
            let sql = "SELECT digest FROM consolidated";
            connection.query_row(sql, [], |row| row.get(0)).optional()
        })
    }

    /// Stores that these notes are part of the files.
    pub(crate) fn set_consolidated(
        &self,
        digest: &str,
        notes: &[Note],
    ) -> Result<(), MemoryStoreError> {
        self.write(|connection| {
            connection.execute("UPDATE notes SET is_consolidated = 0", [])?;
            for note in notes {
                connection.execute(
                    "UPDATE notes SET is_consolidated = 1 WHERE thread = :thread",
                    named_params! { ":thread": note.thread },
                )?;
            }
            connection.execute(
                "INSERT OR REPLACE INTO consolidated (id, digest) VALUES (0, :digest)",
                named_params! { ":digest": digest },
            )?;
            Ok(())
        })
    }

    /// Runs a query. Without a database there is no result.
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Result<Option<T>, MemoryStoreError> {
        if !self.path.exists() {
            return Ok(None);
        }
        self.with_connection(|connection| work(connection))
    }

    /// Runs a writing transaction.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, MemoryStoreError> {
        self.with_connection(|connection| {
            let behavior = rusqlite::TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            let outcome = work(&transaction)?;
            transaction.commit()?;
            Ok(outcome)
        })
    }

    fn with_connection<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, MemoryStoreError> {
        let mut slot = self.connection.lock();
        let connection = match slot.take() {
            Some(connection) => connection,
            None => open(&self.path)?,
        };
        Ok(work(slot.insert(connection))?)
    }
}

fn open(path: &Path) -> Result<Connection, MemoryStoreError> {
    codex_private_files::ensure(path)?;
    let connection = Connection::open(path)?;
    connection.busy_timeout(TIME_LIMIT)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

fn delete_note(connection: &Connection, thread: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM notes WHERE thread = :thread";
    connection.execute(sql, named_params! { ":thread": thread })?;
    Ok(())
}

fn note_of(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note {
        thread: row.get("thread")?,
        thread_updated_at: row.get("thread_updated_at")?,
        made_at: row.get("made_at")?,
        path: row.get("path")?,
        cwd: row.get("cwd")?,
        raw_memory: row.get("raw_memory")?,
        summary: row.get("summary")?,
        slug: row.get("slug")?,
    })
}

/// The current time in Unix seconds.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(thread: &str, made_at: i64) -> Note {
        Note {
            thread: thread.to_owned(),
            made_at,
            raw_memory: "raw".to_owned(),
            summary: format!("about {thread}"),
            ..Note::default()
        }
    }

    #[test]
    fn reading_creates_no_database() {
        let folder = tempfile::tempdir().unwrap();
        let store = MemoryStore::in_folder(folder.path());
        assert_eq!(store.mode("t").unwrap(), MemoryMode::Enabled);
        assert_eq!(store.consolidated_threads().unwrap(), 0);
        store.note_uses(&["t".to_owned()]).unwrap();
        store.forget_thread("t").unwrap();
        assert!(!folder.path().join(FILE).exists());
    }

    #[test]
    fn used_notes_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = MemoryStore::in_folder(folder.path());
        for (thread, made_at) in [("old", 5), ("a", 20), ("b", 30), ("c", 40)] {
            store.put(&note(thread, made_at)).unwrap();
        }
        let threads = |limit, since| {
            let notes = store.best(limit, since).unwrap();
            let ids = notes.into_iter().map(|note| note.thread);
            ids.collect::<Vec<_>>()
        };
        store.note_uses(&["a".to_owned()]).unwrap();
        assert_eq!(threads(9, 10), ["a", "c", "b"]);
        assert_eq!(threads(2, 10), ["a", "c"]);
        store.note_uses(&["old".to_owned()]).unwrap();
        assert_eq!(threads(2, 10)[..1], ["old"]);
    }

    #[test]
    fn disabling_a_thread_deletes_its_notes() {
        let folder = tempfile::tempdir().unwrap();
        let store = MemoryStore::in_folder(folder.path());
        for thread in ["a", "b", "c"] {
            store.put(&note(thread, 1)).unwrap();
        }
        assert_eq!(store.summary("a").unwrap().unwrap(), "about a");
        store.set_mode("a", MemoryMode::Disabled).unwrap();
        store.forget_thread("b").unwrap();
        assert_eq!(store.mode("a").unwrap(), MemoryMode::Disabled);
        for thread in ["a", "b"] {
            assert_eq!(store.summary(thread).unwrap(), None);
        }
        let notes = store.best(9, 0).unwrap();
        store.set_consolidated("digest", &notes).unwrap();
        assert_eq!(store.consolidated_threads().unwrap(), 1);
        assert_eq!(store.digest().unwrap().unwrap(), "digest");
        store.reset(folder.path()).unwrap();
        assert_eq!(store.consolidated_threads().unwrap(), 0);
        assert_eq!(store.mode("a").unwrap(), MemoryMode::Disabled);
    }
}
