//! The tables that searches use: which parts of which files contain which pieces of text.
//!
//! They are in a file of their own beside the index, attached to its connection when somebody searches for the first
//! time, and like the index they are a cache. A part is a range of whole lines of one thread; its text is not stored,
//! only the pieces of three characters that occur in it. A match is therefore looked up in the rollout itself.

use std::ops::Range;
use std::path::Path;

use codex_protocol::ThreadId;
use rusqlite::{Connection, OptionalExtension, named_params};

use crate::database::Database;
use crate::record::{FileStamp, ThreadRow};

/// The file name. The number is the version of the tables.
pub(crate) const SEARCH_FILE: &str = "thread-search-1.sqlite";

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS search.files (
  thread TEXT PRIMARY KEY,
  file TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  has_rollbacks INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS search.parts (
  part INTEGER PRIMARY KEY,
  thread TEXT NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER
);
CREATE INDEX IF NOT EXISTS search.parts_of_thread ON parts (thread, start);
CREATE VIRTUAL TABLE IF NOT EXISTS search.grams USING fts5 (
  text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);
";

/// What is known of a thread's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchedFile {
    pub(crate) file: String,
    pub(crate) stamp: FileStamp,
    /// Whether turns were taken back, so that lines may contain text that the thread no longer has.
    pub(crate) has_rollbacks: bool,
}

/// A range of lines of a thread. The last part of a thread has no end: it grows with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextPart {
    pub(crate) part: i64,
    pub(crate) start: u64,
    pub(crate) stop: Option<u64>,
}

impl TextPart {
    pub(crate) fn range(self) -> Range<u64> {
        self.start..self.stop.unwrap_or(u64::MAX)
    }
}

/// Parts that have all pieces of a term, by number.
#[derive(Debug, Default)]
pub(crate) struct PartsWithTerm {
    parts: Vec<i64>,
    /// Whether no other part has them.
    pub(crate) are_all: bool,
}

impl PartsWithTerm {
    /// Whether a part has them; none if that is not known.
    pub(crate) fn contains(&self, part: i64) -> Option<bool> {
        let is_known = self.are_all || self.parts.last().is_some_and(|last| part <= *last);
        is_known.then(|| self.parts.binary_search(&part).is_ok())
    }
}

/// The attached tables.
pub(crate) struct SearchTables<'a>(&'a Connection);

impl Database {
    /// Attaches the tables, from memory if the file cannot be written.
    pub(crate) fn attach_search(&self, path: &Path) -> rusqlite::Result<()> {
        if self.has_search()? {
            return Ok(());
        }
        let _ = codex_private_files::ensure(path);
        let attach = |name: &str| {
            let sql = "ATTACH DATABASE :name AS search";
            let attached = self
                .connection()
                .execute(sql, named_params! { ":name": name });
            attached.map(drop)
        };
        attach(&path.to_string_lossy()).or_else(|_| attach(":memory:"))?;
        let pragmas = "PRAGMA search.journal_mode = WAL; PRAGMA search.synchronous = NORMAL;";
        self.connection().execute_batch(pragmas)?;
        self.connection().execute_batch(TABLES)
    }

    fn has_search(&self) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM pragma_database_list WHERE name = 'search'";
        let found = self.connection().query_row(sql, [], |_| Ok(()));
        Ok(found.optional()?.is_some())
    }

    /// The tables, which must be attached.
    pub(crate) fn search_tables(&self) -> SearchTables<'_> {
        SearchTables(self.connection())
    }
}

impl SearchTables<'_> {
    pub(crate) fn file(&self, thread: &ThreadId) -> rusqlite::Result<Option<SearchedFile>> {
        let sql =
            "SELECT file, size, modified, has_rollbacks FROM search.files WHERE thread = :thread";
        let mut statement = self.0.prepare_cached(sql)?;
        let found = statement.query_row(named_params! { ":thread": thread.as_str() }, |row| {
            Ok(SearchedFile {
                file: row.get("file")?,
                stamp: FileStamp {
                    size: row.get("size")?,
                    modified: row.get("modified")?,
                },
                has_rollbacks: row.get("has_rollbacks")?,
            })
        });
        found.optional()
    }

    pub(crate) fn put_file(&self, row: &ThreadRow, has_rollbacks: bool) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO search.files (thread, file, size, modified, has_rollbacks) \
             VALUES (:thread, :file, :size, :modified, :has_rollbacks)";
        let values = named_params! {
            ":thread": row.id.as_str(),
            ":file": row.file,
            ":size": row.stamp.size,
            ":modified": row.stamp.modified,
            ":has_rollbacks": has_rollbacks,
        };
        self.0.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Threads whose current text is not in the tables, newest first.
    pub(crate) fn unread(&self, limit: usize) -> rusqlite::Result<Vec<ThreadId>> {
        let sql = "SELECT t.id FROM threads t LEFT JOIN search.files s ON s.thread = t.id \
             WHERE t.preview IS NOT NULL AND (s.size IS NOT t.size OR s.modified IS NOT t.modified) \
             ORDER BY t.created_at DESC LIMIT :limit";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut statement = self.0.prepare_cached(sql)?;
        let ids = statement.query_map(named_params! { ":limit": limit }, |row| {
            row.get("id").map(ThreadId)
        })?;
        ids.collect()
    }

    /// Threads in the tables that the index no longer has.
    pub(crate) fn forgotten(&self) -> rusqlite::Result<Vec<ThreadId>> {
        let sql = "SELECT thread FROM search.files \
             WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = thread)";
        let mut statement = self.0.prepare_cached(sql)?;
        let ids = statement.query_map([], |row| row.get("thread").map(ThreadId))?;
        ids.collect()
    }

    /// The parts of a thread, in their order.
    pub(crate) fn parts(&self, thread: &ThreadId) -> rusqlite::Result<Vec<TextPart>> {
        let sql =
            "SELECT part, start, stop FROM search.parts WHERE thread = :thread ORDER BY start";
        let mut statement = self.0.prepare_cached(sql)?;
        let parts = statement.query_map(named_params! { ":thread": thread.as_str() }, |row| {
            let offset = |at: i64| at.unsigned_abs();
            Ok(TextPart {
                part: row.get("part")?,
                start: offset(row.get("start")?),
                stop: row.get::<_, Option<i64>>("stop")?.map(offset),
            })
        })?;
        parts.collect()
    }

    pub(crate) fn add_part(
        &self,
        thread: &ThreadId,
        start: u64,
        stop: Option<u64>,
        text: &str,
    ) -> rusqlite::Result<()> {
        let offset = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let sql = "INSERT INTO search.parts (thread, start, stop) VALUES (:thread, :start, :stop)";
        let values = named_params! {
            ":thread": thread.as_str(),
            ":start": offset(start),
            ":stop": stop.map(offset),
        };
        self.0.prepare_cached(sql)?.execute(values)?;
        let sql = "INSERT INTO search.grams (rowid, text) VALUES (:part, :text)";
        let values = named_params! { ":part": self.0.last_insert_rowid(), ":text": text };
        self.0.prepare_cached(sql)?.execute(values).map(drop)
    }

    pub(crate) fn remove_part(&self, part: i64) -> rusqlite::Result<()> {
        for sql in [
            "DELETE FROM search.grams WHERE rowid = :part",
            "DELETE FROM search.parts WHERE part = :part",
        ] {
            let mut statement = self.0.prepare_cached(sql)?;
            statement.execute(named_params! { ":part": part })?;
        }
        Ok(())
    }

    pub(crate) fn remove_thread(&self, thread: &ThreadId) -> rusqlite::Result<()> {
        for part in self.parts(thread)? {
            self.remove_part(part.part)?;
        }
        let sql = "DELETE FROM search.files WHERE thread = :thread";
        let mut statement = self.0.prepare_cached(sql)?;
        let thread = named_params! { ":thread": thread.as_str() };
        statement.execute(thread).map(drop)
    }

    /// The parts that have all pieces of a term, the first `most` of them.
    pub(crate) fn parts_with(&self, grams: &str, most: usize) -> rusqlite::Result<PartsWithTerm> {
        let sql =
            "SELECT rowid FROM search.grams WHERE grams MATCH :grams ORDER BY rowid LIMIT :limit";
        let limit = i64::try_from(most + 1).unwrap_or(i64::MAX);
        let mut statement = self.0.prepare_cached(sql)?;
        let values = named_params! { ":grams": grams, ":limit": limit };
        let parts = statement.query_map(values, |row| row.get("rowid"))?;
        let parts = parts.collect::<rusqlite::Result<Vec<i64>>>()?;
        Ok(PartsWithTerm {
            are_all: parts.len() <= most,
            parts,
        })
    }

    /// The threads of these parts.
    pub(crate) fn threads_of(&self, parts: &PartsWithTerm) -> rusqlite::Result<Vec<ThreadId>> {
        let mut statement = self
            .0
            .prepare_cached("SELECT thread FROM search.parts WHERE part = :part")?;
        let mut threads = Vec::new();
        for part in &parts.parts {
            let thread: String =
                statement.query_row(named_params! { ":part": part }, |row| row.get("thread"))?;
            let thread = ThreadId(thread);
            if threads.last() != Some(&thread) {
                threads.push(thread);
            }
        }
        Ok(threads)
    }

    /// Whether a part has all pieces of a term.
    pub(crate) fn has(&self, part: i64, grams: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM search.grams WHERE grams MATCH :grams AND rowid = :part";
        let mut statement = self.0.prepare_cached(sql)?;
        statement.exists(named_params! { ":grams": grams, ":part": part })
    }
}
