//! The thread that owns the index: it serves what is asked, and in between goes on with the pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use codex_protocol::{GitInfo, ThreadId};
use rusqlite::ErrorCode;
use tokio::sync::oneshot;

use crate::database::Database;
use crate::folder::refresh;
use crate::pass::Pass;
use crate::query::{Page, Query};
use crate::record::ThreadRecord;
use crate::said;
use crate::store::StoreError;

/// The file of the index, in its folder. The number is that of its tables.
pub const FILE_NAME: &str = "thread-index-1.sqlite";

/// How long a pass works before it looks for requests.
const SLICE: Duration = Duration::from_millis(4);
/// A file that was written to is looked at when nothing was asked for so long.
const QUIET: Duration = Duration::from_millis(300);
/// The least time between two passes.
const REST: Duration = Duration::from_secs(10);
/// A pass that took long is repeated the more seldom.
const REST_FACTOR: u32 = 50;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the index is asked.
pub(crate) enum Job {
    /// A file was written to, moved or removed.
    Touched(PathBuf),
    List(Box<Query>, Reply<Page>),
    Get(ThreadId, Reply<Option<ThreadRecord>>),
    Said(ThreadId, Reply<(Option<String>, Option<GitInfo>)>),
    /// Answered when no pass is under way.
    Settle(Reply<()>),
}

pub(crate) struct Index {
    pub(crate) home: PathBuf,
    file: PathBuf,
    jobs: Receiver<Job>,
    database: Option<Database>,
    touched: BTreeSet<PathBuf>,
    pub(crate) pass: Option<Pass>,
    pub(crate) is_complete: bool,
    /// When a pass is due again.
    due: Option<Instant>,
    settling: Vec<Reply<()>>,
    pub(crate) newest: Option<(PathBuf, std::time::SystemTime)>,
}

impl Index {
    pub(crate) fn new(home: PathBuf, file: PathBuf, jobs: Receiver<Job>) -> Self {
        Self {
            home,
            file,
            jobs,
            database: None,
            touched: BTreeSet::new(),
            pass: None,
            is_complete: false,
            due: None,
            settling: Vec::new(),
            newest: None,
        }
    }

    /// Runs until nobody can ask any more.
    pub(crate) fn run(mut self) {
        loop {
            match self.next_job() {
                Next::Job(job) => self.serve(job),
                Next::Nothing => self.go_on(),
                Next::Over => return,
            }
        }
    }

    fn next_job(&self) -> Next {
        if self.pass.is_some() {
            return match self.jobs.try_recv() {
                Ok(job) => Next::Job(job),
                Err(TryRecvError::Empty) => Next::Nothing,
                Err(TryRecvError::Disconnected) => Next::Over,
            };
        }
        if self.touched.is_empty() {
            return self.jobs.recv().map_or(Next::Over, Next::Job);
        }
        match self.jobs.recv_timeout(QUIET) {
            Ok(job) => Next::Job(job),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Over,
        }
    }

    fn serve(&mut self, job: Job) {
        // Who asked may be gone, which is no matter.
        match job {
            Job::Touched(path) => {
                self.touched.insert(path);
            }
            Job::List(query, reply) => {
                let page = self.attempt(|index| index.list(&query));
                let _ = reply.send(page);
            }
            Job::Get(id, reply) => {
                let record = self.attempt(|index| index.get(&id));
                let _ = reply.send(record);
            }
            Job::Said(id, reply) => {
                let said = self.attempt(|index| {
                    index.catch_up()?;
                    index.database()?.said(&id)
                });
                let _ = reply.send(said);
            }
            Job::Settle(reply) => {
                self.settling.push(reply);
                let begun = self.attempt(Self::catch_up);
                if begun.is_err() || self.pass.is_none() {
                    self.settled();
                }
            }
        }
    }

    /// What is done while nobody asks.
    fn go_on(&mut self) {
        let deadline = Instant::now() + SLICE;
        let outcome = self.attempt(|index| {
            if index.pass.is_none() {
                return index.take_touched();
            }
            index.advance(deadline)
        });
        if let Err(error) = outcome {
            tracing::warn!(%error, "the index of threads is not brought up to date");
            self.end_pass();
        }
        if self.pass.is_none() {
            self.settled();
        }
    }

    fn settled(&mut self) {
        for reply in self.settling.drain(..) {
            let _ = reply.send(Ok(()));
        }
    }

    /// Does something twice if the first time showed that the file of the index is of no use.
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

    /// Puts another database in place of one that is damaged or cannot be written.
    fn recover(&mut self, error: &rusqlite::Error) -> bool {
        let path = self.file.clone();
        match error.sqlite_error_code() {
            // The last one: a table or a column is missing.
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

    pub(crate) fn database(&mut self) -> rusqlite::Result<&Database> {
        if self.database.is_none() {
            if let Some(folder) = self.file.parent() {
                // Where that cannot be, opening says why.
                let _ = std::fs::create_dir_all(folder);
            }
            let database = Database::open(&self.file)?;
            self.is_complete = database.is_complete()?;
            self.database = Some(database);
        }
        // Made just above.
        self.database.as_ref().ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Everything that is known without a pass: what was written, what was said. Begins a pass if one
    /// is due.
    pub(crate) fn catch_up(&mut self) -> rusqlite::Result<()> {
        self.database()?;
        self.take_touched()?;
        let home = self.home.clone();
        said::catch_up(&home, self.database()?)?;
        if self.pass.is_none() && self.due.is_none_or(|due| Instant::now() >= due) {
            self.pass = Some(Pass::new());
        }
        Ok(())
    }

    fn take_touched(&mut self) -> rusqlite::Result<()> {
        let touched = std::mem::take(&mut self.touched);
        let home = self.home.clone();
        let database = self.database()?;
        database.atomically(|| {
            for path in touched {
                if let Some((folder, file, id)) = place_of(&home, &path) {
                    refresh(&home, database, &folder, &file, &id, None)?;
                }
            }
            Ok(())
        })
    }

    /// Goes on with the pass until then.
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

enum Next {
    Job(Job),
    Nothing,
    Over,
}

/// Where a file lies as the index has it; none if it is no rollout under the home folder.
pub(crate) fn place_of(home: &Path, path: &Path) -> Option<(String, String, ThreadId)> {
    let id = codex_rollout::id_of(path)?;
    let relative = path.strip_prefix(home).ok()?;
    let folder = relative.parent()?.to_str()?.to_owned();
    let is_ours = folder == codex_rollout::ARCHIVED || folder.starts_with("sessions/");
    let file = relative.file_name()?.to_str()?.to_owned();
    is_ours.then_some((folder, file, id))
}

/// Renames what is damaged, so that someone can look at it. Only the latest is kept.
fn set_aside(path: &Path) {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let _ = std::fs::rename(path, beside(".damaged"));
    // The journal of what is gone would damage what comes.
    let _ = std::fs::remove_file(beside("-wal"));
    let _ = std::fs::remove_file(beside("-shm"));
}
