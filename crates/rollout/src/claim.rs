//! The right of a session to write its thread: claimed when it first has something to write, kept
//! until it is over.
//!
//! Two processes may have a thread loaded; the one that goes on with it first is the one that writes.
//! Once it is gone, the other one may go on only if the file is as it was loaded: what it remembers
//! would lack turns otherwise.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

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
        }
    }

    /// To a thread whose file was at least this long when it was loaded.
    #[must_use]
    pub fn to_loaded(home: &Path, thread: &ThreadId, length: u64) -> Self {
        Self {
            loaded: Some(length),
            ..Self::to_new(home, thread)
        }
    }

    /// Makes it good, if it is not yet.
    pub(crate) fn make_good(&mut self, path: &Path) -> Result<(), ClaimError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let lock = Locks::of_home(&self.home).acquire(&self.thread)?;
        if self.loaded.is_some_and(|length| !is_same(path, length)) {
            return Err(ClaimError::Changed(self.thread.clone()));
        }
        self.lock = Some(lock);
        Ok(())
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
}
