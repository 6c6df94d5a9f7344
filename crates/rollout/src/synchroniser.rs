//! Brings what was written onto the disk, so that a power cut takes the last second only.
//!
//! There is one thread per writer. A file is synchronised [`DELAY`] after it was written to, so that many writes become one
//! synchronisation; nobody waits for that. What must not be removed before something else is on the disk waits for
//! [`Synchroniser::synchronise`].

use std::collections::{BTreeMap, HashSet};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long something that was written may be missing from the disk.
const DELAY: Duration = Duration::from_millis(500);
/// The folders from a file to the home folder.
const FOLDERS: usize = 5;
/// How many files are known whose entries are on the disk.
const MAX_KNOWN: usize = 4096;

enum SynchroniseRequest {
    /// A file was written to.
    Written(PathBuf),
    /// Reply when everything that was written to the file before is on the disk.
    Now {
        path: PathBuf,
        done: oneshot::Sender<io::Result<()>>,
    },
}

/// The handle of the thread, which ends when the last handle is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Synchroniser(Sender<SynchroniseRequest>);

impl Synchroniser {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (requests, received) = channel();
        thread::Builder::new()
            .name("rollout-disk".to_owned())
            .spawn(move || WrittenFiles::default().serve(&received))?;
        Ok(Self(requests))
    }

    /// A file was written to: it is synchronised soon.
    pub(crate) fn written(&self, path: &Path) {
        // If the thread has ended, the system writes the file when it likes.
        let _ = self.0.send(SynchroniseRequest::Written(path.to_owned()));
    }

    /// Waits until what was written to the file before is on the disk.
    pub(crate) fn synchronise(
        &self,
        path: PathBuf,
    ) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let (done, finished) = oneshot::channel();
        let _ = self.0.send(SynchroniseRequest::Now { path, done });
        async move {
            let ended = |_| io::Error::other("the thread that synchronises files has ended");
            finished.await.map_err(ended)?
        }
    }
}

#[derive(Default)]
struct WrittenFiles {
    /// When each file that was written to is synchronised.
    due: BTreeMap<PathBuf, Instant>,
    /// Files and folders whose entries are on the disk.
    known: HashSet<PathBuf>,
}

impl WrittenFiles {
    fn serve(mut self, requests: &Receiver<SynchroniseRequest>) {
        loop {
            let next = self.due.values().min().copied();
            let received = match next {
                None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => requests.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match received {
                Ok(SynchroniseRequest::Written(path)) => {
                    self.due
                        .entry(path)
                        .or_insert_with(|| Instant::now() + DELAY);
                }
                Ok(SynchroniseRequest::Now { path, done }) => {
                    let is_written = self.due.remove(&path).is_some();
                    let result = if is_written {
                        self.synchronise(&path)
                    } else {
                        Ok(())
                    };
                    let _ = done.send(result);
                }
                Err(RecvTimeoutError::Timeout) => self.work_off(Some(Instant::now())),
                Err(RecvTimeoutError::Disconnected) => return self.work_off(None),
            }
        }
    }

    /// Synchronises what is due at `now`, or everything.
    fn work_off(&mut self, now: Option<Instant>) {
        let is_due = |_: &PathBuf, due: &mut Instant| now.is_none_or(|now| *due <= now);
        let due: Vec<_> = self.due.extract_if(.., is_due).collect();
        for (path, _) in due {
            if let Err(error) = self.synchronise(&path) {
                tracing::warn!(path = %path.display(), %error, "a file cannot be synchronised");
            }
        }
    }

    fn synchronise(&mut self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        // Some systems want the right to write.
        let file = match codex_private_files::open(path, options.append(true)) {
            Ok(file) => file,
            // Who removes or moves a file synchronises what becomes of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.known.remove(path);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        file.sync_data()?;
        if self.known.len() > MAX_KNOWN {
            self.known.clear();
        }
        for entry in path.ancestors().take(FOLDERS) {
            if !self.known.insert(entry.to_owned()) {
                break;
            }
            codex_private_files::synchronise_entry(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_that_is_gone_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let synchroniser = Synchroniser::start().unwrap();
        std::fs::write(&path, "{}\n").unwrap();
        synchroniser.written(&path);
        synchroniser.synchronise(path.clone()).await.unwrap();
        synchroniser.written(&path);
        std::fs::remove_file(&path).unwrap();
        synchroniser.synchronise(path).await.unwrap();
    }

    #[tokio::test]
    async fn file_that_cannot_be_opened_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let synchroniser = Synchroniser::start().unwrap();
        synchroniser.written(folder.path());
        let result = synchroniser.synchronise(folder.path().to_owned()).await;
        assert!(result.is_err());
    }
}
