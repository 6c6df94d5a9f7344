//! Reads folders that may lie on a file system that does not answer. Each read has a time limit, and a folder that exceeded
//! it is not read again while that read lasts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// How long a folder may take.
const LIMIT: Duration = Duration::from_secs(3);

/// A folder does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{} does not answer", .0.display())]
pub struct NoAnswer(PathBuf);

/// The reads of a process.
#[derive(Debug, Default)]
pub struct FolderReads {
    /// The folders whose reads last longer than they may.
    stuck: Mutex<HashSet<PathBuf>>,
}

impl FolderReads {
    /// Runs work that reads a folder, in a blocking task.
    ///
    /// # Errors
    /// It takes too long, or the work that reads the same folder still does.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        folder: &Path,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        self.read_within(LIMIT, folder, work).await
    }

    /// The same with another limit. A result that comes too late is dropped.
    ///
    /// # Errors
    /// It takes too long, or the work that reads the same folder still does.
    pub async fn read_within<T: Send + 'static>(
        self: &Arc<Self>,
        limit: Duration,
        folder: &Path,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let no_answer = || NoAnswer(folder.to_owned());
        let answers = codex_mounts::check_async(folder).await;
        answers.map_err(|_| no_answer())?;
        if self.stuck.lock().contains(folder) {
            return Err(no_answer());
        }
        let (send, mut found) = oneshot::channel();
        let (reads, own) = (Arc::clone(self), folder.to_owned());
        drop(tokio::task::spawn_blocking(move || {
            if send.send(work()).is_err() {
                reads.stuck.lock().remove(&own);
            }
        }));
        if let Ok(found) = tokio::time::timeout(limit, &mut found).await {
            return found.map_err(|_| no_answer());
        }
        // Held until nothing can be sent any more, so that the work removes what is inserted here.
        let mut stuck = self.stuck.lock();
        found.close();
        found.try_recv().map_err(|_| {
            stuck.insert(folder.to_owned());
            no_answer()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unresponsive_folder_is_skipped_until_it_answers() {
        let reads = Arc::<FolderReads>::default();
        let (dead, other) = (Path::new("/dead"), Path::new("/other"));
        let (answer, waits) = mpsc::channel::<()>();
        let (done, ended) = mpsc::channel();
        let hangs = move || {
            waits.recv().unwrap();
            done.send(()).unwrap();
        };
        let read = reads.read(dead, hangs);
        let (read, ()) = tokio::join!(read, tokio::time::advance(LIMIT));
        let error = read.unwrap_err();
        assert_eq!(error.to_string(), "/dead does not answer");
        assert!(reads.read(dead, || 1).await.is_err());
        assert_eq!(reads.read(other, || 2).await.unwrap(), 2);
        answer.send(()).unwrap();
        ended.recv().unwrap();
        while reads.stuck.lock().contains(dead) {
            tokio::task::yield_now().await;
        }
        assert_eq!(reads.read(dead, || 3).await.unwrap(), 3);
    }
}
