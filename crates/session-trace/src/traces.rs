//! Which session is written down where.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use codex_core::{Beginning, Observer, Observers};
use codex_protocol::{SessionSource, SubAgentSource, ThreadId};
use codex_rollout_trace::Recorder;

use crate::payloads::SessionMetadata;
use crate::session::SessionTrace;

/// The traces of a process.
#[derive(Debug)]
pub struct Traces {
    root: PathBuf,
    sessions: Mutex<HashMap<ThreadId, Weak<SessionTrace>>>,
    office: Arc<Office>,
}

/// What all sessions of the process share.
#[derive(Debug, Default)]
pub(crate) struct Office {
    compactions: AtomicU64,
    /// Recorders of sessions that are over, as far as they may have something left to write.
    closing: Mutex<Vec<Recorder>>,
}

impl Office {
    /// The number of the next request for a compaction.
    pub(crate) fn next_compaction(&self) -> u64 {
        self.compactions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Keeps the recorder of a session that is over until all of it is written.
    pub(crate) fn close(&self, recorder: &Recorder) {
        let mut closing = lock(&self.closing);
        closing.retain(is_writing);
        if is_writing(recorder) {
            closing.push(recorder.clone());
        }
    }
}

fn is_writing(recorder: &Recorder) -> bool {
    !recorder.flush(Duration::ZERO)
}

impl Traces {
    /// Every root session begins a bundle below `root`, which is made if it is missing.
    #[must_use]
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            sessions: Mutex::default(),
            office: Arc::default(),
        }
    }

    /// Waits until everything that was recorded is written or lost; false when that takes longer than
    /// `patience`. Blocks: for the end of the process.
    #[must_use]
    pub fn flush(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let open: Vec<_> = lock(&self.sessions)
            .values()
            .filter_map(Weak::upgrade)
            .map(|session| session.recorder().clone())
            .collect();
        let closing = lock(&self.office.closing).clone();
        let left = || until.saturating_duration_since(Instant::now());
        open.iter()
            .chain(&closing)
            .all(|recorder| recorder.flush(left()))
    }

    /// The recorder for a thread, and whether the bundle is its own. A resumed agent is not recorded:
    /// the bundle of its parent may have it already.
    fn recorder(&self, thread: &Beginning<'_>) -> Option<(Recorder, bool)> {
        if let SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) = &thread.config.source
        {
            let parent = lock(&self.sessions).get(parent_thread_id)?.upgrade()?;
            let recorder = parent.recorder().clone();
            return (!thread.is_resumed).then_some((recorder, false));
        }
        match Recorder::start(&self.root, &thread.thread.as_str().into()) {
            Ok(recorder) => Some((recorder, true)),
            Err(error) => {
                tracing::warn!(%error, "the session is not traced");
                None
            }
        }
    }
}

impl Observers for Traces {
    fn observe(&self, thread: &Beginning<'_>) -> Option<Arc<dyn Observer>> {
        let (recorder, is_root) = self.recorder(thread)?;
        let metadata = SessionMetadata::of(thread);
        let office = Arc::clone(&self.office);
        let session = Arc::new(SessionTrace::begin(recorder, is_root, metadata, office));
        let mut sessions = lock(&self.sessions);
        sessions.retain(|_, session| session.strong_count() > 0);
        sessions.insert(thread.thread.clone(), Arc::downgrade(&session));
        Some(session)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere must not end the recording; what the locks hold is whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
