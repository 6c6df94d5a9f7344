//! The handle that a session records with.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::format::{Event, LOG_FILE, LogLine, Manifest, PAYLOADS_DIR, SCHEMA_VERSION};
use crate::ids::{RolloutId, ThreadId, TurnId};

use super::bundle::{BundleFiles, CreateError};
use super::orphans::Orphans;
use super::payload::Payloads;
use super::queue::{Queue, Queued};
use super::worker::Worker;

/// This many events may wait to be written.
const MAX_QUEUED: usize = 4096;

/// The thread and turn in which something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub thread_id: ThreadId,
    pub codex_turn_id: TurnId,
}

/// A handle on one bundle, or on none. Clones share the bundle; the threads of one rollout share a recorder.
#[derive(Clone, Default)]
pub struct Recorder(Option<Arc<Shared>>);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.is_on() { "on" } else { "off" };
        write!(f, "Recorder({state})")
    }
}

/// What the handles share. The bundle is complete when the last of them is gone.
struct Shared {
    rollout_id: RolloutId,
    ledger: Arc<Ledger>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.ledger.queue.close();
    }
}

/// What the handles and the writing thread share.
pub(super) struct Ledger {
    pub(super) queue: Queue,
    pub(super) orphans: Orphans,
    /// The number of the last payload.
    pub(super) payload_numbers: AtomicU64,
}

impl Recorder {
    /// A recorder that records nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// Begins the bundle of a root thread in a new folder below `root`, and starts the thread that writes it.
    pub fn start(root: impl AsRef<Path>, root_thread_id: &ThreadId) -> Result<Self, CreateError> {
        let trace_id = Uuid::new_v4();
        let folder = root
            .as_ref()
            .join(format!("trace-{trace_id}-{root_thread_id}"));
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            trace_id: trace_id.to_string().into(),
            rollout_id: root_thread_id.as_str().into(),
            root_thread_id: root_thread_id.clone(),
            started_at_unix_ms: now_unix_ms(),
            raw_event_log: LOG_FILE.into(),
            payloads_dir: PAYLOADS_DIR.into(),
        };
        let files = BundleFiles::create(&folder, &manifest)?;
        let ledger = Arc::new(Ledger {
            queue: Queue::new(MAX_QUEUED),
            orphans: Orphans::default(),
            payload_numbers: AtomicU64::new(0),
        });
        let shared = Arc::new(Shared {
            rollout_id: manifest.rollout_id.clone(),
            ledger: Arc::clone(&ledger),
        });
        Worker::spawn(files, ledger).map_err(|source| CreateError::new(&folder, source))?;
        let recorder = Self(Some(shared));
        recorder.record(None, |_| Event::RolloutStarted {
            trace_id: manifest.trace_id,
            root_thread_id: manifest.root_thread_id,
        });
        Ok(recorder)
    }

    /// Whether anything is recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records what `event` makes, which is not called when the recorder is off. Never blocks on the disk.
    ///
    /// The scope is left out of lines that stand for themselves, such as the start of a thread.
    pub fn record(&self, scope: Option<&Scope>, event: impl FnOnce(&mut Payloads<'_>) -> Event) {
        if let Some(shared) = &self.0 {
            shared.record(scope, event);
        }
    }

    /// Waits until all that was recorded is written or lost; false when that takes longer than `timeout`.
    ///
    /// Blocks: for the end of a session, not for its turns.
    pub fn flush(&self, timeout: Duration) -> bool {
        let shared = self.0.as_ref();
        shared.is_none_or(|shared| shared.ledger.queue.flush(timeout))
    }
}

impl Shared {
    fn record(&self, scope: Option<&Scope>, event: impl FnOnce(&mut Payloads<'_>) -> Event) {
        let mut payloads = Payloads::new(&self.ledger.payload_numbers);
        let event = event(&mut payloads);
        let scope = scope.filter(|_| event.has_context());
        let lost = self.ledger.queue.push(|seq| Queued {
            line: LogLine {
                schema_version: SCHEMA_VERSION,
                seq,
                wall_time_unix_ms: now_unix_ms(),
                rollout_id: self.rollout_id.clone(),
                thread_id: scope.map(|scope| scope.thread_id.clone()),
                codex_turn_id: scope.map(|scope| scope.codex_turn_id.clone()),
                payload: event,
            },
            weight: payloads.weight,
            payloads: payloads.pending,
        });
        if let Some(lost) = lost {
            self.ledger.orphans.lose(&lost.line);
        }
    }
}

pub(super) fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
