//! The handle that a session records with.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::format::{Event, LOG_FILE, LogLine, Manifest, PAYLOADS_DIR, SCHEMA_VERSION};
use crate::ids::{RolloutId, ThreadId, TurnId};

use super::bundle::{BundleFiles, CreateError};
use super::orphans::Orphans;
use super::payload::Payloads;
use super::worker::{Queued, Worker};

/// This many events may wait to be written.
const MAX_QUEUED: usize = 4096;

/// Payloads of this many bytes, as their recorders weigh them, may wait to be written.
const MAX_WEIGHT: usize = 256 << 20;

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

/// What the handles and the writing thread share.
pub(super) struct Shared {
    rollout_id: RolloutId,
    /// The number of the last payload.
    pub(super) payload_numbers: AtomicU64,
    line: Mutex<Line>,
    pub(super) ledger: Arc<Ledger>,
}

/// The end of the queue. Numbers are given here, so that events stand in the log in the order of their numbers.
struct Line {
    queue: SyncSender<Queued>,
    last_seq: u64,
    last_queued: u64,
}

/// What the writing thread tells the handles.
#[derive(Default)]
pub(super) struct Ledger {
    /// What waits to be written.
    pub(super) weight: AtomicUsize,
    pub(super) orphans: Orphans,
    /// The last event that is done with.
    done: Mutex<u64>,
    progress: Condvar,
}

impl Ledger {
    pub(super) fn finish(&self, seq: u64) {
        *lock(&self.done) = seq;
        self.progress.notify_all();
    }

    fn wait_for(&self, seq: u64, timeout: Duration) -> bool {
        let waiting = self
            .progress
            .wait_timeout_while(lock(&self.done), timeout, |done| *done < seq);
        let (done, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        *done >= seq
    }
}

impl Recorder {
    /// A recorder that records nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// Begins the bundle of a root thread in a new folder below `root`, and starts the thread that writes it.
    pub fn start(root: impl AsRef<Path>, root_thread_id: &ThreadId) -> Result<Self, CreateError> {
        Self::start_with_queue(root.as_ref(), root_thread_id, MAX_QUEUED)
    }

    pub(super) fn start_with_queue(
        root: &Path,
        root_thread_id: &ThreadId,
        queue: usize,
    ) -> Result<Self, CreateError> {
        let trace_id = Uuid::new_v4();
        let folder = root.join(format!("trace-{trace_id}-{root_thread_id}"));
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
        let (queue, queued) = sync_channel(queue);
        let shared = Arc::new(Shared {
            rollout_id: manifest.rollout_id.clone(),
            payload_numbers: AtomicU64::new(0),
            line: Mutex::new(Line {
                queue,
                last_seq: 0,
                last_queued: 0,
            }),
            ledger: Arc::default(),
        });
        Worker::spawn(files, &shared, queued)
            .map_err(|source| CreateError::new(&folder, source))?;
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
        let Some(shared) = &self.0 else {
            return true;
        };
        let last_queued = lock(&shared.line).last_queued;
        shared.ledger.wait_for(last_queued, timeout)
    }
}

impl Shared {
    fn record(&self, scope: Option<&Scope>, event: impl FnOnce(&mut Payloads<'_>) -> Event) {
        let mut payloads = Payloads::new(&self.payload_numbers);
        let event = event(&mut payloads);
        let scope = scope.filter(|_| event.has_context());
        let mut line = lock(&self.line);
        line.last_seq += 1;
        let seq = line.last_seq;
        let log_line = LogLine {
            schema_version: SCHEMA_VERSION,
            seq,
            wall_time_unix_ms: now_unix_ms(),
            rollout_id: self.rollout_id.clone(),
            thread_id: scope.map(|scope| scope.thread_id.clone()),
            codex_turn_id: scope.map(|scope| scope.codex_turn_id.clone()),
            payload: event,
        };
        let waiting = self.ledger.weight.load(Ordering::Relaxed);
        if waiting.saturating_add(payloads.weight) > MAX_WEIGHT {
            self.ledger.orphans.lose(&log_line);
            return;
        }
        let weight = payloads.weight;
        self.ledger.weight.fetch_add(weight, Ordering::Relaxed);
        let queued = Queued {
            line: log_line,
            payloads: payloads.pending,
            weight,
        };
        match line.queue.try_send(queued) {
            Ok(()) => line.last_queued = seq,
            Err(error) => {
                use std::sync::mpsc::TrySendError::{Disconnected, Full};
                let (Full(queued) | Disconnected(queued)) = error;
                self.ledger.weight.fetch_sub(weight, Ordering::Relaxed);
                self.ledger.orphans.lose(&queued.line);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere must not end the recording; what the locks hold is whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
