//! Locks that let one process at a time write a thread.
//!
//! A lock is a byte-range lock on one byte of a file in the home folder; the offset is derived from the
//! thread id. The operating system releases it when the process ends, and on Unix it reports the process that holds
//! it. If the file cannot be created or the system has no such locks, threads are not locked: a folder that
//! cannot be written to needs none.

#[cfg(unix)]
#[path = "lock/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "lock/windows.rs"]
mod system;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use codex_protocol::ThreadId;
use parking_lot::Mutex;

/// The lock file under the home folder. It stays empty.
const FILE: &str = "threads.lock";

/// The thread locks of one home folder, as held by this process.
///
/// There is one instance per home folder, and its file stays open: closing it would release every lock.
#[derive(Debug)]
pub struct ThreadLocks {
    file: Option<File>,
    held: Mutex<HashSet<u64>>,
}

/// An exclusive lock on a thread. Dropping it releases the lock.
#[derive(Debug)]
pub struct ThreadLock {
    locks: Arc<ThreadLocks>,
    offset: u64,
}

/// The process that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The process id; none if it is not visible, for example in another container.
    pub pid: Option<u32>,
}

/// A lock held by some process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLock {
    offset: u64,
    /// The process that holds it.
    pub holder: LockHolder,
}

/// Another process holds the lock of the thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("thread {thread} already has an active writer: {holder}")]
pub struct LockError {
    thread: ThreadId,
    holder: LockHolder,
}

impl LockError {
    #[must_use]
    pub fn new(thread: &ThreadId, holder: LockHolder) -> Self {
        let thread = thread.clone();
        Self { thread, holder }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) if pid == std::process::id() => formatter.write_str("this process"),
            Some(pid) => write!(formatter, "another process (pid {pid})"),
            None => formatter.write_str("another process"),
        }
    }
}

impl ThreadLocks {
    /// The locks of a home folder, shared within the process.
    #[must_use]
    pub fn of_home(home: &Path) -> Arc<Self> {
        static ALL: OnceLock<Mutex<HashMap<PathBuf, Arc<ThreadLocks>>>> = OnceLock::new();
        let mut all = ALL.get_or_init(Mutex::default).lock();
        if let Some(locks) = all.get(home) {
            return Arc::clone(locks);
        }
        let canonical = dunce::canonicalize(home).unwrap_or_else(|_| home.to_owned());
        let locks = all.entry(canonical).or_insert_with_key(|home| {
            let path = home.join(FILE);
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = codex_private_files::open(&path, &mut options).inspect_err(|error| {
                tracing::warn!(path = %path.display(), %error, "threads cannot be locked");
            });
            Arc::new(Self {
                file: file.ok(),
                held: Mutex::default(),
            })
        });
        let locks = Arc::clone(locks);
        all.insert(home.to_owned(), Arc::clone(&locks));
        locks
    }

    /// Acquires the lock of a thread.
    ///
    /// # Errors
    /// Another process, or another part of this one, holds it.
    pub fn acquire(self: &Arc<Self>, thread: &ThreadId) -> Result<ThreadLock, LockError> {
        let offset = offset_of(thread);
        let mut held = self.held.lock();
        let refused = |holder| LockError {
            thread: thread.clone(),
            holder,
        };
        if held.contains(&offset) {
            let pid = Some(std::process::id());
            return Err(refused(LockHolder { pid }));
        }
        if let Some(file) = &self.file
            && !system::take(file, offset)
        {
            let holder = system::first(file, offset, 1).map(|held| held.holder);
            return Err(refused(holder.unwrap_or(LockHolder { pid: None })));
        }
        held.insert(offset);
        Ok(ThreadLock {
            locks: Arc::clone(self),
            offset,
        })
    }

    /// The other process that holds the lock of a thread.
    #[must_use]
    pub fn other_holder(&self, thread: &ThreadId) -> Option<LockHolder> {
        let file = self.file.as_ref()?;
        let offset = offset_of(thread);
        // Nobody of this process takes the lock meanwhile, because some systems find out by taking it.
        let own = self.held.lock();
        let may_be_held = !own.contains(&offset);
        let held = may_be_held.then(|| system::first(file, offset, 1));
        held.flatten().map(|held| held.holder)
    }

    /// All locks on threads of a home folder that other processes hold, as far as the system lists them. Creates no file.
    #[must_use]
    pub fn held_by_others(home: &Path) -> Vec<HeldLock> {
        let mut all = Vec::new();
        if !home.join(FILE).exists() {
            return all;
        }
        let locks = Self::of_home(home);
        let mut from = 0;
        // Length 0 means up to the end of the file.
        while let Some(found) = locks
            .file
            .as_ref()
            .and_then(|file| system::first(file, from, 0))
        {
            all.push(found);
            from = found.offset + 1;
        }
        all
    }
}

impl HeldLock {
    /// Whether it is the lock of this thread.
    #[must_use]
    pub fn is_of(&self, thread: &ThreadId) -> bool {
        self.offset == offset_of(thread)
    }
}

impl Drop for ThreadLock {
    fn drop(&mut self) {
        let mut held = self.locks.held.lock();
        if let Some(file) = &self.locks.file {
            system::release(file, self.offset);
        }
        held.remove(&self.offset);
    }
}

/// The offset of a thread's lock byte, from the random part of the id.
fn offset_of(thread: &ThreadId) -> u64 {
    let id = uuid::Uuid::try_parse(thread.as_str()).unwrap_or_default();
    // The system takes offsets as signed numbers.
    id.as_u64_pair().1 & (u64::MAX >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_locked_once() {
        let home = tempfile::tempdir().unwrap();
        let locks = ThreadLocks::of_home(home.path());
        let (one, two) = (ThreadId::new(), ThreadId::new());
        let lock = locks.acquire(&one).unwrap();
        let refused = ThreadLocks::of_home(home.path()).acquire(&one).unwrap_err();
        let expected = format!("thread {one} already has an active writer: this process");
        assert_eq!(refused.to_string(), expected);
        assert!(locks.acquire(&two).is_ok());
        drop(lock);
        assert!(locks.acquire(&one).is_ok());
        assert_eq!(ThreadLocks::held_by_others(home.path()), []);
    }

    #[test]
    fn without_a_file_there_are_no_locks_between_processes() {
        let locks = ThreadLocks::of_home(Path::new("/no/such/folder"));
        let lock = locks.acquire(&ThreadId::new());
        assert!(lock.is_ok());
    }
}
