//! The handle of the index.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use codex_protocol::{GitInfo, ThreadId};
use tokio::sync::oneshot;

use crate::index::{FILE_NAME, Index, Job, Reply};
use crate::query::{Page, Query};
use crate::record::ThreadRecord;

/// Why the index does not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused.
    #[error("the index of threads failed: {0}")]
    Database(#[from] rusqlite::Error),
    /// Its thread is gone, or the system gave none.
    #[error("the index of threads has stopped")]
    Stopped,
}

/// The handle of the index over the threads of a home folder. Cheap to clone.
///
/// Nothing is opened and no thread runs before it is first used. The thread ends when the last handle
/// is gone.
#[derive(Clone, Debug)]
pub struct Store(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    home: PathBuf,
    /// The folder of the database.
    folder: PathBuf,
    jobs: OnceLock<Option<Sender<Job>>>,
}

impl Store {
    /// The index of a home folder, kept there.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self::kept_in(home.clone(), home)
    }

    /// The index of a home folder, kept in another one.
    #[must_use]
    pub fn kept_in(home: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Shared {
            home: home.into(),
            folder: folder.into(),
            jobs: OnceLock::new(),
        }))
    }

    /// The home folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.0.home
    }

    /// A file was written to, moved or removed. Does not wait.
    pub fn touched(&self, path: &Path) {
        self.send(Job::Touched(path.to_owned()));
    }

    /// A page of a list.
    ///
    /// # Errors
    /// The index does not answer.
    pub async fn list(&self, query: Query) -> Result<Page, StoreError> {
        self.ask(|reply| Job::List(Box::new(query), reply)).await
    }

    /// A thread that has a file, in use or archived.
    ///
    /// # Errors
    /// The index does not answer.
    pub async fn get(&self, id: &ThreadId) -> Result<Option<ThreadRecord>, StoreError> {
        self.ask(|reply| Job::Get(id.clone(), reply)).await
    }

    /// The name and the git facts that were said of a thread, which need not have a file.
    ///
    /// # Errors
    /// The index does not answer.
    pub async fn said(
        &self,
        id: &ThreadId,
    ) -> Result<(Option<String>, Option<GitInfo>), StoreError> {
        self.ask(|reply| Job::Said(id.clone(), reply)).await
    }

    /// Waits until every folder was looked at. For tests and measurements: requests need not.
    ///
    /// # Errors
    /// The index does not answer.
    pub async fn settle(&self) -> Result<(), StoreError> {
        self.ask(Job::Settle).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(job(reply));
        answer.await.map_err(|_| StoreError::Stopped)?
    }

    fn send(&self, job: Job) {
        let jobs = self.0.jobs.get_or_init(|| start(&self.0));
        // A job that is dropped answers that the index has stopped.
        if let Some(jobs) = jobs {
            let _ = jobs.send(job);
        }
    }
}

fn start(shared: &Shared) -> Option<Sender<Job>> {
    let (jobs, received) = channel();
    let index = Index::new(shared.home.clone(), shared.folder.join(FILE_NAME), received);
    let started = std::thread::Builder::new()
        .name("thread-index".to_owned())
        .spawn(move || index.run());
    started
        .inspect_err(|error| tracing::error!(%error, "the index of threads has no thread"))
        .ok()
        .map(|_| jobs)
}
