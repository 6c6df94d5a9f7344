//! Assigns bundles to sessions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use codex_core::{Observer, Observers, StartingThread};
use codex_protocol::{SessionSource, SubAgentSource, ThreadId};
use codex_rollout_trace::Recorder;
use codex_rollout_trace::format::Schema;
use parking_lot::Mutex;

use crate::history::UnreadHistory;
use crate::payloads::SessionMetadata;
use crate::process_state::SharedTraceState;
use crate::session::SessionTrace;
use crate::settings::SessionSettings;

/// The traces of a process.
#[derive(Debug)]
pub struct Traces {
    root: PathBuf,
    schema: Schema,
    sessions: Mutex<HashMap<ThreadId, Weak<SessionTrace>>>,
    process: Arc<SharedTraceState>,
}

impl Traces {
    /// Creates a bundle for every root session below `root`, which is created if missing.
    #[must_use]
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            schema: Schema::default(),
            sessions: Mutex::default(),
            process: Arc::default(),
        }
    }

    /// Sets the format version of new bundles.
    #[must_use]
    pub fn in_schema(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// The folder of the bundles.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Blocks until everything recorded was written or has failed. False after the time limit `patience`. Call it
    /// at the end of the process.
    #[must_use]
    pub fn flush(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let open: Vec<_> = self
            .sessions
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .map(|session| session.recorder().clone())
            .collect();
        let closing = self.process.closing();
        let left = || until.saturating_duration_since(Instant::now());
        open.iter()
            .chain(&closing)
            .all(|recorder| recorder.flush(left()))
    }

    /// The recorder for a thread, and whether the bundle is its own. Resumed agents are not recorded, because the
    /// bundle of their parent may already contain them.
    fn recorder(&self, thread: &StartingThread<'_>) -> Option<(Recorder, bool)> {
        if let SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) = &thread.config.source
        {
            let parent = self.sessions.lock().get(parent_thread_id)?.upgrade()?;
            let recorder = parent.recorder().clone();
            return (!thread.is_resumed).then_some((recorder, false));
        }
        match Recorder::start_in(&self.root, &thread.thread.as_str().into(), self.schema) {
            Ok(recorder) => Some((recorder, true)),
            Err(error) => {
                tracing::warn!(%error, "the session is not traced");
                None
            }
        }
    }
}

impl Observers for Traces {
    fn observe(&self, thread: &StartingThread<'_>) -> Option<Arc<dyn Observer>> {
        let (recorder, is_root) = self.recorder(thread)?;
        let metadata = SessionMetadata::of(thread);
        let process = Arc::clone(&self.process);
        let root = is_root.then(|| (SessionSettings::of(thread), UnreadHistory::of(thread)));
        let session = Arc::new(SessionTrace::begin(recorder, root, metadata, process));
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        sessions.insert(thread.thread.clone(), Arc::downgrade(&session));
        Some(session)
    }
}
