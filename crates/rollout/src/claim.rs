//! The right of a session to write its thread: claimed when it has something to write, given back when it
//! is idle or over.
//!
//! Several processes may have a thread loaded; one at a time goes on with it. Another one may go on after
//! that only if the file is as it knows it: what it remembers would lack turns otherwise.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codex_protocol::{RawRolloutLine, ThreadId};

use crate::lock::{Lock, LockError, Locks};

/// What was said of a thread meanwhile is not longer than this.
const AMENDMENTS: u64 = 1024 * 1024;

/// Why a session may not write its thread.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another process does.
    #[error(transparent)]
    InUse(#[from] LockError),
    /// Another process did.
    #[error("thread {0} was changed by another process since it was loaded; load it again")]
    Changed(ThreadId),
}

/// A right that is made good when it is needed.
#[derive(Debug)]
pub struct Claim {
    home: PathBuf,
    thread: ThreadId,
    /// How long the file was when it was loaded.
    loaded: Option<u64>,
    lock: Option<Lock>,
    /// The lock while it is on its way back.
    returning: Option<Returning>,
}

/// A lock that is given back once everything that was written with it is in the file. Until then its
/// session may take it again.
#[derive(Clone, Debug)]
pub(crate) struct Returning(Arc<Mutex<Return>>);

#[derive(Debug)]
enum Return {
    /// There is still something to write.
    Pending(Lock),
    /// It was given back when the file was this long.
    Done { length: u64 },
    /// The session took it again, or is over.
    Cancelled,
}

impl Returning {
    /// Everything is written: gives the lock back.
    pub(crate) fn complete(&self, path: &Path) {
        let mut state = self.lock();
        if let Return::Pending(_) = &*state {
            // A file that is gone is not the one that the session knows.
            let length = path.metadata().map_or(u64::MAX, |metadata| metadata.len());
            *state = Return::Done { length };
        }
    }

    fn cancel(&self) -> Return {
        std::mem::replace(&mut *self.lock(), Return::Cancelled)
    }

    fn lock(&self) -> MutexGuard<'_, Return> {
        // Every change is a single assignment: a panic leaves nothing half-done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(returning) = &self.returning {
            returning.cancel();
        }
    }
}

impl Claim {
    /// To a new thread.
    #[must_use]
    pub fn to_new(home: &Path, thread: &ThreadId) -> Self {
        Self {
            home: home.to_owned(),
            thread: thread.clone(),
            loaded: None,
            lock: None,
            returning: None,
        }
    }

    /// To a thread whose file was at least this long when it was loaded.
    #[must_use]
    pub fn to_loaded(home: &Path, thread: &ThreadId, length: u64) -> Self {
        let mut claim = Self::to_new(home, thread);
        claim.loaded = Some(length);
        claim
    }

    /// Makes it good, if it is not yet.
    pub(crate) fn make_good(&mut self, path: &Path) -> Result<(), ClaimError> {
        if self.lock.is_some() {
            return Ok(());
        }
        match self.returning.take().map(|returning| returning.cancel()) {
            Some(Return::Pending(lock)) => {
                self.lock = Some(lock);
                return Ok(());
            }
            Some(Return::Done { length }) => self.loaded = Some(length),
            Some(Return::Cancelled) | None => {}
        }
        let lock = Locks::of_home(&self.home).acquire(&self.thread)?;
        if self.loaded.is_some_and(|length| !is_same(path, length)) {
            return Err(ClaimError::Changed(self.thread.clone()));
        }
        self.lock = Some(lock);
        Ok(())
    }

    /// Begins to give it back, if it was made good.
    pub(crate) fn give_back(&mut self) -> Option<Returning> {
        let lock = self.lock.take()?;
        let returning = Returning(Arc::new(Mutex::new(Return::Pending(lock))));
        self.returning = Some(returning.clone());
        Some(returning)
    }
}

/// Whether nothing was added to a file but what is said of its thread.
fn is_same(path: &Path, length: u64) -> bool {
    let Ok(mut file) = File::open(path) else {
        return false;
    };
    let now = file.metadata().map_or(0, |metadata| metadata.len());
    if now < length || now - length > AMENDMENTS || file.seek(SeekFrom::Start(length)).is_err() {
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
        "event_msg" => line.payload_type().as_deref() == Some("thread_name_updated"),
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
        let claim = || Claim::to_loaded(home.path(), &thread, 3);
        claim().make_good(&path).unwrap();

        let at = Timestamp::UNIX_EPOCH;
        let name = json!({"type": "thread_name_updated"});
        amend(&path, at, LineKind::EventMsg, &name).unwrap();
        let mut first = claim();
        first.make_good(&path).unwrap();
        assert!(matches!(
            claim().make_good(&path),
            Err(ClaimError::InUse(_))
        ));
        drop(first);

        amend(
            &path,
            at,
            LineKind::EventMsg,
            &json!({"type": "task_started"}),
        )
        .unwrap();
        assert!(matches!(
            claim().make_good(&path),
            Err(ClaimError::Changed(_))
        ));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(
            claim().make_good(&path),
            Err(ClaimError::Changed(_))
        ));
    }

    #[test]
    fn a_claim_that_is_given_back_is_another_process_s_until_it_is_made_good_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let thread = ThreadId::new();
        let claim = |length| Claim::to_loaded(home.path(), &thread, length);
        let mut first = claim(3);
        assert!(first.give_back().is_none());
        first.make_good(&path).unwrap();
        // Not everything is written yet: nobody else may write.
        let returning = first.give_back().unwrap();
        assert!(claim(3).make_good(&path).is_err());
        first.make_good(&path).unwrap();
        returning.complete(&path);
        assert!(claim(3).make_good(&path).is_err(), "it was taken again");
        // What was written with it is no change.
        std::fs::write(&path, "{}\n{\"more\":1}\n").unwrap();
        first.give_back().unwrap().complete(&path);
        claim(14).make_good(&path).unwrap();
        first.make_good(&path).unwrap();
        // What somebody else writes is one.
        first.give_back().unwrap().complete(&path);
        std::fs::write(&path, "{}\n{\"more\":1}\n{\"other\":1}\n").unwrap();
        let refused = first.make_good(&path);
        assert!(
            matches!(refused, Err(ClaimError::Changed(_))),
            "{refused:?}"
        );
        // A session that is over leaves nothing behind.
        let mut last = claim(26);
        last.make_good(&path).unwrap();
        let _returning = last.give_back();
        drop(last);
        claim(26).make_good(&path).unwrap();
    }
}
