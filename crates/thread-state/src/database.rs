//! The SQLite database: tables and transactions. It is opened on first use.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior};
use thiserror::Error;

use crate::import::{self, MessageConverter};
use crate::read_state::EndedTurn;

/// The file name in the home folder.
const FILE: &str = "thread_state.sqlite";
/// How long a transaction waits for other processes.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The version of the tables, in `user_version`. A database with a later version is refused.
const VERSION: i64 = 4;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS goals (
  thread TEXT PRIMARY KEY, objective TEXT NOT NULL, status TEXT NOT NULL, token_budget INTEGER,
  tokens_used INTEGER NOT NULL, milliseconds_used INTEGER NOT NULL, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue (
  id TEXT PRIMARY KEY, thread TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS queue_of_thread ON queue (thread, position);
CREATE TABLE IF NOT EXISTS queue_handovers (
  id TEXT PRIMARY KEY, thread TEXT NOT NULL, turn TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS queue_handovers_of_thread ON queue_handovers (thread);
CREATE TABLE IF NOT EXISTS read_states (
  thread TEXT PRIMARY KEY, first_unread TEXT, revision TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sections (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, name TEXT NOT NULL, appearance TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS section_threads (
  thread TEXT PRIMARY KEY, section TEXT NOT NULL, position INTEGER NOT NULL, entered_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS threads_of_section ON section_threads (section, position);
CREATE TABLE IF NOT EXISTS projects (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, name TEXT NOT NULL, roots TEXT NOT NULL,
  metadata TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  idempotency_key TEXT UNIQUE
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS project_threads (
  thread TEXT PRIMARY KEY, project TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS threads_of_project ON project_threads (project);
CREATE TABLE IF NOT EXISTS attachments (
  id TEXT PRIMARY KEY, thread TEXT NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL,
  payload TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (thread, kind, identity)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS daybreak_marks (
  thread TEXT PRIMARY KEY, is_enabled INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agent_jobs (
  id TEXT PRIMARY KEY, thread TEXT NOT NULL, status TEXT NOT NULL, error TEXT, instruction TEXT NOT NULL,
  output_schema TEXT, headers TEXT NOT NULL, input_path TEXT NOT NULL, output_path TEXT NOT NULL,
  max_runtime_seconds INTEGER NOT NULL, created_at INTEGER NOT NULL, completed_at INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS agent_jobs_of_thread ON agent_jobs (thread, status);
CREATE TABLE IF NOT EXISTS agent_job_items (
  job TEXT NOT NULL, thread TEXT NOT NULL, item TEXT NOT NULL, position INTEGER NOT NULL, source_id TEXT,
  row TEXT NOT NULL, status TEXT NOT NULL, worker TEXT, attempts INTEGER NOT NULL, error TEXT, result TEXT,
  reported_at INTEGER, completed_at INTEGER, PRIMARY KEY (job, item)
);
CREATE INDEX IF NOT EXISTS agent_job_items_of_thread ON agent_job_items (thread);
CREATE INDEX IF NOT EXISTS owners_of_attachment ON attachments (kind, identity);
";

/// Why the database could not be used.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("the state of threads cannot be read or written: {0}")]
    Database(#[from] rusqlite::Error),
    /// A later version of this program wrote the database.
    #[error(
        "{path} was written by a newer version ({found}) of this program; this one knows {VERSION}"
    )]
    Newer {
        path: PathBuf,
        /// The version of the database.
        found: i64,
    },
    /// A stored JSON value cannot be read.
    #[error("the state of threads has a value that cannot be read: {0}")]
    Value(#[from] serde_json::Error),
    /// The file permissions cannot be restricted.
    #[error("the state of threads cannot be kept private: {0}")]
    Private(#[from] std::io::Error),
}

/// The data that users and clients attach to threads. Every method blocks for the length of a transaction.
#[derive(Debug)]
pub struct ThreadState {
    home: PathBuf,
    path: PathBuf,
    /// For the queue of another release.
    convert: MessageConverter,
    /// Whether another release left state in the home folder. Looked up once, because lists ask several times for each thread.
    has_sources: OnceLock<bool>,
    connection: Mutex<Option<Connection>>,
    /// By thread, the first turn that ended while no client wanted the read state. Not stored.
    pub(crate) ended_turns: Mutex<HashMap<String, EndedTurn>>,
}

impl ThreadState {
    /// The state in a home folder. The database is opened on first use. If it does not exist, it takes over what release
    /// another engine stored in that folder; `convert` reads its queued messages.
    #[must_use]
    pub fn of_home(home: &Path, convert: MessageConverter) -> Self {
        Self {
            home: home.to_owned(),
            path: home.join(FILE),
            convert,
            has_sources: OnceLock::new(),
            connection: Mutex::new(None),
            ended_turns: Mutex::default(),
        }
    }

    /// Deletes everything about a thread.
    ///
    /// # Errors
    pub fn forget_thread(&self, thread: &str) -> Result<(), StateError> {
        self.ended_turns.lock().remove(thread);
        if !self.has_data() {
            return Ok(());
        }
        self.change(|transaction| {
            for table in [
                "goals",
                "queue",
                "queue_handovers",
                "read_states",
                "section_threads",
                "project_threads",
                "attachments",
                "daybreak_marks",
                "agent_jobs",
                "agent_job_items",
            ] {
                let sql = format!("DELETE FROM {table} WHERE thread = :thread");
                transaction.execute(&sql, rusqlite::named_params! { ":thread": thread })?;
            }
            Ok(())
        })
    }

    /// Runs a writing transaction.
    pub(crate) fn change<T, E: From<StateError>>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.with_connection(|connection| {
            let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let transaction = begun.map_err(StateError::from)?;
            let outcome = work(&transaction)?;
            transaction.commit().map_err(StateError::from)?;
            Ok(outcome)
        })
    }

    /// Runs queries. If the database does not exist, it is not created, and the result is `empty`.
    pub(crate) fn query<T>(
        &self,
        empty: T,
        work: impl FnOnce(&Connection) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        if !self.has_data() {
            return Ok(empty);
        }
        self.with_connection(|connection| work(connection))
    }

    fn has_data(&self) -> bool {
        let has_sources = || import::has_sources(&self.home);
        self.path.exists() || *self.has_sources.get_or_init(has_sources)
    }

    fn with_connection<T, E: From<StateError>>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut slot = self.connection.lock();
        let connection = match slot.take() {
            Some(connection) => connection,
            None => self.open()?,
        };
        work(slot.insert(connection))
    }

    fn open(&self) -> Result<Connection, StateError> {
        codex_private_files::ensure(&self.path)?;
        let mut connection = Connection::open(&self.path)?;
        connection.busy_timeout(TIME_LIMIT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // What is acknowledged is on the disk: these are rare changes that users and clients make.
        connection.pragma_update(None, "synchronous", "full")?;
        if version(&connection)? < VERSION {
            self.create_tables(&mut connection)?;
        }
        let found = version(&connection)?;
        if found > VERSION {
            return Err(StateError::Newer {
                path: self.path.clone(),
                found,
            });
        }
        Ok(connection)
    }

    fn create_tables(&self, connection: &mut Connection) -> Result<(), StateError> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let found = version(&transaction)?;
        if found < VERSION {
            transaction.execute_batch(TABLES)?;
            if found == 0 {
                import::import(&self.home, &transaction, self.convert)?;
            }
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        Ok(transaction.commit()?)
    }
}

fn version(connection: &Connection) -> Result<i64, StateError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Queries at most one row.
pub(crate) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StateError> {
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params, read).optional()?)
}

pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StateError> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The current time in Unix seconds.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
