//! The SQLite file: its tables, rows in and rows out.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use codex_protocol::{GitInfo, ThreadId};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row as SqlRow, ToSql, params, params_from_iter,
};

use crate::kinds::kind_of;
use crate::query::{Descent, Query, SortKey};
use crate::record::{Facts, Row, Stamp};
use crate::said::{Progress, Said};

/// How long another process may hold the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pages kept in memory, in KiB.
const CACHE: i64 = 4096;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS threads (
  id TEXT PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  archived INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  scanned INTEGER NOT NULL,
  kind TEXT NOT NULL,
  provider TEXT,
  workplace TEXT NOT NULL,
  problem TEXT,
  cwd TEXT NOT NULL,
  cli_version TEXT NOT NULL,
  source TEXT NOT NULL,
  nickname TEXT,
  role TEXT,
  parent TEXT,
  forked_from TEXT,
  model TEXT,
  effort TEXT,
  git TEXT,
  logged_name TEXT,
  title TEXT,
  preview TEXT
);
CREATE INDEX IF NOT EXISTS by_folder ON threads (folder);
CREATE INDEX IF NOT EXISTS by_creation ON threads (archived, created_at, id) WHERE preview IS NOT NULL;
CREATE INDEX IF NOT EXISTS by_change ON threads (archived, updated_at, id) WHERE preview IS NOT NULL;
CREATE INDEX IF NOT EXISTS by_workplace ON threads (archived, workplace, created_at, id) WHERE preview IS NOT NULL;
CREATE TABLE IF NOT EXISTS said (id TEXT PRIMARY KEY, name TEXT, git TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS progress (name TEXT PRIMARY KEY, inode INTEGER, offset INTEGER) WITHOUT ROWID;
";

const COLUMNS: &str = "t.id, t.folder, t.file, t.size, t.modified, t.scanned, t.problem, \
     t.created_at, t.cwd, t.cli_version, t.source, t.nickname, t.role, t.forked_from, t.provider, \
     t.model, t.effort, t.git, t.logged_name, t.title, t.preview, s.name, s.git";

const INSERT: &str = "INSERT OR REPLACE INTO threads (id, folder, file, archived, created_at, \
     updated_at, size, modified, scanned, kind, provider, workplace, problem, cwd, cli_version, \
     source, nickname, role, parent, forked_from, model, effort, git, logged_name, title, preview) \
     VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26)";

/// The row that says that every folder was seen once.
const COMPLETE: &str = "complete";

/// Refuses a file whose tables are not ours, as one that is no database.
fn check_tables(connection: &Connection) -> rusqlite::Result<()> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(TABLES)?;
    if tables(connection)? == tables(&ours)? {
        return Ok(());
    }
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
    let reason = "its tables are those of another program".to_owned();
    Err(rusqlite::Error::SqliteFailure(code, Some(reason)))
}

/// How the tables and indexes of a file were made.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// A row and the name that was said of it. What was said of its repository is in it.
pub(crate) type Named = (Row, Option<String>);

/// The open file.
pub(crate) struct Database {
    connection: Connection,
    /// Whether something is being changed as a whole.
    is_changing: Cell<bool>,
}

impl Database {
    /// Opens the file, or makes it.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        // What SQLite puts beside it gets the mode of the file.
        let _ = codex_private_files::ensure(path);
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        Self::set_up(connection)
    }

    /// Opens the file as it is, to look at it.
    pub(crate) fn open_to_read(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self {
            connection,
            is_changing: Cell::new(false),
        })
    }

    /// An index that leaves nothing behind, for a home folder that cannot be written to.
    pub(crate) fn in_memory() -> rusqlite::Result<Self> {
        Self::set_up(Connection::open_in_memory()?)
    }

    fn set_up(connection: Connection) -> rusqlite::Result<Self> {
        connection.pragma_update(None, "cache_size", -CACHE)?;
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables == 0 {
            connection.execute_batch(&format!("BEGIN IMMEDIATE;{TABLES}COMMIT;"))?;
        } else {
            check_tables(&connection)?;
        }
        Ok(Self {
            connection,
            is_changing: Cell::new(false),
        })
    }

    /// Makes several changes at once, or none. Within itself it does nothing.
    pub(crate) fn atomically<T>(
        &self,
        change: impl FnOnce() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        if self.is_changing.get() {
            return change();
        }
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        self.is_changing.set(true);
        let outcome = change();
        self.is_changing.set(false);
        let end = match outcome {
            Ok(_) => self.connection.execute_batch("COMMIT"),
            Err(_) => Ok(()),
        };
        if outcome.is_err() || end.is_err() {
            // Fails where SQLite has rolled back by itself.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcome.and_then(|value| end.map(|()| value))
    }

    /// Whether every folder was seen once.
    pub(crate) fn is_complete(&self) -> rusqlite::Result<bool> {
        Ok(self.progress(COMPLETE)?.offset != 0)
    }

    pub(crate) fn set_complete(&self) -> rusqlite::Result<()> {
        let done = Progress {
            inode: 0,
            offset: 1,
        };
        self.set_progress(COMPLETE, done)
    }

    pub(crate) fn progress(&self, name: &str) -> rusqlite::Result<Progress> {
        let sql = "SELECT inode, offset FROM progress WHERE name = ?1";
        let read = |row: &SqlRow<'_>| {
            Ok(Progress {
                inode: row.get(0)?,
                offset: row.get(1)?,
            })
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row([name], read).optional()?;
        Ok(found.unwrap_or_default())
    }

    pub(crate) fn set_progress(&self, name: &str, progress: Progress) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO progress VALUES (?1, ?2, ?3)";
        let values = params![name, progress.inode, progress.offset];
        self.connection
            .prepare_cached(sql)?
            .execute(values)
            .map(drop)
    }

    pub(crate) fn say(&self, said: &Said) -> rusqlite::Result<()> {
        let (id, column, value) = match said {
            Said::Name(id, name) => (id, "name", name.clone()),
            Said::Git(id, git) => (id, "git", to_json(git)),
        };
        let sql = format!(
            "INSERT INTO said (id, {column}) VALUES (?1, ?2) \
             ON CONFLICT (id) DO UPDATE SET {column} = ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.execute([id.as_str(), &value]).map(drop)
    }

    /// Forgets all names, or else all git facts that were said.
    pub(crate) fn forget_said(&self, names: bool) -> rusqlite::Result<()> {
        let column = if names { "name" } else { "git" };
        let sql = format!("UPDATE said SET {column} = NULL");
        self.connection.execute(&sql, []).map(drop)
    }

    pub(crate) fn put(&self, row: &Row) -> rusqlite::Result<()> {
        let facts = &row.facts;
        let values = params![
            row.id.as_str(),
            row.folder,
            row.file,
            row.is_archived(),
            facts.created_at,
            row.stamp.updated_at(),
            row.stamp.size,
            row.stamp.modified,
            row.scanned,
            kind_of(&facts.source),
            facts.provider,
            workplace(&facts.cwd),
            row.problem,
            facts.cwd,
            facts.cli_version,
            to_json(&facts.source),
            facts.nickname,
            facts.role,
            facts.parent().map(ThreadId::as_str),
            facts.forked_from.as_ref().map(ThreadId::as_str),
            facts.model,
            facts.effort,
            facts.git.as_ref().map(to_json),
            facts.logged_name,
            facts.title,
            facts.preview,
        ];
        self.connection
            .prepare_cached(INSERT)?
            .execute(values)
            .map(drop)
    }

    /// Removes a thread, if its file is this one.
    pub(crate) fn remove(&self, id: &ThreadId, folder: &str, file: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM threads WHERE id = ?1 AND folder = ?2 AND file = ?3";
        let values = [id.as_str(), folder, file];
        self.connection
            .prepare_cached(sql)?
            .execute(values)
            .map(drop)
    }

    /// The threads of a folder: their files and the state in which those were read.
    pub(crate) fn folder(
        &self,
        folder: &str,
    ) -> rusqlite::Result<HashMap<String, (ThreadId, Stamp)>> {
        let sql = "SELECT file, id, size, modified FROM threads WHERE folder = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([folder], |row| {
            let stamp = Stamp {
                size: row.get(2)?,
                modified: row.get(3)?,
            };
            Ok((row.get(0)?, (ThreadId(row.get(1)?), stamp)))
        })?;
        rows.collect()
    }

    /// Every file and the state in which it was read.
    pub(crate) fn stamps(&self) -> rusqlite::Result<HashMap<(String, String), Stamp>> {
        let sql = "SELECT folder, file, size, modified FROM threads";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            let stamp = Stamp {
                size: row.get(2)?,
                modified: row.get(3)?,
            };
            Ok(((row.get(0)?, row.get(1)?), stamp))
        })?;
        rows.collect()
    }

    /// Every folder that a thread lies in.
    pub(crate) fn folders(&self) -> rusqlite::Result<Vec<String>> {
        // From one to the next, where DISTINCT would look at every thread.
        let sql = "WITH RECURSIVE f (folder) AS (SELECT min(folder) FROM threads UNION ALL \
             SELECT (SELECT min(folder) FROM threads t WHERE t.folder > f.folder) FROM f \
             WHERE f.folder IS NOT NULL) SELECT folder FROM f WHERE folder IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        rows.collect()
    }

    pub(crate) fn get(&self, id: &ThreadId) -> rusqlite::Result<Option<Named>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM threads t LEFT JOIN said s ON s.id = t.id WHERE t.id = ?1"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found = statement.query_row([id.as_str()], named);
        found.optional()
    }

    /// What was said of a thread that has no row.
    pub(crate) fn said(
        &self,
        id: &ThreadId,
    ) -> rusqlite::Result<(Option<String>, Option<GitInfo>)> {
        let sql = "SELECT name, git FROM said WHERE id = ?1";
        let read = |row: &SqlRow<'_>| {
            let git: Option<String> = row.get(1)?;
            Ok((
                row.get(0)?,
                git.and_then(|git| serde_json::from_str(&git).ok()),
            ))
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row([id.as_str()], read);
        Ok(found.optional()?.unwrap_or_default())
    }

    /// At most `limit` threads of a list, none created before `floor`.
    pub(crate) fn page(
        &self,
        query: &Query,
        limit: usize,
        floor: Option<i64>,
    ) -> rusqlite::Result<Vec<Named>> {
        let (sql, values) = page_sql(query, limit, floor);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), named)?;
        rows.collect()
    }
}

/// Before and after the thread that they come of.
const DESCENDANTS: &str =
    "t.id IN (WITH RECURSIVE d(id) AS (SELECT id FROM threads WHERE parent = ";
const DESCENDANTS_END: &str =
    " UNION SELECT c.id FROM threads c JOIN d ON c.parent = d.id) SELECT id FROM d)";

fn page_sql(query: &Query, limit: usize, floor: Option<i64>) -> (String, Vec<Box<dyn ToSql>>) {
    let mut filter = Filter::default();
    filter.add("t.archived = ", Box::new(query.archived));
    let (time, index) = match (query.sort, &query.cwds) {
        (SortKey::Created, None) => ("t.created_at", "by_creation"),
        (SortKey::Updated, None) => ("t.updated_at", "by_change"),
        (SortKey::Created, Some(_)) => ("t.created_at", "by_workplace"),
        (SortKey::Updated, Some(_)) => ("t.updated_at", "by_workplace"),
    };
    let (order, beyond) = match query.is_ascending {
        true => ("ASC", ">"),
        false => ("DESC", "<"),
    };
    if let Some(cwds) = &query.cwds {
        let workplaces: Vec<String> = cwds.iter().map(|cwd| workplace(cwd)).collect();
        filter.one_of("t.workplace", &workplaces, "");
    }
    match &query.descent {
        None => {}
        Some(Descent::Children(parent)) => {
            filter.add("t.parent = ", Box::new(parent.0.clone()));
        }
        Some(Descent::Descendants(ancestor)) => {
            filter.add(DESCENDANTS, Box::new(ancestor.0.clone()));
            filter.sql.push_str(DESCENDANTS_END);
        }
    }
    if let Some(floor) = floor {
        filter.add("t.created_at >= ", Box::new(floor));
    }
    if let Some(providers) = &query.providers {
        let untold = match query.untold_provider {
            true => " OR t.provider IS NULL",
            false => "",
        };
        filter.one_of("t.provider", providers, untold);
    }
    let agents = query
        .kinds
        .prefix()
        .map(|kind| format!(" OR t.kind GLOB '{kind}*'"));
    filter.one_of("t.kind", query.kinds.exact(), &agents.unwrap_or_default());
    if let Some(text) = &query.search {
        let title = "instr(coalesce(t.title, t.preview), ";
        filter.add(title, Box::new(text.clone()));
        filter.sql.push_str(") > 0");
    }
    for id in &query.excluded {
        filter.add("t.id <> ", Box::new(id.as_str().to_owned()));
    }
    if let Some(after) = &query.after {
        filter.add(&format!("({time}, t.id) {beyond} ("), Box::new(after.time));
        filter.sql.push_str(", ");
        filter.value(Box::new(after.id.0.clone()));
        filter.sql.push(')');
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM threads t INDEXED BY {index} LEFT JOIN said s ON s.id = t.id \
         WHERE t.preview IS NOT NULL{} ORDER BY {time} {order}, t.id {order} LIMIT {limit}",
        filter.sql
    );
    (sql, filter.values)
}

/// Conditions that all hold.
#[derive(Default)]
struct Filter {
    sql: String,
    values: Vec<Box<dyn ToSql>>,
}

impl Filter {
    fn add(&mut self, condition: &str, value: Box<dyn ToSql>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.value(value);
    }

    fn value(&mut self, value: Box<dyn ToSql>) {
        self.sql.push('?');
        self.values.push(value);
    }

    fn one_of(&mut self, column: &str, values: &[String], or: &str) {
        self.sql.push_str(&format!(" AND ({column} IN ("));
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                self.sql.push(',');
            }
            self.value(Box::new(value.clone()));
        }
        self.sql.push(')');
        self.sql.push_str(or);
        self.sql.push(')');
    }
}

/// A folder as lists compare it: part by part, so that a slash at the end does not matter.
fn workplace(cwd: &str) -> String {
    let parts: std::path::PathBuf = Path::new(cwd).components().collect();
    parts.to_string_lossy().into_owned()
}

fn to_json(value: &impl serde::Serialize) -> String {
    // Facts of ours have no map with odd keys, which is all that can fail.
    serde_json::to_string(value).unwrap_or_default()
}

fn named(row: &SqlRow<'_>) -> rusqlite::Result<Named> {
    let json = |column| {
        let text: Option<String> = row.get(column)?;
        Ok::<_, rusqlite::Error>(text.and_then(|text| serde_json::from_str(&text).ok()))
    };
    let source: String = row.get(10)?;
    let forked_from: Option<String> = row.get(13)?;
    let said_git: Option<GitInfo> = json(22)?;
    let facts = Facts {
        created_at: row.get(7)?,
        cwd: row.get(8)?,
        cli_version: row.get(9)?,
        source: serde_json::from_str(&source).unwrap_or_default(),
        nickname: row.get(11)?,
        role: row.get(12)?,
        forked_from: forked_from.map(ThreadId),
        provider: row.get(14)?,
        model: row.get(15)?,
        effort: row.get(16)?,
        git: said_git.or(json(17)?),
        logged_name: row.get(18)?,
        title: row.get(19)?,
        preview: row.get(20)?,
    };
    let stamp = Stamp {
        size: row.get(3)?,
        modified: row.get(4)?,
    };
    let found = Row {
        id: ThreadId(row.get(0)?),
        folder: row.get(1)?,
        file: row.get(2)?,
        stamp,
        scanned: row.get(5)?,
        problem: row.get(6)?,
        facts,
    };
    Ok((found, row.get(21)?))
}
