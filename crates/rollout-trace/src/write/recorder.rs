//! The handle that a session records with.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use super::bundle::{BundleFiles, CreateError};
use super::orphans::Orphans;
use super::payload::Payloads;
use super::queue::{BuildEvent, Queue, Queued, Scope};
use super::sink::RecordingLimits;
use super::worker::Worker;
use crate::format::{Event, LOG_FILE, LogLine, Manifest, PAYLOADS_DIR, Schema};
use crate::ids::{RolloutId, ThreadId};

/// This many events may wait to be written.
const MAX_QUEUED: usize = 4096;

/// A handle on one bundle, or on none. Clones share the bundle; the threads of one rollout share a recorder.
#[derive(Clone, Default)]
pub struct Recorder(Option<Arc<QueueCloser>>);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.is_on() { "on" } else { "off" };
        write!(f, "Recorder({state})")
    }
}

/// What the handles share. The bundle is complete when the last of them is gone.
struct QueueCloser {
    state: Arc<RecorderState>,
}

impl Drop for QueueCloser {
    fn drop(&mut self) {
        self.state.queue.close();
    }
}

/// What the handles and the writing thread share.
pub(super) struct RecorderState {
    pub(super) rollout_id: RolloutId,
    pub(super) queue: Queue,
    pub(super) orphans: Orphans,
}

impl Recorder {
    /// A recorder that records nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// Begins the bundle of a root thread in a new folder below `root`, and starts the thread that writes it.
    pub fn start(root: impl AsRef<Path>, root_thread_id: &ThreadId) -> Result<Self, CreateError> {
        Self::start_in(root, root_thread_id, Schema::default())
    }

    /// The same in a version of the format. What is recorded is that of schema 1, and converted while it is written.
    pub fn start_in(
        root: impl AsRef<Path>,
        root_thread_id: &ThreadId,
        schema: Schema,
    ) -> Result<Self, CreateError> {
        Self::start_within(root, root_thread_id, schema, RecordingLimits::default())
    }

    /// The same, within limits that only schema 3 has.
    pub fn start_within(
        root: impl AsRef<Path>,
        root_thread_id: &ThreadId,
        schema: Schema,
        limits: RecordingLimits,
    ) -> Result<Self, CreateError> {
        let trace_id = Uuid::new_v4();
        let folder = root
            .as_ref()
            .join(format!("trace-{trace_id}-{root_thread_id}"));
        let manifest = Manifest {
            schema_version: schema.number(),
            trace_id: trace_id.to_string().into(),
            rollout_id: root_thread_id.as_str().into(),
            root_thread_id: root_thread_id.clone(),
            started_at_unix_ms: now_unix_ms(),
            raw_event_log: LOG_FILE.into(),
            payloads_dir: PAYLOADS_DIR.into(),
        };
        let files = BundleFiles::create(&folder, &manifest)?;
        let state = Arc::new(RecorderState {
            rollout_id: manifest.rollout_id.clone(),
            queue: Queue::new(MAX_QUEUED),
            orphans: Orphans::default(),
        });
        let shared = Arc::new(QueueCloser {
            state: Arc::clone(&state),
        });
        Worker::spawn(files, state, schema, limits)
            .map_err(|source| CreateError::new(&folder, source))?;
        let recorder = Self(Some(shared));
        recorder.record(None, 0, |_| Event::RolloutStarted {
            trace_id: manifest.trace_id,
            root_thread_id: manifest.root_thread_id,
        });
        Ok(recorder)
    }

    /// Whether anything is recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records what `event` makes of what it captured: the writing thread has that done, so recording costs the session
    /// little more than the capture. Never blocks on the disk. A recorder that is off drops it unasked.
    ///
    /// The weight is about how much memory the capture holds, for the limit of what may wait to be written. The scope
    /// is left out of lines that name their own thread, such as its start.
    pub fn record(
        &self,
        scope: Option<&Scope>,
        weight: usize,
        event: impl FnOnce(&mut Payloads<'_>) -> Event + Send + 'static,
    ) {
        if let Some(shared) = &self.0 {
            shared.state.record(scope, weight, Box::new(event));
        }
    }

    /// Waits until all that was recorded is written or lost; false when that takes longer than `timeout`.
    ///
    /// Blocks: for the end of a session, not for its turns.
    pub fn flush(&self, timeout: Duration) -> bool {
        let shared = self.0.as_ref();
        shared.is_none_or(|shared| shared.state.queue.flush(timeout))
    }
}

impl RecorderState {
    fn record(&self, scope: Option<&Scope>, weight: usize, make: BuildEvent) {
        let lost = self.queue.push(Queued {
            seq: 0,
            wall_time_unix_ms: now_unix_ms(),
            scope: scope.cloned(),
            weight,
            make,
        });
        if let Some(lost) = lost {
            let (line, _) = self.line(lost, Payloads::nowhere());
            self.orphans.lose(&line);
        }
    }

    /// Makes the line of an event, with its payloads. The error says that one is missing.
    pub(super) fn line(
        &self,
        queued: Queued,
        mut payloads: Payloads<'_>,
    ) -> (LogLine, io::Result<()>) {
        let event = (queued.make)(&mut payloads);
        let scope = queued.scope.filter(|_| event.has_context());
        let (thread_id, codex_turn_id) = scope
            .map(|scope| (scope.thread_id, scope.codex_turn_id))
            .unzip();
        let line = LogLine {
            schema_version: Schema::One.number(),
            seq: queued.seq,
            wall_time_unix_ms: queued.wall_time_unix_ms,
            rollout_id: self.rollout_id.clone(),
            thread_id,
            codex_turn_id,
            payload: event,
        };
        (line, payloads.finish())
    }
}

pub(super) fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
