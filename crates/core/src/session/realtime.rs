//! The realtime conversation of a thread: at most one, whose task runs besides the turns.

use std::sync::Arc;

use codex_protocol::{CodexErrorInfo, EventMsg, RealtimeConversationClosedEvent, RealtimeEvent};
use codex_realtime::ConversationInputs;
use codex_session_base::config::{RealtimeStart, RealtimeThread, RealtimeUnavailable};
use codex_session_base::events::{MAX_TURN_OUTPUTS, TurnOutputListener};
use codex_session_base::thread::ThreadClosed;
use codex_session_base::turn_settings::RealtimeMode;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::realtime_state::ActiveRealtime;
use super::realtime_task::{RealtimeTask, realtime};

const START_INSTRUCTIONS: &str = include_str!("../../prompts/realtime_start.md");

/// Starts a conversation, in place of one that lasts. What comes of it are events, also if there can be none.
#[derive(Debug)]
pub struct StartRealtime(pub RealtimeStart);

impl ThreadCall for StartRealtime {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let id = session.context.ids.submission();
        if session.context.config.services.realtime.is_some() {
            session.start_realtime(id, self.0);
        } else {
            session.refuse_realtime(&id, &self.0);
        }
    }
}

/// Replies with the inputs of the conversation. Without one, an error is emitted.
#[derive(Debug)]
pub struct ReadRealtimeInputs;

impl ThreadCall for ReadRealtimeInputs {
    type Reply = Result<Option<ConversationInputs>, ThreadClosed>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        let id = session.context.ids.submission();
        Ok(session.realtime_inputs(&id))
    }
}

/// Ends the conversation. An event follows, also if there is none.
#[derive(Debug)]
pub struct StopRealtime;

impl ThreadCall for StopRealtime {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let id = session.context.ids.submission();
        session.stop_realtime(&id);
    }
}

impl SessionActor {
    /// Says why there can be no conversation, as for one that cannot connect.
    fn refuse_realtime(&self, id: &str, start: &RealtimeStart) {
        let cause = if start.by_webrtc {
            RealtimeUnavailable::WebRtc
        } else {
            RealtimeUnavailable::Off
        };
        let error = RealtimeEvent::Error(cause.to_string());
        self.context.emitter.emit(id, realtime(error));
    }

    /// Starts a conversation in place of one that lasts. Returns at once.
    pub(super) fn start_realtime(&mut self, id: String, start: RealtimeStart) {
        let Some(service) = self.context.config.services.realtime.clone() else {
            let thread = self.context.emitter.thread();
            let message = format!("thread {thread} does not support realtime conversation");
            return self.error(&id, message, CodexErrorInfo::BadRequest);
        };
        let emitter = self.context.emitter.clone();
        let thread = RealtimeThread {
            id: emitter.thread().clone(),
            cwd: self.settings().cwd.clone(),
            rollout: emitter.log_path().filter(|_| emitter.has_file()),
        };
        let state = self.realtime.get_or_insert_default();
        if let Some(active) = state.active.take() {
            active.stop.cancel();
        }
        let text = start.start_instructions.clone();
        let text = text.or_else(|| service.start_instructions());
        state.start_instructions = Some(text.map_or_else(|| START_INSTRUCTIONS.into(), Arc::from));
        state.end_instructions = start.end_instructions.as_deref().map(Arc::from);
        state.number += 1;
        let (inputs, queues, events) = codex_realtime::queues();
        let (heard, outputs) = mpsc::channel(MAX_TURN_OUTPUTS);
        emitter.listen(Some(TurnOutputListener(heard)));
        let stop = CancellationToken::new();
        let task = RealtimeTask {
            id,
            number: state.number,
            service,
            thread,
            emitter,
            ids: Arc::clone(&self.context.ids),
            session: self.own_calls.clone(),
            inputs: inputs.clone(),
            events,
            outputs,
            previous: state.task.take(),
            work: None,
            results: Default::default(),
        };
        state.task = Some(tokio::spawn(task.run(start, queues, stop.clone())));
        state.active = Some(ActiveRealtime { inputs, stop });
    }

    /// The inputs of the conversation. Without one, an error is emitted.
    pub(super) fn realtime_inputs(&self, id: &str) -> Option<ConversationInputs> {
        let state = self.realtime.as_ref();
        let active = state.and_then(|state| state.active.as_ref());
        if active.is_none() {
            self.error(
                id,
                "conversation is not running",
                CodexErrorInfo::BadRequest,
            );
        }
        active.map(|active| active.inputs.clone())
    }

    /// Puts a text in, unless too much waits.
    pub(super) fn realtime_text(&self, id: &str, text: String) {
        if let Some(inputs) = self.realtime_inputs(id)
            && !inputs.try_text(text)
        {
            let message = "the realtime server does not take more texts; try again later";
            self.error(id, message, CodexErrorInfo::BadRequest);
        }
    }

    /// Ends the conversation. Its task reports the end; without one, it is reported here.
    pub(super) fn stop_realtime(&mut self, id: &str) {
        let state = self.realtime.as_mut();
        match state.and_then(|state| state.active.take()) {
            Some(active) => active.stop.cancel(),
            None => {
                let closed = RealtimeConversationClosedEvent {
                    reason: Some("requested".to_owned()),
                };
                let closed = EventMsg::RealtimeConversationClosed(closed);
                self.context.emitter.emit(id, closed);
            }
        }
        self.context.emitter.listen(None);
    }

    /// Ends the conversation and waits for its end, which is soon: the task waits for nothing once it is stopped.
    pub(super) async fn end_realtime(&mut self) {
        let Some(state) = self.realtime.take() else {
            return;
        };
        if let Some(active) = state.active {
            active.stop.cancel();
        }
        if let Some(task) = state.task {
            let _ = task.await;
        }
    }

    /// What the next turn tells the model about the conversation.
    pub(super) fn realtime_mode(&self) -> RealtimeMode {
        let Some(state) = &self.realtime else {
            return RealtimeMode::default();
        };
        RealtimeMode {
            start: (state.active.as_ref()).and(state.start_instructions.clone()),
            end: state.end_instructions.clone(),
        }
    }
}
