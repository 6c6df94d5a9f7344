//! The exclusive right of a session to write its thread. It is acquired before the first write and released
//! when the session is idle or closed.
//!
//! Several processes may have a thread loaded, but only one writes it at a time. A process may write again
//! only if nobody else changed the file in the meantime; otherwise its history would lack turns.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_protocol::{RawRolloutLine, ThreadId};
use parking_lot::Mutex;

use crate::lock::{LockError, ThreadLock, ThreadLocks};

/// Limit on the metadata lines that other processes may have appended meanwhile, in bytes.
const AMENDMENTS_LIMIT: u64 = 1024 * 1024;

/// Why a session may not write its thread.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another process writes it.
    #[error(transparent)]
    InUse(#[from] LockError),
    /// Another process has written it since it was loaded.
    #[error("thread {0} was changed by another process since it was loaded; load it again")]
    Changed(ThreadId),
}

/// The right to write a thread. It starts released.
#[derive(Debug)]
pub struct WriteClaim {
    home: PathBuf,
    thread: ThreadId,
    /// The length of the file when it was last known; none for a new thread.
    loaded: Option<u64>,
    lock: Option<ThreadLock>,
    /// A release that may not be complete yet.
    release: Option<PendingRelease>,
}

/// A lock that is released once the writer has written everything before it. Until then its session can
/// take it back.
#[derive(Clone, Debug)]
pub(crate) struct PendingRelease(Arc<Mutex<ReleaseState>>);

#[derive(Debug)]
enum ReleaseState {
    /// The writer still has lines to write.
    Pending(ThreadLock),
    /// The lock was released when the file had this length.
    Done { length: u64 },
    /// The session acquired the lock again, or it is closed.
    Cancelled,
}

impl PendingRelease {
    /// Everything is written: releases the lock.
    pub(crate) fn complete(&self, path: &Path) {
        let mut state = self.0.lock();
        if let ReleaseState::Pending(_) = &*state {
            // `u64::MAX` never equals a length, so a missing file counts as changed.
            let length = path.metadata().map_or(u64::MAX, |metadata| metadata.len());
            *state = ReleaseState::Done { length };
        }
    }

    fn cancel(&self) -> ReleaseState {
        std::mem::replace(&mut *self.0.lock(), ReleaseState::Cancelled)
    }
}

impl Drop for WriteClaim {
    fn drop(&mut self) {
        if let Some(release) = &self.release {
            release.cancel();
        }
    }
}

impl WriteClaim {
    /// For a thread without a file.
    #[must_use]
    pub fn to_new(home: &Path, thread: &ThreadId) -> Self {
        Self {
            home: home.to_owned(),
            thread: thread.clone(),
            loaded: None,
            lock: None,
            release: None,
        }
    }

    /// For a thread whose file had at least `length` bytes when it was loaded.
    #[must_use]
    pub fn to_loaded(home: &Path, thread: &ThreadId, length: u64) -> Self {
        let mut claim = Self::to_new(home, thread);
        claim.loaded = Some(length);
        claim
    }

    /// Takes the lock and checks that nobody else changed the file. Does nothing if the lock is held.
    pub(crate) fn acquire(&mut self, path: &Path) -> Result<(), ClaimError> {
        if self.lock.is_some() {
            return Ok(());
        }
        match self.release.take().map(|release| release.cancel()) {
            Some(ReleaseState::Pending(lock)) => {
                self.lock = Some(lock);
                return Ok(());
            }
            Some(ReleaseState::Done { length }) => self.loaded = Some(length),
            Some(ReleaseState::Cancelled) | None => {}
        }
        let lock = ThreadLocks::of_home(&self.home).acquire(&self.thread)?;
        if self.loaded.is_some_and(|length| !is_same(path, length)) {
            return Err(ClaimError::Changed(self.thread.clone()));
        }
        self.lock = Some(lock);
        Ok(())
    }

    /// Starts the release; none if the lock is not held.
    pub(crate) fn release(&mut self) -> Option<PendingRelease> {
        let lock = self.lock.take()?;
        let release = PendingRelease(Arc::new(Mutex::new(ReleaseState::Pending(lock))));
        self.release = Some(release.clone());
        Some(release)
    }
}

/// Whether only metadata lines were added to a file since it had this length.
fn is_same(path: &Path, length: u64) -> bool {
    let Ok(mut file) = codex_regular_file::open(path) else {
        return false;
    };
    let now = file.metadata().map_or(0, |metadata| metadata.len());
    if now < length
        || now - length > AMENDMENTS_LIMIT
        || file.seek(SeekFrom::Start(length)).is_err()
    {
        return false;
    }
    let lines = BufReader::new(file.take(now - length)).lines();
    lines
        .into_iter()
        .all(|line| line.is_ok_and(|line| line.trim().is_empty() || is_amendment(&line)))
}

fn is_amendment(line: &str) -> bool {
    RawRolloutLine::read(line).is_ok_and(|line| match &*line.kind {
        "session_meta" => true,
        "event_msg" => matches!(
            line.payload_type().as_deref(),
            Some("thread_name_updated" | "thread_settings_applied" | "thread_goal_updated")
        ),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::{LineKind, amend};

    #[test]
    fn a_thread_that_went_on_elsewhere_is_not_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let thread = ThreadId::new();
        let claim = || WriteClaim::to_loaded(home.path(), &thread, 3);
        claim().acquire(&path).unwrap();

        let at = Timestamp::UNIX_EPOCH;
        let name = json!({"type": "thread_name_updated"});
        amend(&path, at, LineKind::EventMsg, &name).unwrap();
        let mut first = claim();
        first.acquire(&path).unwrap();
        assert!(matches!(claim().acquire(&path), Err(ClaimError::InUse(_))));
        drop(first);

        amend(
            &path,
            at,
            LineKind::EventMsg,
            &json!({"type": "task_started"}),
        )
        .unwrap();
        assert!(matches!(
            claim().acquire(&path),
            Err(ClaimError::Changed(_))
        ));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(
            claim().acquire(&path),
            Err(ClaimError::Changed(_))
        ));
    }

    #[test]
    fn released_claim_can_be_taken_by_another_process() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let thread = ThreadId::new();
        let claim = |length| WriteClaim::to_loaded(home.path(), &thread, length);
        let mut first = claim(3);
        assert!(first.release().is_none());
        first.acquire(&path).unwrap();
        // The release is not complete, so nobody else may write.
        let release = first.release().unwrap();
        assert!(claim(3).acquire(&path).is_err());
        first.acquire(&path).unwrap();
        release.complete(&path);
        assert!(claim(3).acquire(&path).is_err(), "it was taken again");
        // Lines written under this claim do not count as a change.
        std::fs::write(&path, "{}\n{\"more\":1}\n").unwrap();
        first.release().unwrap().complete(&path);
        claim(14).acquire(&path).unwrap();
        first.acquire(&path).unwrap();
        // Lines of another process do.
        first.release().unwrap().complete(&path);
        std::fs::write(&path, "{}\n{\"more\":1}\n{\"other\":1}\n").unwrap();
        let refused = first.acquire(&path);
        assert!(
            matches!(refused, Err(ClaimError::Changed(_))),
            "{refused:?}"
        );
        // A claim that is dropped releases its lock.
        let mut last = claim(26);
        last.acquire(&path).unwrap();
        let _returning = last.release();
        drop(last);
        claim(26).acquire(&path).unwrap();
    }
}
