//! What waits to be written: numbered at one end, taken in batches at the other.
//!
//! Waking the writing thread costs a turn more than recording does, files come cheaper together, and where processors
//! are few the writing takes from the turn. So the thread is woken when the first event comes, lets others come until
//! the session waits for something, and takes them all; it is hurried when much waits, or when somebody waits for it.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::payload::Payloads;
use crate::format::Event;
use crate::ids::{ThreadId, TurnId};

/// When no event comes for so long, the session waits: for the model, for a command, for a person.
const QUIET_TIME: Duration = Duration::from_millis(20);

/// How long the thread waits for that. It is what a crash can lose, beside what is being written.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// With so many events, or bytes, the thread begins at once.
const MAX_EVENTS: usize = 1024;
const MAX_BYTES: usize = 8 << 20;

/// Events of this many bytes, as their recorders weigh them, may wait to be written.
const MAX_WEIGHT: usize = 256 << 20;

/// The thread and turn in which something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub thread_id: ThreadId,
    pub codex_turn_id: TurnId,
}

/// Makes an event and its payloads of what was captured when it happened.
pub(super) type BuildEvent = Box<dyn FnOnce(&mut Payloads<'_>) -> Event + Send>;

/// An event that waits to be written.
pub(super) struct Queued {
    /// Its number, which it gets in the queue.
    pub(super) seq: u64,
    pub(super) wall_time_unix_ms: i64,
    pub(super) scope: Option<Scope>,
    pub(super) weight: usize,
    pub(super) make: BuildEvent,
}

/// A bounded queue with one reader.
pub(super) struct Queue {
    /// This many events may wait to be written.
    most: usize,
    inner: Mutex<QueueState>,
    hurry: Condvar,
    progress: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: Vec<Queued>,
    /// Of what waits and what is being written.
    weight: usize,
    events: usize,
    last_seq: u64,
    last_queued: u64,
    /// The last event that is done with.
    done: u64,
    is_hurried: bool,
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::default(),
            hurry: Condvar::new(),
            progress: Condvar::new(),
        }
    }

    /// Gives an event the next number and puts it at the end. Answers it where there is no room.
    #[must_use]
    pub(super) fn push(&self, mut queued: Queued) -> Option<Queued> {
        let mut inner = self.inner.lock();
        inner.last_seq += 1;
        let seq = inner.last_seq;
        queued.seq = seq;
        let weight = inner.weight.saturating_add(queued.weight);
        if inner.events >= self.most || weight > MAX_WEIGHT {
            return Some(queued);
        }
        let was_idle = inner.waiting.is_empty();
        inner.weight = weight;
        inner.events += 1;
        inner.last_queued = seq;
        inner.waiting.push(queued);
        let presses = inner.waiting.len() >= MAX_EVENTS || weight >= MAX_BYTES;
        let hurries = presses && !std::mem::replace(&mut inner.is_hurried, presses);
        drop(inner);
        if was_idle || hurries {
            self.hurry.notify_one();
        }
        None
    }

    /// The events that came together, or none when no more can come.
    pub(super) fn take(&self) -> Option<Vec<Queued>> {
        let is_idle = |inner: &mut QueueState| inner.waiting.is_empty() && !inner.is_closed;
        let mut inner = self.inner.lock();
        self.hurry.wait_while(&mut inner, is_idle);
        self.await_quiet(&mut inner);
        inner.is_hurried = false;
        let taken = std::mem::take(&mut inner.waiting);
        (!taken.is_empty()).then_some(taken)
    }

    fn await_quiet(&self, inner: &mut MutexGuard<'_, QueueState>) {
        let has_time = |inner: &mut QueueState| !inner.is_hurried && !inner.is_closed;
        let began = Instant::now();
        while has_time(inner) && began.elapsed() < MAX_WAIT {
            let last = inner.last_queued;
            self.hurry.wait_while_for(inner, has_time, QUIET_TIME);
            if inner.last_queued == last {
                break;
            }
        }
    }

    /// Everything up to this event, so many events of this weight, is written or lost.
    pub(super) fn finish(&self, seq: u64, events: usize, weight: usize) {
        let mut inner = self.inner.lock();
        inner.done = seq;
        inner.events -= events;
        inner.weight -= weight;
        drop(inner);
        self.progress.notify_all();
    }

    /// Waits until all that was queued is written or lost; false when that takes longer than `timeout`.
    pub(super) fn flush(&self, timeout: Duration) -> bool {
        let mut inner = self.inner.lock();
        let last = inner.last_queued;
        if inner.done >= last {
            return true;
        }
        inner.is_hurried = true;
        self.hurry.notify_one();
        let is_behind = |inner: &mut QueueState| inner.done < last;
        self.progress.wait_while_for(&mut inner, is_behind, timeout);
        inner.done >= last
    }

    /// No more events come.
    pub(super) fn close(&self) {
        self.inner.lock().is_closed = true;
        self.hurry.notify_one();
    }
}
