//! The event queue of a thread, and the emitter in front of it.
//!
//! One event, three readers: the rollout, the observer, the subscriber; in this order, and all of
//! them see all events in the same order. Emitting never waits, so that a guard can do it when it is
//! dropped. What keeps the queue bounded is that whoever brings in unbounded data, the reader of a
//! model's stream or of a command's output, first waits for [`Emitter::ready`].

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use codex_protocol::{AgentStatus, Event, EventMsg, GitInfo, ThreadId};
use codex_rollout::{
    ClaimError, LineKind, PersistedDetail, RolloutLog, RolloutWriteError, is_persisted, reduced,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{Notify, watch};

use super::agent_status::{go_on, status_after};
use crate::ports::{Clock, Observer};

/// How many events may wait for the subscriber before sources are held back.
const READ_AHEAD: usize = 1024;
/// How many bytes of them may.
const BYTES_AHEAD: usize = 4 * 1024 * 1024;

/// Says what happens in a thread. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Emitter(Arc<EmitterShared>, EventSource);

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventSource {
    Thread,
    /// Somebody who works for the thread and has a history of its own.
    Reviewer,
}

#[derive(Debug)]
struct EmitterShared {
    thread: ThreadId,
    detail: PersistedDetail,
    clock: Arc<dyn Clock>,
    observer: Option<Arc<dyn Observer>>,
    /// Held for the length of one event, never across a wait: it is what orders events.
    state: Mutex<EmitterState>,
    /// How the thread is doing, as far as its subscriber may know.
    status: watch::Sender<AgentStatus>,
    readable: Notify,
    drained: Notify,
    gathered: Notify,
}

#[derive(Debug)]
struct EmitterState {
    queue: VecDeque<Event>,
    /// About how many bytes what waits has.
    bytes: usize,
    /// What follows in the queue once the last [`HeldEvents`] is gone.
    held: Vec<Event>,
    /// How many of them there are.
    guards: usize,
    log: Option<RolloutLog>,
    /// Whether the file is about to be made, once its first line is known.
    gathering: bool,
    closed: bool,
    abandoned: bool,
}

impl Emitter {
    pub(crate) fn new(
        thread: ThreadId,
        log: Option<RolloutLog>,
        detail: PersistedDetail,
        clock: Arc<dyn Clock>,
        observer: Option<Arc<dyn Observer>>,
    ) -> (Self, Events) {
        let state = EmitterState {
            queue: VecDeque::new(),
            bytes: 0,
            held: Vec::new(),
            guards: 0,
            log,
            gathering: false,
            closed: false,
            abandoned: false,
        };
        let shared = Arc::new(EmitterShared {
            thread,
            detail,
            clock,
            observer,
            state: Mutex::new(state),
            status: watch::Sender::new(AgentStatus::PendingInit),
            readable: Notify::new(),
            drained: Notify::new(),
            gathered: Notify::new(),
        });
        (
            Self(Arc::clone(&shared), EventSource::Thread),
            Events(shared),
        )
    }

    /// The same, for a reviewer: people see what it does but not what it says, and its history stays
    /// out of the thread's file.
    pub(crate) fn for_reviewer(&self) -> Self {
        Self(Arc::clone(&self.0), EventSource::Reviewer)
    }

    pub(crate) fn thread(&self) -> &ThreadId {
        &self.0.thread
    }

    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.0.observer.as_deref()
    }

    /// Says that something happened.
    pub(crate) fn emit(&self, id: &str, msg: EventMsg) {
        if self.1 == EventSource::Reviewer && !is_shown_of_reviewer(&msg) {
            return;
        }
        let event = Event {
            id: id.to_owned(),
            msg,
        };
        let shared = &self.0;
        let mut state = shared.state.lock();
        if state.closed {
            return;
        }
        if let Some(log) = &mut state.log
            && is_persisted(&event.msg, shared.detail)
        {
            let at = shared.clock.now();
            match reduced(&event.msg) {
                Some(less) => log.append(at, LineKind::EventMsg, &less),
                None => log.append(at, LineKind::EventMsg, &event.msg),
            }
        }
        if let Some(observer) = &shared.observer {
            observer.event(&event);
        }
        if state.guards > 0 {
            return state.held.push(event);
        }
        shared.note_status(&event.msg);
        if state.abandoned {
            return;
        }
        state.bytes += bulk(&event.msg);
        state.queue.push_back(event);
        drop(state);
        shared.readable.notify_one();
    }

    /// How the thread is doing. Changes with what the subscriber is told.
    pub(crate) fn status(&self) -> watch::Receiver<AgentStatus> {
        self.0.status.subscribe()
    }

    /// From now on the rollout has what is said, and the subscriber hears it once that is dropped: for
    /// what may be told only when it is on disk.
    pub(crate) fn hold_events(&self) -> HeldEvents {
        self.0.state.lock().guards += 1;
        HeldEvents(self.clone())
    }

    /// Appends a line to the rollout that is no event.
    pub(crate) fn log(&self, kind: LineKind, payload: &impl Serialize) {
        if self.1 == EventSource::Reviewer {
            return;
        }
        let at = self.0.clock.now();
        if let Some(log) = &mut self.0.state.lock().log {
            log.append(at, kind, payload);
        }
    }

    /// The same, for a payload that is JSON already.
    pub(crate) fn log_json(&self, kind: LineKind, payload: &str) {
        if self.1 == EventSource::Reviewer {
            return;
        }
        let at = self.0.clock.now();
        if let Some(log) = &mut self.0.state.lock().log {
            log.append_json(at, kind, payload.as_bytes().to_vec());
        }
    }

    /// From now on no other process writes the thread.
    pub(crate) fn claim(&self) -> Result<(), ClaimError> {
        self.with_log(RolloutLog::claim).unwrap_or(Ok(()))
    }

    /// Other processes may go on with the thread as soon as everything is written.
    pub(crate) fn give_back(&self) {
        self.with_log(RolloutLog::release);
    }

    /// Whether the thread needs a file now that it did not need before. If so, what is said waits for
    /// [`Emitter::materialise`].
    pub(crate) fn begin_file(&self) -> bool {
        let mut state = self.0.state.lock();
        let is_held = state.log.as_ref().is_some_and(|log| !log.is_materialised());
        is_held && !std::mem::replace(&mut state.gathering, true)
    }

    /// Whether there is something of the thread on disk.
    pub(crate) fn has_file(&self) -> bool {
        self.with_log(|log| log.is_materialised()).unwrap_or(false)
    }

    /// From now on the thread has a file, whose first line tells this of its repository.
    pub(crate) fn materialise(&self, git: Option<&GitInfo>) {
        let at = self.0.clock.now();
        let mut state = self.0.state.lock();
        state.gathering = false;
        if let Some(log) = &mut state.log {
            log.materialise(at, git);
        }
        drop(state);
        self.0.gathered.notify_waiters();
    }

    pub(crate) fn with_log<T>(&self, use_log: impl FnOnce(&mut RolloutLog) -> T) -> Option<T> {
        self.0.state.lock().log.as_mut().map(use_log)
    }

    pub(crate) fn log_path(&self) -> Option<PathBuf> {
        self.with_log(|log| log.path().to_owned())
    }

    /// Waits until every line so far was handed to the operating system.
    pub(crate) async fn flush(&self) -> Result<(), RolloutWriteError> {
        loop {
            let gathered = self.0.gathered.notified();
            if !self.0.state.lock().gathering {
                break;
            }
            gathered.await;
        }
        let flushed = self.with_log(|log| log.flush());
        match flushed {
            Some(flushed) => flushed.await,
            None => Ok(()),
        }
    }

    /// Waits until the subscriber has caught up enough for more.
    pub(crate) async fn ready(&self) {
        loop {
            let drained = self.0.drained.notified();
            if self.0.state.lock().has_room() {
                return;
            }
            drained.await;
        }
    }

    /// No event follows.
    pub(crate) fn close(&self) {
        let mut state = self.0.state.lock();
        let last = std::mem::take(&mut state.held);
        state.queue.extend(last);
        self.0.status.send_replace(AgentStatus::Shutdown);
        state.closed = true;
        state.log = None;
        state.gathering = false;
        drop(state);
        self.0.gathered.notify_waiters();
        self.0.readable.notify_one();
        self.0.drained.notify_waiters();
    }
}

/// Keeps events from the subscriber as long as it lives.
#[derive(Debug)]
pub(crate) struct HeldEvents(Emitter);

impl HeldEvents {
    /// Says something that the subscriber hears before what is held. The observer heard that already.
    pub(crate) fn emit_first(&self, id: &str, msg: EventMsg) {
        let event = Event {
            id: id.to_owned(),
            msg,
        };
        let shared = &self.0.0;
        let mut state = shared.state.lock();
        if let Some(observer) = &shared.observer {
            observer.event(&event);
        }
        state.held.insert(0, event);
    }
}

impl Drop for HeldEvents {
    fn drop(&mut self) {
        let mut guard = self.0.0.state.lock();
        let state = &mut *guard;
        state.guards -= 1;
        if state.guards == 0 {
            let held = std::mem::take(&mut state.held);
            held.iter()
                .for_each(|event| self.0.0.note_status(&event.msg));
            if !state.abandoned {
                state.queue.extend(held);
            }
        }
        drop(guard);
        self.0.0.readable.notify_one();
    }
}

/// About how many bytes an event has, if it is one of those that come in great numbers.
fn bulk(msg: &EventMsg) -> usize {
    match msg {
        EventMsg::ExecCommandOutputDelta(delta) => delta.chunk.0.len(),
        EventMsg::AgentMessageContentDelta(delta) | EventMsg::PlanDelta(delta) => delta.delta.len(),
        EventMsg::ReasoningContentDelta(delta) => delta.delta.len(),
        EventMsg::ReasoningRawContentDelta(delta) => delta.delta.len(),
        _ => 0,
    }
}

/// What a reviewer says is told as its result, once it is there.
fn is_shown_of_reviewer(msg: &EventMsg) -> bool {
    !matches!(
        msg,
        EventMsg::AgentMessage(_)
            | EventMsg::AgentMessageContentDelta(_)
            | EventMsg::RawResponseItem(_)
            | EventMsg::TokenCount(_)
    )
}

impl EmitterShared {
    fn note_status(&self, msg: &EventMsg) {
        if let Some(status) = status_after(msg) {
            let goes_on = |now: &mut AgentStatus| go_on(now, status);
            self.status.send_if_modified(goes_on);
        }
    }
}

impl EmitterState {
    fn has_room(&self) -> bool {
        let waiting = self.queue.len() + self.held.len();
        let has_room = waiting < READ_AHEAD && self.bytes < BYTES_AHEAD;
        self.closed || self.abandoned || has_room
    }
}

/// The events of a thread, for their one subscriber. Whoever has several fans out.
///
/// Dropping it lets the thread go on unheard.
#[derive(Debug)]
pub struct Events(Arc<EmitterShared>);

impl Events {
    /// The next event; none once the thread is closed.
    pub async fn next(&mut self) -> Option<Event> {
        // One reader and a stored permit: nothing is missed between looking and waiting.
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.0.state.lock().closed {
                return self.try_next();
            }
            self.0.readable.notified().await;
        }
    }

    /// The next event, if it is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        let mut state = self.0.state.lock();
        let event = state.queue.pop_front()?;
        let bytes = state.bytes.saturating_sub(bulk(&event.msg));
        let was_full = std::mem::replace(&mut state.bytes, bytes) >= BYTES_AHEAD;
        let caught_up = state.queue.len() == READ_AHEAD / 2 || was_full && bytes < BYTES_AHEAD;
        drop(state);
        if caught_up {
            self.0.drained.notify_waiters();
        }
        Some(event)
    }

    /// Every event that is there, or the next one; false once the thread is closed.
    pub async fn next_batch(&mut self, batch: &mut Vec<Event>) -> bool {
        let Some(first) = self.next().await else {
            return false;
        };
        batch.push(first);
        let mut state = self.0.state.lock();
        state.bytes = 0;
        batch.extend(std::mem::take(&mut state.queue));
        drop(state);
        self.0.drained.notify_waiters();
        true
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.abandoned = true;
        state.queue = VecDeque::new();
        drop(state);
        self.0.drained.notify_waiters();
    }
}
