//! Owns the SQLite file of the index: its tables, and conversion between rows and records.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use codex_protocol::{GitInfo, ThreadId};
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row as SqlRow, ToSql, named_params, params_from_iter,
};

use crate::annotations::{Annotation, FileProgress};
use crate::query::{AncestorFilter, SideThreads, SortKey, ThreadQuery};
use crate::record::{FileStamp, ThreadFacts, ThreadRow};
use crate::source_kinds::kind_of;

/// How long to wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Size of the page cache, in KiB.
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
  changed_cwd TEXT,
  cli_version TEXT NOT NULL,
  originator TEXT,
  source TEXT NOT NULL,
  nickname TEXT,
  role TEXT,
  parent TEXT,
  forked_from TEXT,
  attached_to TEXT,
  legacy INTEGER NOT NULL,
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
     t.created_at, t.cwd, t.changed_cwd, t.cli_version, t.originator, t.source, t.nickname, t.role, t.forked_from, t.attached_to, t.legacy, t.provider, \
     t.model, t.effort, t.git, t.logged_name, t.title, t.preview, s.name AS annotated_name, \
     s.git AS annotated_git";

const INSERT: &str = "INSERT OR REPLACE INTO threads (id, folder, file, archived, created_at, \
     updated_at, size, modified, scanned, kind, provider, workplace, problem, cwd, changed_cwd, cli_version, \
     originator, source, nickname, role, parent, forked_from, attached_to, legacy, model, effort, git, logged_name, title, preview) \
     VALUES (:id, :folder, :file, :archived, :created_at, :updated_at, :size, :modified, \
     :scanned, :kind, :provider, :workplace, :problem, :cwd, :changed_cwd, :cli_version, :originator, \
     :source, :nickname, :role, :parent, :forked_from, :attached_to, :legacy, :model, :effort, :git, :logged_name, :title, :preview)";

/// The name of the progress row that records a complete first pass.
const COMPLETE_KEY: &str = "complete";

/// Rejects a database with tables of another schema, with the error for a file that is no database.
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

/// The SQL statements that created the tables and indexes.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([], |row| row.get("sql"))?.collect()
}

/// A row and the name annotated for its thread. Annotated git facts are merged into the row.
pub(crate) type NamedRow = (ThreadRow, Option<String>);

/// An open connection to the database.
pub(crate) struct Database {
    connection: Connection,
    /// Whether a transaction is open.
    is_changing: Cell<bool>,
}

impl Database {
    /// Opens the file, and creates it if needed.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        // SQLite gives its journal files the mode of this file.
        let _ = codex_private_files::ensure(path);
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        Self::set_up(connection)
    }

    /// Opens the file read-only, without changing its schema.
    pub(crate) fn open_to_read(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Self {
            connection,
            is_changing: Cell::new(false),
        })
    }

    /// A database in memory, for a home folder that cannot be written to.
    pub(crate) fn in_memory() -> rusqlite::Result<Self> {
        Self::set_up(Connection::open_in_memory()?)
    }

    fn set_up(connection: Connection) -> rusqlite::Result<Self> {
        connection.pragma_update(None, "cache_size", -CACHE)?;
        // Otherwise some statements are prepared again for each value that is bound to them.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let tables: i64 =
            connection.query_row("SELECT count(*) AS tables FROM sqlite_schema", [], |row| {
                row.get("tables")
            })?;
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

    /// Runs `change` in a transaction. A nested call joins the outer transaction.
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
            // Fails if SQLite has already rolled back.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcome.and_then(|value| end.map(|()| value))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether a pass has visited every folder.
    pub(crate) fn is_complete(&self) -> rusqlite::Result<bool> {
        Ok(self.progress(COMPLETE_KEY)?.offset != 0)
    }

    pub(crate) fn set_complete(&self) -> rusqlite::Result<()> {
        let done = FileProgress {
            inode: 0,
            offset: 1,
        };
        self.set_progress(COMPLETE_KEY, done)
    }

    pub(crate) fn progress(&self, name: &str) -> rusqlite::Result<FileProgress> {
        let sql = "SELECT inode, offset FROM progress WHERE name = :name";
        let read = |row: &SqlRow<'_>| {
            Ok(FileProgress {
                inode: row.get("inode")?,
                offset: row.get("offset")?,
            })
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement
            .query_row(named_params! { ":name": name }, read)
            .optional()?;
        Ok(found.unwrap_or_default())
    }

    pub(crate) fn set_progress(&self, name: &str, progress: FileProgress) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO progress (name, inode, offset) \
             VALUES (:name, :inode, :offset)";
        let values = named_params! {
            ":name": name,
            ":inode": progress.inode,
            ":offset": progress.offset,
        };
        self.connection
            .prepare_cached(sql)?
            .execute(values)
            .map(drop)
    }

    pub(crate) fn put_annotation(&self, annotation: &Annotation) -> rusqlite::Result<()> {
        let (id, column, value) = match annotation {
            Annotation::Name(id, name) => (id, "name", name.clone()),
            Annotation::Git(id, git) => (id, "git", to_json(git)),
        };
        let sql = format!(
            "INSERT INTO said (id, {column}) VALUES (:id, :value) \
             ON CONFLICT (id) DO UPDATE SET {column} = :value"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let values = named_params! { ":id": id.as_str(), ":value": value };
        statement.execute(values).map(drop)
    }

    /// Clears either all annotated names or all annotated git facts.
    pub(crate) fn clear_annotations(&self, names: bool) -> rusqlite::Result<()> {
        let column = if names { "name" } else { "git" };
        let sql = format!("UPDATE said SET {column} = NULL");
        self.connection.execute(&sql, []).map(drop)
    }

    pub(crate) fn put(&self, row: &ThreadRow) -> rusqlite::Result<()> {
        let facts = &row.facts;
        let values = named_params! {
            ":id": row.id.as_str(),
            ":folder": row.folder,
            ":file": row.file,
            ":archived": row.is_archived(),
            ":created_at": facts.created_at,
            ":updated_at": row.stamp.updated_at(),
            ":size": row.stamp.size,
            ":modified": row.stamp.modified,
            ":scanned": row.scanned,
            ":kind": kind_of(&facts.source),
            ":provider": facts.provider,
            ":workplace": workplace(&facts.cwd),
            ":problem": row.problem,
            ":cwd": facts.cwd,
            ":changed_cwd": facts.changed_cwd,
            ":cli_version": facts.cli_version,
            ":originator": facts.originator,
            ":source": to_json(&facts.source),
            ":nickname": facts.nickname,
            ":role": facts.role,
            ":parent": facts.parent().map(ThreadId::as_str),
            ":forked_from": facts.forked_from.as_ref().map(ThreadId::as_str),
            ":attached_to": facts.attached_to().map(ThreadId::as_str),
            ":legacy": facts.has_legacy_history,
            ":model": facts.model,
            ":effort": facts.effort,
            ":git": facts.git.as_ref().map(to_json),
            ":logged_name": facts.logged_name,
            ":title": facts.title,
            ":preview": facts.preview,
        };
        self.connection
            .prepare_cached(INSERT)?
            .execute(values)
            .map(drop)
    }

    /// Removes a thread if its row refers to this file.
    pub(crate) fn remove(&self, id: &ThreadId, folder: &str, file: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM threads WHERE id = :id AND folder = :folder AND file = :file";
        let values = named_params! { ":id": id.as_str(), ":folder": folder, ":file": file };
        self.connection
            .prepare_cached(sql)?
            .execute(values)
            .map(drop)
    }

    /// The threads in a folder: file name to id and the file state when it was read.
    pub(crate) fn folder(
        &self,
        folder: &str,
    ) -> rusqlite::Result<HashMap<String, (ThreadId, FileStamp)>> {
        let sql = "SELECT file, id, size, modified FROM threads WHERE folder = :folder";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(named_params! { ":folder": folder }, |row| {
            let stamp = stamp_of(row)?;
            Ok((row.get("file")?, (ThreadId(row.get("id")?), stamp)))
        })?;
        rows.collect()
    }

    /// The state of every file when it was read.
    pub(crate) fn stamps(&self) -> rusqlite::Result<HashMap<(String, String), FileStamp>> {
        let sql = "SELECT folder, file, size, modified FROM threads";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            let stamp = stamp_of(row)?;
            Ok(((row.get("folder")?, row.get("file")?), stamp))
        })?;
        rows.collect()
    }

    /// Every folder that contains a thread.
    pub(crate) fn folders(&self) -> rusqlite::Result<Vec<String>> {
        // Skips from folder to folder by the index; DISTINCT would visit every thread.
        let sql = "WITH RECURSIVE f (folder) AS (SELECT min(folder) FROM threads UNION ALL \
             SELECT (SELECT min(folder) FROM threads t WHERE t.folder > f.folder) FROM f \
             WHERE f.folder IS NOT NULL) SELECT folder FROM f WHERE folder IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| row.get("folder"))?;
        rows.collect()
    }

    pub(crate) fn get(&self, id: &ThreadId) -> rusqlite::Result<Option<NamedRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM threads t LEFT JOIN said s ON s.id = t.id WHERE t.id = :id"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found = statement.query_row(named_params! { ":id": id.as_str() }, named_row);
        found.optional()
    }

    /// The annotations of a thread, whether it has a row or not.
    pub(crate) fn annotations(
        &self,
        id: &ThreadId,
    ) -> rusqlite::Result<(Option<String>, Option<GitInfo>)> {
        let sql = "SELECT name, git FROM said WHERE id = :id";
        let read = |row: &SqlRow<'_>| {
            let git: Option<String> = row.get("git")?;
            Ok((
                row.get("name")?,
                git.and_then(|git| serde_json::from_str(&git).ok()),
            ))
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row(named_params! { ":id": id.as_str() }, read);
        Ok(found.optional()?.unwrap_or_default())
    }

    /// At most `limit` threads of a list, created at `floor` or later.
    pub(crate) fn page(
        &self,
        query: &ThreadQuery,
        limit: usize,
        floor: Option<i64>,
    ) -> rusqlite::Result<Vec<NamedRow>> {
        self.page_by(page_sql(query, limit, floor, None))
    }

    /// Like `page`, of these threads only.
    pub(crate) fn page_of(
        &self,
        query: &ThreadQuery,
        limit: usize,
        floor: Option<i64>,
        threads: &[ThreadId],
    ) -> rusqlite::Result<Vec<NamedRow>> {
        self.page_by(page_sql(query, limit, floor, Some(threads)))
    }

    fn page_by(
        &self,
        (sql, values): (String, Vec<Box<dyn ToSql>>),
    ) -> rusqlite::Result<Vec<NamedRow>> {
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), named_row)?;
        rows.collect()
    }
}

/// Before and after the thread that they come of.
const DESCENDANTS: &str =
    "t.id IN (WITH RECURSIVE d(id) AS (SELECT id FROM threads WHERE parent = ";
const DESCENDANTS_END: &str =
    " UNION SELECT c.id FROM threads c JOIN d ON c.parent = d.id) SELECT id FROM d)";

fn page_sql(
    query: &ThreadQuery,
    limit: usize,
    floor: Option<i64>,
    threads: Option<&[ThreadId]>,
) -> (String, Vec<Box<dyn ToSql>>) {
    let mut filter = SqlFilter::default();
    filter.add("t.archived = ", Box::new(query.archived));
    if let Some(threads) = threads {
        filter.id_is("IN", threads);
    }
    let (time, index) = match (query.sort, &query.cwds) {
        (SortKey::Created, None) => ("t.created_at", "by_creation"),
        (SortKey::Updated, None) => ("t.updated_at", "by_change"),
        (SortKey::Created, Some(_)) => ("t.created_at", "by_workplace"),
        (SortKey::Updated, Some(_)) => ("t.updated_at", "by_workplace"),
    };
    let (order, beyond) = if query.is_ascending {
        ("ASC", ">")
    } else {
        ("DESC", "<")
    };
    if let Some(cwds) = &query.cwds {
        let workplaces: Vec<String> = cwds.iter().map(|cwd| workplace(cwd)).collect();
        filter.one_of("t.workplace", &workplaces, "");
    }
    match &query.ancestor {
        None => {}
        Some(AncestorFilter::Children(parent)) => {
            filter.add("t.parent = ", Box::new(parent.0.clone()));
        }
        Some(AncestorFilter::Descendants(ancestor)) => {
            filter.add(DESCENDANTS, Box::new(ancestor.0.clone()));
            filter.sql.push_str(DESCENDANTS_END);
        }
    }
    match &query.attached {
        SideThreads::Hidden => filter.sql.push_str(" AND t.attached_to IS NULL"),
        SideThreads::Included => {}
        SideThreads::Of(thread) => filter.add("t.attached_to = ", Box::new(thread.0.clone())),
    }
    if let Some(floor) = floor {
        filter.add("t.created_at >= ", Box::new(floor));
    }
    if let Some(providers) = &query.providers {
        let unknown = if query.include_unknown_provider {
            " OR t.provider IS NULL"
        } else {
            ""
        };
        filter.one_of("t.provider", providers, unknown);
    }
    let agents = query
        .kinds
        .prefix()
        .map(|kind| format!(" OR t.kind GLOB '{kind}*'"));
    filter.one_of("t.kind", query.kinds.exact(), &agents.unwrap_or_default());
    if let Some(text) = &query.search {
        let title = "(instr(coalesce(t.title, t.preview), ";
        filter.add(title, Box::new(text.clone()));
        let name = ") > 0 OR instr(coalesce(s.name, t.logged_name, ''), ";
        filter.sql.push_str(name);
        filter.value(Box::new(text.clone()));
        filter.sql.push_str(") > 0)");
    }
    if let Some(included) = &query.included {
        filter.id_is("IN", included);
    }
    if !query.excluded.is_empty() {
        filter.id_is("NOT IN", &query.excluded);
    }
    if let Some(after) = &query.after {
        filter.add(&format!("({time}, t.id) {beyond} ("), Box::new(after.time));
        filter.sql.push_str(", ");
        filter.value(Box::new(after.id.0.clone()));
        filter.sql.push(')');
    }
    let index = match threads {
        // They are looked up by their ids.
        Some(_) => String::new(),
        None => format!("INDEXED BY {index}"),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM threads t {index} LEFT JOIN said s ON s.id = t.id \
         WHERE t.preview IS NOT NULL{} ORDER BY {time} {order}, t.id {order} LIMIT {limit}",
        filter.sql
    );
    (sql, filter.values)
}

/// SQL conditions joined by AND, with their parameters.
#[derive(Default)]
struct SqlFilter {
    sql: String,
    values: Vec<Box<dyn ToSql>>,
}

impl SqlFilter {
    fn add(&mut self, condition: &str, value: Box<dyn ToSql>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.value(value);
    }

    fn value(&mut self, value: Box<dyn ToSql>) {
        self.sql.push('?');
        self.values.push(value);
    }

    /// `is` is `IN` or `NOT IN`. Any number of ids is one parameter.
    fn id_is(&mut self, is: &str, ids: &[ThreadId]) {
        let ids: Vec<&str> = ids.iter().map(ThreadId::as_str).collect();
        let listed = format!("t.id {is} (SELECT value FROM json_each(");
        self.add(&listed, Box::new(to_json(&ids)));
        self.sql.push_str("))");
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

/// A folder in the form that lists compare: without a trailing slash.
fn workplace(cwd: &str) -> String {
    let parts: std::path::PathBuf = Path::new(cwd).components().collect();
    parts.to_string_lossy().into_owned()
}

fn to_json(value: &impl serde::Serialize) -> String {
    // Serialization fails only for maps whose keys are not strings, and these types have none.
    serde_json::to_string(value).unwrap_or_default()
}

fn named_row(row: &SqlRow<'_>) -> rusqlite::Result<NamedRow> {
    let json = |column: &str| {
        let text: Option<String> = row.get(column)?;
        Ok::<_, rusqlite::Error>(text.and_then(|text| serde_json::from_str(&text).ok()))
    };
    let source: String = row.get("source")?;
    let forked_from: Option<String> = row.get("forked_from")?;
    let attached_to: Option<String> = row.get("attached_to")?;
    let annotated_git: Option<GitInfo> = json("annotated_git")?;
    let facts = ThreadFacts {
        created_at: row.get("created_at")?,
        cwd: row.get("cwd")?,
        changed_cwd: row.get("changed_cwd")?,
        cli_version: row.get("cli_version")?,
        originator: row.get("originator")?,
        source: serde_json::from_str(&source).unwrap_or_default(),
        nickname: row.get("nickname")?,
        role: row.get("role")?,
        forked_from: forked_from.map(ThreadId),
        is_side_thread: attached_to.is_some(),
        has_legacy_history: row.get("legacy")?,
        provider: row.get("provider")?,
        model: row.get("model")?,
        effort: row.get("effort")?,
        git: annotated_git.or(json("git")?),
        logged_name: row.get("logged_name")?,
        title: row.get("title")?,
        preview: row.get("preview")?,
    };
    let found = ThreadRow {
        id: ThreadId(row.get("id")?),
        folder: row.get("folder")?,
        file: row.get("file")?,
        stamp: stamp_of(row)?,
        scanned: row.get("scanned")?,
        problem: row.get("problem")?,
        facts,
    };
    Ok((found, row.get("annotated_name")?))
}

fn stamp_of(row: &SqlRow<'_>) -> rusqlite::Result<FileStamp> {
    Ok(FileStamp {
        size: row.get("size")?,
        modified: row.get("modified")?,
    })
}
