//! The thread that owns the index. It serves requests, and works on the current pass between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use codex_protocol::{GitInfo, ThreadId};
use parking_lot::Mutex;
use rusqlite::ErrorCode;
use tokio::sync::oneshot;

use crate::annotations;
use crate::database::Database;
use crate::folder::refresh;
use crate::pass::IndexPass;
use crate::query::{SearchPage, ThreadPage, ThreadQuery};
use crate::record::ThreadRecord;
use crate::search_watcher::SearchRequest;
use crate::store::StoreError;

/// The file name of the index. The number is the version of its tables.
pub const FILE_NAME: &str = "thread-index-2.sqlite";

/// How long a pass works before the queue is checked for requests.
const SLICE: Duration = Duration::from_millis(4);
/// How long nothing may happen before files that were written to are read.
const QUIET_TIME: Duration = Duration::from_millis(300);
/// Minimum time between two passes.
const REST: Duration = Duration::from_secs(10);
/// The time to the next pass is this many times the duration of the last one.
const REST_FACTOR: u32 = 50;

pub(crate) type IndexReply<T> = oneshot::Sender<Result<T, StoreError>>;

/// A request to the index.
pub(crate) enum IndexRequest {
    /// The first of some files was written, moved or removed.
    Touched,
    List(Box<ThreadQuery>, IndexReply<ThreadPage>),
    Search(Box<SearchRequest>, IndexReply<SearchPage>),
    Get(ThreadId, IndexReply<Option<ThreadRecord>>),
    Annotations(ThreadId, IndexReply<(Option<String>, Option<GitInfo>)>),
    /// Answered when no pass is running.
    Settle(IndexReply<()>),
}

/// Files that were written, moved or removed since the index read them.
#[derive(Debug, Default)]
pub(crate) struct TouchedFiles {
    paths: BTreeSet<PathBuf>,
    /// When the last one was.
    last: Option<Instant>,
}

impl TouchedFiles {
    /// Adds a file. Returns whether it is the first one.
    pub(crate) fn add(&mut self, path: &Path) -> bool {
        let is_first = self.paths.is_empty();
        if !self.paths.contains(path) {
            self.paths.insert(path.to_owned());
        }
        self.last = Some(Instant::now());
        is_first
    }

    /// How long it takes until [`QUIET_TIME`] is over.
    fn quiet_in(&self) -> Duration {
        let quiet = self.last.map_or(QUIET_TIME, |last| last.elapsed());
        QUIET_TIME.saturating_sub(quiet)
    }
}

pub(crate) struct IndexWorker {
    pub(crate) home: PathBuf,
    pub(crate) file: PathBuf,
    jobs: Receiver<IndexRequest>,
    touched: Arc<Mutex<TouchedFiles>>,
    database: Option<Database>,
    pub(crate) pass: Option<IndexPass>,
    pub(crate) is_complete: bool,
    /// When the next pass begins.
    due: Option<Instant>,
    settling: Vec<IndexReply<()>>,
    /// Whether a search found texts that are not in its tables; they are read in the background.
    pub(crate) has_unread_texts: bool,
    pub(crate) newest: Option<(PathBuf, std::time::SystemTime)>,
}

impl IndexWorker {
    pub(crate) fn new(
        home: PathBuf,
        file: PathBuf,
        touched: Arc<Mutex<TouchedFiles>>,
        jobs: Receiver<IndexRequest>,
    ) -> Self {
        Self {
            home,
            file,
            jobs,
            touched,
            database: None,
            pass: None,
            is_complete: false,
            due: None,
            settling: Vec::new(),
            has_unread_texts: false,
            newest: None,
        }
    }

    /// Runs until all senders are dropped.
    pub(crate) fn run(mut self) {
        loop {
            match self.next_job() {
                NextJob::IndexRequest(job) => self.serve(job),
                NextJob::Nothing => self.work_idle(),
                NextJob::Over => return,
            }
        }
    }

    fn next_job(&self) -> NextJob {
        if self.pass.is_some() || self.has_unread_texts {
            return match self.jobs.try_recv() {
                Ok(job) => NextJob::IndexRequest(job),
                Err(TryRecvError::Empty) => NextJob::Nothing,
                Err(TryRecvError::Disconnected) => NextJob::Over,
            };
        }
        let mut wait = QUIET_TIME;
        loop {
            if self.touched.lock().paths.is_empty() {
                return self
                    .jobs
                    .recv()
                    .map_or(NextJob::Over, NextJob::IndexRequest);
            }
            match self.jobs.recv_timeout(wait) {
                Ok(job) => return NextJob::IndexRequest(job),
                Err(RecvTimeoutError::Disconnected) => return NextJob::Over,
                Err(RecvTimeoutError::Timeout) => {}
            }
            wait = self.touched.lock().quiet_in();
            if wait.is_zero() {
                return NextJob::Nothing;
            }
        }
    }

    fn serve(&mut self, job: IndexRequest) {
        // The requester may be gone; its reply channel is then closed.
        match job {
            IndexRequest::Touched => {}
            IndexRequest::List(query, reply) => {
                let page = self.attempt(|index| index.list(&query));
                let _ = reply.send(page);
            }
            IndexRequest::Search(asked, reply) => {
                let page = self.attempt(|index| index.search(&asked));
                let _ = reply.send(page);
            }
            IndexRequest::Get(id, reply) => {
                let record = self.attempt(|index| index.get(&id));
                let _ = reply.send(record);
            }
            IndexRequest::Annotations(id, reply) => {
                let annotations = self.attempt(|index| {
                    index.catch_up()?;
                    index.database()?.annotations(&id)
                });
                let _ = reply.send(annotations);
            }
            IndexRequest::Settle(reply) => {
                self.settling.push(reply);
                let begun = self.attempt(Self::catch_up);
                if begun.is_err() || (self.pass.is_none() && !self.has_unread_texts) {
                    self.settled();
                }
            }
        }
    }

    /// Does background work while there are no requests.
    fn work_idle(&mut self) {
        let deadline = Instant::now() + SLICE;
        let outcome = self.attempt(|index| {
            if index.pass.is_some() {
                return index.advance(deadline);
            }
            index.take_touched()?;
            if index.has_unread_texts {
                index.read_waiting_texts(deadline)?;
            }
            Ok(())
        });
        if let Err(error) = outcome {
            tracing::warn!(%error, "the index of threads is not brought up to date");
            self.end_pass();
            self.has_unread_texts = false;
        }
        if self.pass.is_none() && !self.has_unread_texts {
            self.settled();
        }
    }

    fn settled(&mut self) {
        for reply in self.settling.drain(..) {
            let _ = reply.send(Ok(()));
        }
    }

    /// Runs `action`, and a second time if the first run showed that the database is unusable.
    fn attempt<T>(
        &mut self,
        work: impl Fn(&mut Self) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let error = match work(self) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if !self.recover(&error) {
            return Err(error.into());
        }
        Ok(work(self)?)
    }

    /// Replaces a database that is damaged or cannot be written. Returns whether it was replaced.
    fn recover(&mut self, error: &rusqlite::Error) -> bool {
        let path = self.file.clone();
        match error.sqlite_error_code() {
            // `SQLITE_ERROR`: a table or a column is missing.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
                tracing::warn!(%error, path = %path.display(), "the index of threads is damaged: it is set aside and made anew");
                self.database = None;
                set_aside(&path);
            }
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure,
            ) => {
                tracing::warn!(%error, path = %path.display(), "the index of threads cannot be written: it is kept in memory");
                self.database = Database::in_memory().ok();
            }
            _ => return false,
        }
        self.is_complete = false;
        self.end_pass();
        self.due = None;
        self.newest = None;
        true
    }

    /// The next use opens the database again.
    pub(crate) fn close_database(&mut self) {
        self.database = None;
    }

    pub(crate) fn database(&mut self) -> rusqlite::Result<&Database> {
        if self.database.is_none() {
            if let Some(folder) = self.file.parent() {
                // If this fails, opening the database reports why.
                let _ = std::fs::create_dir_all(folder);
            }
            let database = Database::open(&self.file)?;
            self.is_complete = database.is_complete()?;
            self.database = Some(database);
        }
        // Set just above.
        self.database.as_ref().ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Applies what is known without a pass: files that were written, and annotations. Begins a pass if one is
    /// due.
    pub(crate) fn catch_up(&mut self) -> rusqlite::Result<()> {
        self.database()?;
        self.take_touched()?;
        let home = self.home.clone();
        annotations::catch_up(&home, self.database()?)?;
        if self.pass.is_none() && self.due.is_none_or(|due| Instant::now() >= due) {
            self.pass = Some(IndexPass::new());
        }
        Ok(())
    }

    fn take_touched(&mut self) -> rusqlite::Result<()> {
        let touched = std::mem::take(&mut self.touched.lock().paths);
        let home = self.home.clone();
        let database = self.database()?;
        database.atomically(|| {
            for path in touched {
                if let Some((folder, file, id)) = location_of(&home, &path) {
                    refresh(&home, database, &folder, &file, &id, None)?;
                }
            }
            Ok(())
        })
    }

    /// Works on the pass until `deadline`.
    pub(crate) fn advance(&mut self, deadline: Instant) -> rusqlite::Result<()> {
        let Some(mut pass) = self.pass.take() else {
            return Ok(());
        };
        let home = self.home.clone();
        let is_over = pass.work(&home, self.database()?, deadline)?;
        if !is_over {
            self.pass = Some(pass);
            return Ok(());
        }
        if !self.is_complete {
            self.database()?.set_complete()?;
            self.is_complete = true;
        }
        self.due = Some(Instant::now() + REST.max(pass.began.elapsed() * REST_FACTOR));
        Ok(())
    }

    fn end_pass(&mut self) {
        self.pass = None;
        self.due = Some(Instant::now() + REST);
    }
}

enum NextJob {
    IndexRequest(IndexRequest),
    Nothing,
    Over,
}

/// The folder, name and thread of a rollout, relative to `home`; none if it is not a rollout below `home`.
pub(crate) fn location_of(home: &Path, path: &Path) -> Option<(String, String, ThreadId)> {
    let id = codex_rollout::id_of(path)?;
    let relative = path.strip_prefix(home).ok()?;
    let folder = codex_rollout::folder_name(relative.parent()?);
    let is_ours = folder == codex_rollout::ARCHIVED_FOLDER || folder.starts_with("sessions/");
    let file = relative.file_name()?.to_str()?.to_owned();
    is_ours.then_some((folder, file, id))
}

/// Renames a damaged database so that it can be examined. Only the latest one is kept.
pub(crate) fn set_aside(path: &Path) {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let _ = std::fs::rename(path, beside(".damaged"));
    // Journal files of the old database would damage the new one.
    let _ = std::fs::remove_file(beside("-wal"));
    let _ = std::fs::remove_file(beside("-shm"));
}
