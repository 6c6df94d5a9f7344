//! Assigns bundles to sessions.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use codex_core::{Observer, Observers, StartingThread};
use codex_protocol::{SessionSource, SubAgentSource, ThreadId};
use codex_rollout_trace::format::Schema;
use codex_rollout_trace::{Recorder, RecordingLimits};
use parking_lot::Mutex;

use crate::history::UnreadHistory;
use crate::payloads::SessionMetadata;
use crate::process_state::SharedTraceState;
use crate::session::SessionTrace;
use crate::settings::SessionSettings;

/// What a thread is in its bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TracedThread {
    Root,
    Agent,
    /// It was in the bundle before.
    ResumedAgent,
}

/// The traces of a process.
#[derive(Debug)]
pub struct Traces {
    root: PathBuf,
    schema: Schema,
    limits: Mutex<RecordingLimits>,
    sessions: Mutex<HashMap<ThreadId, Weak<SessionTrace>>>,
    /// The agents that a bundle contains.
    agents: Mutex<HashSet<ThreadId>>,
    process: Arc<SharedTraceState>,
}

impl Traces {
    /// Creates a bundle for every root session below `root`, which is created if missing.
    #[must_use]
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            schema: Schema::NEWEST,
            limits: Mutex::default(),
            sessions: Mutex::default(),
            agents: Mutex::default(),
            process: Arc::default(),
        }
    }

    /// Sets the format version of new bundles.
    #[must_use]
    pub fn in_schema(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// Limits what is recorded of sessions that start from now on.
    pub fn record_within(&self, limits: RecordingLimits) {
        *self.limits.lock() = limits;
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

    /// The recorder for a thread, and what the thread is in the bundle. Agents that are loaded again are recorded only in
    /// the later form, and only in the bundle that they began in.
    fn recorder(&self, thread: &StartingThread<'_>) -> Option<(Recorder, TracedThread)> {
        if let SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) = &thread.config.identity.source
        {
            let parent = self.sessions.lock().get(parent_thread_id)?.upgrade()?;
            let recorder = parent.recorder().clone();
            let is_new = self.agents.lock().insert(thread.thread.clone());
            return match (thread.is_resumed, self.schema) {
                (false, _) => Some((recorder, TracedThread::Agent)),
                (true, schema) if schema.has_ids() && !is_new => {
                    Some((recorder, TracedThread::ResumedAgent))
                }
                (true, _) => None,
            };
        }
        let (root, limits) = (&self.root, *self.limits.lock());
        match Recorder::start_within(root, &thread.thread.as_str().into(), self.schema, limits) {
            Ok(recorder) => Some((recorder, TracedThread::Root)),
            Err(error) => {
                tracing::warn!(%error, "the session is not traced");
                None
            }
        }
    }
}

impl Observers for Traces {
    fn observe(&self, thread: &StartingThread<'_>) -> Option<Arc<dyn Observer>> {
        let (recorder, kind) = self.recorder(thread)?;
        let metadata = SessionMetadata::for_thread(thread);
        let process = Arc::clone(&self.process);
        let root = (kind == TracedThread::Root).then(|| {
            (
                SessionSettings::for_thread(thread),
                UnreadHistory::for_thread(thread),
            )
        });
        let session = Arc::new(match kind {
            TracedThread::ResumedAgent => SessionTrace::resume(recorder, thread.thread, process),
            _ => SessionTrace::begin(recorder, root, metadata, process),
        });
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        sessions.insert(thread.thread.clone(), Arc::downgrade(&session));
        Some(session)
    }
}
