//! Who writes a thread: one process at a time.
//!
//! A lock is a byte of a file in the home folder, at a place that the id of the thread tells. The
//! system takes it back when the process ends, however it ends, so that nothing is left behind; and it
//! tells which process has it. Where the file cannot be made, or the system has no such locks, there
//! are none: a folder that cannot be written to needs none.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use codex_protocol::ThreadId;

/// The file, under the home folder. It stays empty.
const FILE: &str = "threads.lock";

/// The locks of the threads of a home folder, for this process.
///
/// There is one for each folder, and its file stays open: closing it would give up every lock.
#[derive(Debug)]
pub struct Locks {
    file: Option<File>,
    held: Mutex<HashSet<u64>>,
}

/// The right to write a thread, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    locks: Arc<Locks>,
    place: u64,
}

/// The process that writes a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id; none if it is out of sight, in another container for example.
    pub pid: Option<u32>,
}

/// A lock that some process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    place: u64,
    /// The process.
    pub holder: Holder,
}

/// Somebody else writes the thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("thread {thread} is in use by {holder}")]
pub struct LockError {
    thread: ThreadId,
    holder: Holder,
}

impl LockError {
    /// `holder` writes `thread`.
    #[must_use]
    pub fn new(thread: &ThreadId, holder: Holder) -> Self {
        let thread = thread.clone();
        Self { thread, holder }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) if pid == std::process::id() => formatter.write_str("this process"),
            Some(pid) => write!(formatter, "another process (pid {pid})"),
            None => formatter.write_str("another process"),
        }
    }
}

impl Locks {
    /// The locks of a home folder.
    #[must_use]
    pub fn of_home(home: &Path) -> Arc<Self> {
        static ALL: OnceLock<Mutex<HashMap<PathBuf, Arc<Locks>>>> = OnceLock::new();
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let mut all = guard(ALL.get_or_init(Mutex::default));
        let locks = all.entry(home).or_insert_with_key(|home| {
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
        Arc::clone(locks)
    }

    /// Takes the lock of a thread.
    ///
    /// # Errors
    /// Another process has it, or another part of this one.
    pub fn acquire(self: &Arc<Self>, thread: &ThreadId) -> Result<Lock, LockError> {
        let place = place_of(thread);
        let mut held = guard(&self.held);
        let refused = |holder| LockError {
            thread: thread.clone(),
            holder,
        };
        if held.contains(&place) {
            let pid = Some(std::process::id());
            return Err(refused(Holder { pid }));
        }
        if let Some(file) = &self.file
            && !system::take(file, place)
        {
            let holder = system::first(file, place, 1).map(|held| held.holder);
            return Err(refused(holder.unwrap_or(Holder { pid: None })));
        }
        held.insert(place);
        Ok(Lock {
            locks: Arc::clone(self),
            place,
        })
    }

    /// The other process that writes a thread.
    #[must_use]
    pub fn other_holder(&self, thread: &ThreadId) -> Option<Holder> {
        let file = self.file.as_ref()?;
        system::first(file, place_of(thread), 1).map(|held| held.holder)
    }

    /// Every lock on threads of a home folder that other processes have. Makes no file.
    #[must_use]
    pub fn held_by_others(home: &Path) -> Vec<Held> {
        let mut all = Vec::new();
        if !home.join(FILE).exists() {
            return all;
        }
        let locks = Self::of_home(home);
        let mut from = 0;
        // What is left open in length reaches to the end.
        while let Some(found) = locks
            .file
            .as_ref()
            .and_then(|file| system::first(file, from, 0))
        {
            all.push(found);
            from = found.place + 1;
        }
        all
    }
}

impl Held {
    /// Whether it is the lock of this thread.
    #[must_use]
    pub fn is_of(&self, thread: &ThreadId) -> bool {
        self.place == place_of(thread)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut held = guard(&self.locks.held);
        if let Some(file) = &self.locks.file {
            system::give_back(file, self.place);
        }
        held.remove(&self.place);
    }
}

/// The random part of the id.
fn place_of(thread: &ThreadId) -> u64 {
    let id = uuid::Uuid::try_parse(thread.as_str()).unwrap_or_default();
    // Places are signed numbers to the system.
    id.as_u64_pair().1 & (u64::MAX >> 2)
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single insertion or removal: a panic leaves nothing half-done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
mod system {
    //! Record locks, which the standard library does not have.

    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::{Held, Holder};

    pub(super) fn take(file: &File, place: u64) -> bool {
        let mut lock = record(libc::F_WRLCK as libc::c_short, place, 1);
        control(file, libc::F_SETLK, &mut lock)
    }

    pub(super) fn give_back(file: &File, place: u64) {
        let mut lock = record(libc::F_UNLCK as libc::c_short, place, 1);
        control(file, libc::F_SETLK, &mut lock);
    }

    /// The first lock of another process from `place` on; `length` 0 reaches to the end.
    pub(super) fn first(file: &File, place: u64, length: i64) -> Option<Held> {
        let mut lock = record(libc::F_WRLCK as libc::c_short, place, length);
        let answered = control(file, libc::F_GETLK, &mut lock);
        if !answered || lock.l_type == libc::F_UNLCK as libc::c_short {
            return None;
        }
        let pid = u32::try_from(lock.l_pid).ok().filter(|pid| *pid != 0);
        Some(Held {
            place: lock.l_start.unsigned_abs(),
            holder: Holder { pid },
        })
    }

    #[allow(unsafe_code)]
    fn record(kind: libc::c_short, place: u64, length: i64) -> libc::flock {
        // SAFETY: a plain structure of numbers, for which zero is a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = libc::off_t::try_from(place).unwrap_or_default();
        lock.l_len = length;
        lock
    }

    #[allow(unsafe_code)]
    fn control(file: &File, command: libc::c_int, lock: &mut libc::flock) -> bool {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call reads and
        // writes nothing but the structure.
        unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) == 0 }
    }
}

#[cfg(not(unix))]
mod system {
    //! There are no record locks: every process may write.

    use std::fs::File;

    use super::Held;

    pub(super) fn take(_: &File, _: u64) -> bool {
        true
    }

    pub(super) fn give_back(_: &File, _: u64) {}

    pub(super) fn first(_: &File, _: u64, _: i64) -> Option<Held> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_locked_once() {
        let home = tempfile::tempdir().unwrap();
        let locks = Locks::of_home(home.path());
        let (one, two) = (ThreadId::new(), ThreadId::new());
        let lock = locks.acquire(&one).unwrap();
        let refused = Locks::of_home(home.path()).acquire(&one).unwrap_err();
        let expected = format!("thread {one} is in use by this process");
        assert_eq!(refused.to_string(), expected);
        assert!(locks.acquire(&two).is_ok());
        drop(lock);
        assert!(locks.acquire(&one).is_ok());
        assert_eq!(Locks::held_by_others(home.path()), []);
    }

    #[test]
    fn without_a_file_there_are_no_locks_between_processes() {
        let locks = Locks::of_home(Path::new("/no/such/folder"));
        let lock = locks.acquire(&ThreadId::new());
        assert!(lock.is_ok());
    }
}
