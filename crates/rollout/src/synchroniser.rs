//! Brings what was written onto the disk, so that a power cut takes the last second only.
//!
//! There is one thread per writer. A file is synchronised [`DELAY`] after it was written to, so that many writes become one
//! synchronisation; nobody waits for that. What must not be removed before something else is on the disk waits for
//! [`Synchroniser::synchronise`]. The thread looks again by itself before anything that is written meanwhile can be due, and is
//! woken for that only once it rests because nothing was written for a while.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// How long something that was written may be missing from the disk.
const DELAY: Duration = Duration::from_millis(500);
/// The folders from a file to the home folder.
const FOLDERS: usize = 5;
/// How many files are known whose entries are on the disk.
const MAX_KNOWN: usize = 4096;

/// Somebody who is told when a file is on the disk.
type DiskWaiter = oneshot::Sender<io::Result<()>>;

/// The handle of the thread, which ends when the last handle is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Synchroniser(Arc<LastHandle>);

#[derive(Debug)]
struct LastHandle(Arc<WrittenFiles>);

impl Drop for LastHandle {
    fn drop(&mut self) {
        self.0.files.lock().has_ended = true;
        self.0.changed.notify_one();
    }
}

/// What the thread has to do.
#[derive(Debug, Default)]
struct WrittenFiles {
    files: Mutex<WaitingFiles>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingFiles {
    /// By the path as it is written, which is compared much faster than the components of a path.
    waiting: HashMap<OsString, WaitingFile>,
    /// The file that is being synchronised, and who waits for what it had when that began.
    current: Option<(PathBuf, Vec<DiskWaiter>)>,
    has_ended: bool,
    /// Whether the thread sleeps until it is woken.
    rests: bool,
}

#[derive(Debug)]
struct WaitingFile {
    due: Instant,
    waiters: Vec<DiskWaiter>,
}

impl Synchroniser {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let files = Arc::new(WrittenFiles::default());
        let handle = Self(Arc::new(LastHandle(Arc::clone(&files))));
        thread::Builder::new()
            .name("rollout-disk".to_owned())
            .spawn(move || files.serve())?;
        Ok(handle)
    }

    /// A file was written to: it is synchronised soon.
    pub(crate) fn written(&self, path: &Path) {
        let mut files = self.0.0.files.lock();
        if files.waiting.contains_key(path.as_os_str()) {
            return;
        }
        let file = WaitingFile {
            due: Instant::now() + DELAY,
            waiters: Vec::new(),
        };
        files.waiting.insert(path.into(), file);
        let rests = files.rests;
        drop(files);
        if rests {
            self.0.0.changed.notify_one();
        }
    }

    /// Waits until what was written to the file before is on the disk, which is done at once.
    pub(crate) fn synchronise(
        &self,
        path: &Path,
    ) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let (waiter, finished) = oneshot::channel();
        self.hurry(path, waiter);
        self.0.0.changed.notify_one();
        async move {
            let ended = |_| io::Error::other("the thread that synchronises files has ended");
            finished.await.map_err(ended)?
        }
    }

    fn hurry(&self, path: &Path, waiter: DiskWaiter) {
        let mut files = self.0.0.files.lock();
        if let Some(file) = files.waiting.get_mut(path.as_os_str()) {
            file.due = Instant::now();
            file.waiters.push(waiter);
        } else if let Some((current, waiters)) = &mut files.current
            && current == path
        {
            waiters.push(waiter);
        } else {
            let _ = waiter.send(Ok(()));
        }
    }
}

impl WrittenFiles {
    fn serve(&self) {
        let mut known = KnownEntries::default();
        while let Some(path) = self.next() {
            let result = known.synchronise(&path);
            if let Err(error) = &result {
                tracing::warn!(path = %path.display(), %error, "a file cannot be synchronised");
            }
            let current = self.files.lock().current.take();
            for waiter in current.into_iter().flat_map(|(_, waiters)| waiters) {
                let copied = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
                let _ = waiter.send(result.as_ref().copied().map_err(copied));
            }
        }
    }

    /// Waits for the next file that is due. None at the end.
    fn next(&self) -> Option<PathBuf> {
        let mut files = self.files.lock();
        let mut is_quiet = false;
        loop {
            let first = files.waiting.iter().min_by_key(|(_, file)| file.due);
            let Some((path, due)) = first.map(|(path, file)| (path.clone(), file.due)) else {
                if files.has_ended {
                    return None;
                }
                if is_quiet {
                    files.rests = true;
                    self.changed.wait(&mut files);
                    files.rests = false;
                } else {
                    is_quiet = self.changed.wait_for(&mut files, DELAY).timed_out();
                }
                continue;
            };
            if files.has_ended || due <= Instant::now() {
                let file = files.waiting.remove(&path)?;
                let path = PathBuf::from(path);
                files.current = Some((path.clone(), file.waiters));
                return Some(path);
            }
            self.changed.wait_until(&mut files, due);
        }
    }
}

/// Files and folders whose entries are on the disk.
#[derive(Default)]
struct KnownEntries(HashSet<PathBuf>);

impl KnownEntries {
    fn synchronise(&mut self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        // Some systems want the right to write.
        let file = match codex_private_files::open(path, options.append(true)) {
            Ok(file) => file,
            // Who removes or moves a file synchronises what becomes of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.0.remove(path);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        file.sync_data()?;
        if self.0.len() > MAX_KNOWN {
            self.0.clear();
        }
        for entry in path.ancestors().take(FOLDERS) {
            if !self.0.insert(entry.to_owned()) {
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
        synchroniser.synchronise(&path).await.unwrap();
        synchroniser.written(&path);
        std::fs::remove_file(&path).unwrap();
        synchroniser.synchronise(&path).await.unwrap();
    }

    #[tokio::test]
    async fn file_that_cannot_be_opened_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let synchroniser = Synchroniser::start().unwrap();
        synchroniser.written(folder.path());
        let result = synchroniser.synchronise(folder.path()).await;
        assert!(result.is_err());
    }

    #[tokio::test]
    async fn last_dropped_handle_synchronises_pending_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let synchroniser = Synchroniser::start().unwrap();
        std::fs::write(&path, "{}\n").unwrap();
        synchroniser.written(&path);
        let synchronised = synchroniser.synchronise(&path);
        drop(synchroniser);
        synchronised.await.unwrap();
    }
}
