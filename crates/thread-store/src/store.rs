//! The handle of the index.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use codex_protocol::{GitInfo, ThreadId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::index::{FILE_NAME, IndexReply, IndexRequest, IndexWorker, TouchedFiles};
use crate::other_index;
use crate::query::{SearchPage, ThreadPage, ThreadQuery};
use crate::record::ThreadRecord;
use crate::search_term::SearchTerm;
use crate::search_watcher::{SearchRequest, SearchWatcher};

/// Why the index did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A database error.
    #[error("the index of threads failed: {0}")]
    Database(#[from] rusqlite::Error),
    /// The index thread has ended, or could not be started.
    #[error("the index of threads has stopped")]
    Stopped,
}

/// The handle of the index over the threads of a home folder. Cheap to clone.
///
/// The database is opened and the index thread is started on first use. The thread ends when the last handle is
/// dropped.
#[derive(Clone, Debug)]
pub struct ThreadStore(Arc<StoreInner>);

#[derive(Debug)]
struct StoreInner {
    home: PathBuf,
    /// The folder of the database.
    folder: PathBuf,
    touched: Arc<Mutex<TouchedFiles>>,
    jobs: OnceLock<Option<Sender<IndexRequest>>>,
}

impl ThreadStore {
    /// An index that is stored in the home folder.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self::kept_in(home.clone(), home)
    }

    /// An index that is stored in another folder.
    #[must_use]
    pub fn kept_in(home: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self(Arc::new(StoreInner {
            home: home.into(),
            folder: folder.into(),
            touched: Arc::default(),
            jobs: OnceLock::new(),
        }))
    }

    #[must_use]
    pub fn home(&self) -> &Path {
        &self.0.home
    }

    /// Reports that a file was written, moved or removed. Does not block.
    pub fn touched(&self, path: &Path) {
        // One who looks at the files takes all of them.
        if self.0.touched.lock().add(path) {
            self.send(IndexRequest::Touched);
        }
    }

    /// Writes where a thread is now into the index of other releases. Blocks.
    pub fn update_path_elsewhere(&self, thread: &ThreadId, path: &Path, is_archived: bool) {
        other_index::moved(&self.0.folder, thread, path, is_archived);
    }

    /// Writes the name of a thread into the index of other releases. Blocks.
    pub fn update_name_elsewhere(&self, thread: &ThreadId, name: &str) {
        other_index::named(&self.0.folder, thread, name);
    }

    /// Serves a page of a list.
    ///
    /// # Errors
    /// The index did not answer.
    pub async fn list(&self, query: ThreadQuery) -> Result<ThreadPage, StoreError> {
        self.ask(|reply| IndexRequest::List(Box::new(query), reply))
            .await
    }

    /// Serves a page of the threads whose messages contain a term.
    ///
    /// # Errors
    /// The index did not answer.
    pub async fn search(
        &self,
        query: ThreadQuery,
        term: SearchTerm,
    ) -> Result<SearchPage, StoreError> {
        self.search_watched(query, term, SearchWatcher::default())
            .await
    }

    /// The same for somebody who watches the search.
    ///
    /// # Errors
    /// The index did not answer.
    pub async fn search_watched(
        &self,
        query: ThreadQuery,
        term: SearchTerm,
        watcher: SearchWatcher,
    ) -> Result<SearchPage, StoreError> {
        let request = SearchRequest {
            query,
            term,
            watcher,
        };
        self.ask(|reply| IndexRequest::Search(Box::new(request), reply))
            .await
    }

    /// Looks up a thread that has a file, active or archived.
    ///
    /// # Errors
    /// The index did not answer.
    pub async fn get(&self, id: &ThreadId) -> Result<Option<ThreadRecord>, StoreError> {
        self.ask(|reply| IndexRequest::Get(id.clone(), reply)).await
    }

    /// The annotated name and git facts of a thread, which need not have a file.
    ///
    /// # Errors
    /// The index did not answer.
    pub async fn annotations(
        &self,
        id: &ThreadId,
    ) -> Result<(Option<String>, Option<GitInfo>), StoreError> {
        self.ask(|reply| IndexRequest::Annotations(id.clone(), reply))
            .await
    }

    /// Waits until every folder was visited, and every text that a search needs was read. Only tests and measurements need this.
    ///
    /// # Errors
    /// The index did not answer.
    pub async fn settle(&self) -> Result<(), StoreError> {
        self.ask(IndexRequest::Settle).await
    }

    async fn ask<T>(
        &self,
        job: impl FnOnce(IndexReply<T>) -> IndexRequest,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(job(reply));
        answer.await.map_err(|_| StoreError::Stopped)?
    }

    fn send(&self, job: IndexRequest) {
        let jobs = self.0.jobs.get_or_init(|| start(&self.0));
        // Dropping the request makes its receiver return `Stopped`.
        if let Some(jobs) = jobs {
            let _ = jobs.send(job);
        }
    }
}

fn start(shared: &StoreInner) -> Option<Sender<IndexRequest>> {
    let (jobs, received) = channel();
    let file = shared.folder.join(FILE_NAME);
    let touched = Arc::clone(&shared.touched);
    let index = IndexWorker::new(shared.home.clone(), file, touched, received);
    let started = std::thread::Builder::new()
        .name("thread-index".to_owned())
        .spawn(move || index.run());
    started
        .inspect_err(|error| tracing::error!(%error, "the index of threads has no thread"))
        .ok()
        .map(|_| jobs)
}
