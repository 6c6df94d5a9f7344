//! The event queue of a thread, and the emitter.
//!
//! An event goes to the rollout, the observer and the subscriber, in this order, and all of them see the same
//! order. Emitting never waits, so a guard can do it when it is dropped. The queue stays bounded because
//! readers of unbounded data (the stream of a model, the output of a command) wait for [`Emitter::ready`]
//! first.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use codex_protocol::{
    AgentStatus, Event, EventMsg, GitInfo, QuestionAnsweredEvent, QuestionAskedEvent,
    RealtimeEvent, ThreadId,
};
use codex_rollout::{
    ClaimError, LineKind, PersistedDetail, RolloutLog, RolloutWriteError, is_persisted,
    mirrored_item, reduced,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{Notify, watch};

use super::agent_status::{go_on, status_after};
use super::turn_output::TurnOutputListener;
use crate::ports::{Clock, Observer};

/// How many events may be queued before sources have to wait.
const READ_AHEAD: usize = 1024;
/// How many bytes of them may be queued.
const BYTES_AHEAD: usize = 4 * 1024 * 1024;

/// Emits the events of a thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Emitter(Arc<EmitterShared>, EventSource);

/// The source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventSource {
    Thread,
    /// A reviewer of the thread, which has a history of its own.
    Reviewer,
}

#[derive(Debug)]
struct EmitterShared {
    thread: ThreadId,
    detail: PersistedDetail,
    clock: Arc<dyn Clock>,
    observer: Option<Arc<dyn Observer>>,
    /// Orders the events. Locked for one event, never across an await.
    state: Mutex<EmitterState>,
    /// The status of the thread, as far as the subscriber knows it.
    status: watch::Sender<AgentStatus>,
    readable: Notify,
    drained: Notify,
    gathered: Notify,
}

#[derive(Debug)]
struct EmitterState {
    queue: VecDeque<Event>,
    /// The approximate bytes of the queued events.
    bytes: usize,
    /// Events that are queued when the last [`HeldEvents`] is dropped.
    held: Vec<Event>,
    /// How many [`HeldEvents`] there are.
    guards: usize,
    log: Option<RolloutLog>,
    /// Whether the file is being created.
    gathering: bool,
    closed: bool,
    abandoned: bool,
    /// Listens to the outputs of turns, while a realtime conversation lasts.
    listener: Option<Box<TurnOutputListener>>,
}

/// How an event is stored.
#[derive(Clone, Copy)]
enum StoredForm<'a> {
    None,
    Whole,
    Other(&'a EventMsg),
}

impl Emitter {
    pub fn new(
        thread: ThreadId,
        log: Option<RolloutLog>,
        detail: PersistedDetail,
        clock: Arc<dyn Clock>,
        observer: Option<Arc<dyn Observer>>,
    ) -> (Self, EventReceiver) {
        let state = EmitterState {
            queue: VecDeque::new(),
            bytes: 0,
            held: Vec::new(),
            guards: 0,
            log,
            gathering: false,
            closed: false,
            abandoned: false,
            listener: None,
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
            EventReceiver(shared),
        )
    }

    /// An emitter for a reviewer: clients see what it does but not its messages, and its history is not
    /// written to the file of the thread.
    pub fn for_reviewer(&self) -> Self {
        Self(Arc::clone(&self.0), EventSource::Reviewer)
    }

    pub fn thread(&self) -> &ThreadId {
        &self.0.thread
    }

    pub fn observer(&self) -> Option<&dyn Observer> {
        self.0.observer.as_deref()
    }

    /// Emits an event.
    pub fn emit(&self, id: &str, msg: EventMsg) {
        if !is_persisted(&msg, self.0.detail) {
            return self.emit_event(id, msg, StoredForm::None);
        }
        match reduced(&msg) {
            Some(less) => self.emit_event(id, msg, StoredForm::Other(&less)),
            None => self.emit_event(id, msg, StoredForm::Whole),
        }
    }

    /// Emits an event that is stored in another form.
    pub fn emit_stored_as(&self, id: &str, msg: EventMsg, stored: &EventMsg) {
        self.emit_event(id, msg, StoredForm::Other(stored));
    }

    /// Emits an event that the file of the thread has already.
    pub fn emit_again(&self, id: &str, msg: EventMsg) {
        self.emit_event(id, msg, StoredForm::None);
    }

    fn emit_event(&self, id: &str, msg: EventMsg, stored: StoredForm<'_>) {
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
        let stored = match stored {
            StoredForm::None => None,
            StoredForm::Whole => Some(&event.msg),
            StoredForm::Other(stored) => Some(stored),
        };
        if let (Some(log), Some(stored)) = (&mut state.log, stored) {
            log.append(shared.clock.now(), LineKind::EventMsg, stored);
        }
        if let Some(log) = state.log.as_mut().filter(|log| log.is_numbered()) {
            let now = shared.clock.now();
            let event = stored.unwrap_or(&event.msg);
            let (thread, turn) = (shared.thread.as_str(), id);
            let item = mirrored_item(thread, turn, event, now.as_millisecond());
            if let Some(item) = item {
                log.append_json(now, LineKind::EventMsg, item);
            }
        }
        if let Some(observer) = &shared.observer {
            observer.event(&event);
        }
        if let Some(listener) = &state.listener
            && !listener.take(&event)
        {
            state.listener = None;
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

    /// Emits sound, unless the queue is full: late sound is worth nothing.
    pub fn emit_if_room(&self, id: &str, msg: EventMsg) {
        if self.0.state.lock().has_room() {
            self.emit(id, msg);
        }
    }

    /// Has this listener, in place of another one, hear the outputs of turns.
    pub fn listen(&self, listener: Option<TurnOutputListener>) {
        self.0.state.lock().listener = listener.map(Box::new);
    }

    /// The status of the thread, as far as the subscriber knows it.
    pub fn status(&self) -> watch::Receiver<AgentStatus> {
        self.0.status.subscribe()
    }

    /// Holds events back from the subscriber until the guard is dropped. They are written to the rollout at
    /// once. For events that may only be seen once they are on disk.
    pub fn hold_events(&self) -> HeldEvents {
        self.0.state.lock().guards += 1;
        HeldEvents(self.clone())
    }

    /// Appends a line that is no event to the rollout.
    pub fn log(&self, kind: LineKind, payload: &impl Serialize) {
        if self.1 == EventSource::Reviewer {
            return;
        }
        let at = self.0.clock.now();
        if let Some(log) = &mut self.0.state.lock().log {
            log.append(at, kind, payload);
        }
    }

    /// Like [`Emitter::log`], for a payload that is JSON already.
    pub fn log_json(&self, kind: LineKind, payload: &str) {
        if self.1 == EventSource::Reviewer {
            return;
        }
        let at = self.0.clock.now();
        if let Some(log) = &mut self.0.state.lock().log {
            log.append_json(at, kind, payload.as_bytes().to_vec());
        }
    }

    /// Writes that a call waits for the answer of a person. Returns once it is written.
    pub async fn log_question(&self, turn: &str, call: &str) {
        let asked = QuestionAskedEvent {
            turn_id: turn.to_owned(),
            call_id: call.to_owned(),
        };
        self.log_flushed(&EventMsg::QuestionAsked(asked)).await;
    }

    /// Writes that a call has its answer. Returns once it is written, so a call that has begun is not taken for one that
    /// has not. If it cannot be written, because the disk is full, the call begins all the same.
    pub async fn log_answer(&self, turn: &str, call: &str) {
        let answered = QuestionAnsweredEvent {
            turn_id: turn.to_owned(),
            call_id: call.to_owned(),
        };
        self.log_flushed(&EventMsg::QuestionAnswered(answered))
            .await;
    }

    async fn log_flushed(&self, event: &EventMsg) {
        self.log(LineKind::EventMsg, event);
        if let Err(error) = self.flush().await {
            tracing::warn!(%error, "a question or its answer cannot be written");
        }
    }

    /// Writes nothing more to the file of the thread.
    pub fn end_log(&self) {
        self.0.state.lock().log = None;
    }

    /// Prevents other processes from writing the thread.
    pub fn claim(&self) -> Result<(), ClaimError> {
        self.with_log(RolloutLog::claim).unwrap_or(Ok(()))
    }

    /// Prevents other processes from writing the thread for as long as it is loaded.
    pub fn hold_claim(&self) -> Result<(), ClaimError> {
        self.with_log(RolloutLog::hold).unwrap_or(Ok(()))
    }

    /// Allows other processes to write the thread, once everything is written.
    pub fn give_back(&self) {
        self.with_log(RolloutLog::release);
    }

    /// Whether the thread needs a file now and has none. If so, lines wait for [`Emitter::materialise`].
    pub fn begin_file(&self) -> bool {
        let mut state = self.0.state.lock();
        let is_held = state.log.as_ref().is_some_and(|log| !log.is_materialised());
        is_held && !std::mem::replace(&mut state.gathering, true)
    }

    /// Whether there is something of the thread on disk.
    pub fn has_file(&self) -> bool {
        self.with_log(|log| log.is_materialised()).unwrap_or(false)
    }

    /// Creates the file, with these facts about the repository in its first line.
    pub fn materialise(&self, git: Option<&GitInfo>) {
        let at = self.0.clock.now();
        let mut state = self.0.state.lock();
        state.gathering = false;
        if let Some(log) = &mut state.log {
            log.materialise(at, git);
        }
        drop(state);
        self.0.gathered.notify_waiters();
    }

    pub fn with_log<T>(&self, use_log: impl FnOnce(&mut RolloutLog) -> T) -> Option<T> {
        self.0.state.lock().log.as_mut().map(use_log)
    }

    pub fn log_path(&self) -> Option<PathBuf> {
        self.with_log(|log| log.path().to_owned())
    }

    /// Does this once all lines so far are on the disk, if they can be written. Once the log has ended, they cannot.
    pub fn after_synchronising(&self, then: impl FnOnce() + Send + 'static) {
        let emitter = self.clone();
        tokio::spawn(async move {
            emitter.gathered().await;
            let synchronised = emitter.with_log(|log| log.synchronise());
            if let Some(synchronised) = synchronised
                && synchronised.await.is_ok()
            {
                then();
            }
        });
    }

    /// Waits until all lines so far are written.
    pub async fn flush(&self) -> Result<(), RolloutWriteError> {
        self.gathered().await;
        let flushed = self.with_log(|log| log.flush());
        match flushed {
            Some(flushed) => flushed.await,
            None => Ok(()),
        }
    }

    /// Waits until all lines so far are on the disk, where a power cut does not take them away.
    pub async fn synchronise(&self) -> Result<(), RolloutWriteError> {
        self.gathered().await;
        let synchronised = self.with_log(|log| log.synchronise());
        match synchronised {
            Some(synchronised) => synchronised.await,
            None => Ok(()),
        }
    }

    async fn gathered(&self) {
        loop {
            let gathered = self.0.gathered.notified();
            if !self.0.state.lock().gathering {
                break;
            }
            gathered.await;
        }
    }

    /// Waits until there is room in the queue.
    pub async fn ready(&self) {
        loop {
            let drained = self.0.drained.notified();
            if self.0.state.lock().has_room() {
                return;
            }
            drained.await;
        }
    }

    /// Closes the queue.
    pub fn close(&self) {
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

/// Holds events back from the subscriber while it exists.
#[derive(Debug)]
pub struct HeldEvents(Emitter);

impl HeldEvents {
    /// Emits an event before those that are held. It is not written to the rollout.
    pub fn emit_first(&self, id: &str, msg: EventMsg) {
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

/// The approximate bytes of an event, for types of which there are many.
fn bulk(msg: &EventMsg) -> usize {
    match msg {
        EventMsg::ExecCommandOutputDelta(delta) => delta.chunk.0.len(),
        EventMsg::AgentMessageContentDelta(delta) | EventMsg::PlanDelta(delta) => delta.delta.len(),
        EventMsg::ReasoningContentDelta(delta) => delta.delta.len(),
        EventMsg::ReasoningRawContentDelta(delta) => delta.delta.len(),
        EventMsg::RealtimeConversationRealtime(event) => match &event.payload {
            RealtimeEvent::AudioOut(frame) => frame.data.len(),
            _ => 0,
        },
        _ => 0,
    }
}

/// The messages of a reviewer are emitted as its result.
fn is_shown_of_reviewer(msg: &EventMsg) -> bool {
    !matches!(
        msg,
        EventMsg::AgentMessage(_)
            | EventMsg::AgentMessageContentDelta(_)
            | EventMsg::RawResponseItem(_)
            | EventMsg::ResponseCompleted(_)
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

/// The events of a thread, for one subscriber.
///
/// If it is dropped, the thread continues without a subscriber.
#[derive(Debug)]
pub struct EventReceiver(Arc<EmitterShared>);

impl EventReceiver {
    /// The next event; none once the thread is closed.
    pub async fn next(&mut self) -> Option<Event> {
        // There is one reader, and the permit is stored, so no event is missed between the check and the
        // wait.
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

    /// The next event, if there is one.
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

    /// All queued events, or the next one. Returns false once the thread is closed.
    pub async fn next_batch(&mut self, batch: &mut Vec<Event>) -> bool {
        let Some(first) = self.next().await else {
            return false;
        };
        batch.push(first);
        self.take_queued(batch);
        true
    }

    /// All queued events.
    pub fn take_queued(&mut self, batch: &mut Vec<Event>) {
        let mut state = self.0.state.lock();
        state.bytes = 0;
        batch.extend(std::mem::take(&mut state.queue));
        drop(state);
        self.0.drained.notify_waiters();
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.abandoned = true;
        state.queue = VecDeque::new();
        drop(state);
        self.0.drained.notify_waiters();
    }
}
