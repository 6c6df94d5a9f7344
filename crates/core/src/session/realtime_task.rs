//! The task of a realtime conversation: it reports its events, starts turns with the work that it delegates, and gives
//! the results back.
//!
//! It ends once: with an error where there was no connection, otherwise with the event that it is closed.

use std::collections::VecDeque;
use std::sync::Arc;

use codex_protocol::{
    EventMsg, RealtimeConversationClosedEvent, RealtimeConversationRealtimeEvent,
    RealtimeConversationStartedEvent, RealtimeConversationVersion, RealtimeEvent,
    RealtimeHandoffRequested, UserInput,
};
use codex_realtime::{
    AgentResult, ConversationEnd, ConversationEvent, ConversationInputs, ConversationQueues,
    converse,
};
use codex_session_base::config::{
    RealtimeService, RealtimeStart, RealtimeThread, RealtimeUnavailable,
};
use codex_session_base::events::{Emitter, TurnOutput, TurnOutputKind};
use codex_session_base::input::TurnInput;
use codex_session_base::ports::Ids;
use codex_session_base::thread::{NewTurn, ThreadClosed};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::actor::SessionActor;
use super::call::{ThreadCall, WeakCallQueue};
use super::start_turn::StartTurn;

/// The conversation with this number has ended by itself.
#[derive(Debug)]
struct RealtimeEnded(u64);

impl ThreadCall for RealtimeEnded {
    type Reply = Result<(), ThreadClosed>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        if let Some(state) = &mut session.realtime
            && state.number == self.0
        {
            state.active = None;
            session.context.emitter.listen(None);
        }
        Ok(())
    }
}

/// The task of one conversation.
#[derive(Debug)]
pub(super) struct RealtimeTask {
    /// The id of its events.
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) service: Arc<dyn RealtimeService>,
    pub(super) thread: RealtimeThread,
    pub(super) emitter: Emitter,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) session: WeakCallQueue,
    pub(super) inputs: ConversationInputs,
    pub(super) events: mpsc::Receiver<ConversationEvent>,
    pub(super) outputs: mpsc::Receiver<TurnOutput>,
    /// The task of the conversation that this one replaces.
    pub(super) previous: Option<JoinHandle<()>>,
    pub(super) work: Option<DelegatedWork>,
    /// Results that wait for room. While there are any, no outputs are taken.
    pub(super) results: VecDeque<AgentResult>,
}

/// What the model has delegated to a turn.
#[derive(Debug)]
pub(super) struct DelegatedWork {
    turn: String,
    handoffs: Vec<String>,
    last_message: Option<String>,
    failure: Option<String>,
}

impl RealtimeTask {
    /// Runs until the conversation ends or is stopped.
    pub(super) async fn run(
        mut self,
        start: RealtimeStart,
        queues: ConversationQueues,
        stop: CancellationToken,
    ) {
        if let Some(previous) = self.previous.take() {
            let _ = previous.await;
        }
        let end = stop.run_until_cancelled(self.converse(start, queues)).await;
        // What fails because it is stopped has not failed.
        let end = end.filter(|_| !stop.is_cancelled());
        let (error, reason) = match end {
            None => (None, Some("requested")),
            Some(ConversationEnd::TransportClosed) => (None, Some("transport_closed")),
            Some(ConversationEnd::Failed(error)) => (Some(error), Some("error")),
            Some(ConversationEnd::NotConnected(error)) => (Some(error), None),
        };
        // Whoever sees the end can start another turn, which must know it.
        stop.run_until_cancelled(self.notify_session()).await;
        if let Some(error) = error {
            self.emit(RealtimeEvent::Error(error));
        }
        if let Some(reason) = reason {
            let closed = RealtimeConversationClosedEvent {
                reason: Some(reason.to_owned()),
            };
            let closed = EventMsg::RealtimeConversationClosed(closed);
            self.emitter.emit(&self.id, closed);
        }
    }

    async fn converse(
        &mut self,
        start: RealtimeStart,
        queues: ConversationQueues,
    ) -> ConversationEnd {
        if start.by_webrtc {
            return ConversationEnd::NotConnected(RealtimeUnavailable::WebRtc.to_string());
        }
        // The file has everything that was said so far.
        let _ = self.emitter.flush().await;
        let prepared = self.service.prepare(start, self.thread.clone()).await;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return ConversationEnd::NotConnected(error.to_string()),
        };
        let session_id = prepared.settings.session_id.clone();
        let version = prepared.settings.version;
        // Ends with this future.
        let mut conversation = JoinSet::new();
        conversation
            .spawn(async move { converse(prepared.settings, &prepared.pool, queues).await });
        let inputs = self.inputs.clone();
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(ConversationEvent::Connected) => self.started(&session_id, version),
                    Some(ConversationEvent::Event(event)) => self.event(event).await,
                    None => break,
                },
                slot = inputs.ready_for_result(), if !self.results.is_empty() => {
                    if let (Some(slot), Some(result)) = (slot, self.results.pop_front()) {
                        slot.put(result);
                    }
                }
                output = self.outputs.recv(), if self.results.is_empty() => match output {
                    Some(output) => self.output(output),
                    None => {
                        let text = "the realtime server does not take the results of the agent";
                        return ConversationEnd::Failed(text.to_owned());
                    }
                },
            }
        }
        match conversation.join_next().await {
            Some(Ok(end)) => end,
            Some(Err(error)) => ConversationEnd::Failed(error.to_string()),
            None => ConversationEnd::TransportClosed,
        }
    }

    fn started(&self, session_id: &str, version: RealtimeConversationVersion) {
        let started = RealtimeConversationStartedEvent {
            session_id: Some(session_id.to_owned()),
            version,
        };
        let started = EventMsg::RealtimeConversationStarted(started);
        self.emitter.emit(&self.id, started);
    }

    fn emit(&self, payload: RealtimeEvent) {
        self.emitter.emit(&self.id, realtime(payload));
    }

    async fn event(&mut self, event: RealtimeEvent) {
        if let RealtimeEvent::AudioOut(_) = event {
            return self.emitter.emit_if_room(&self.id, realtime(event));
        }
        self.emitter.ready().await;
        self.emit(event.clone());
        if let RealtimeEvent::HandoffRequested(handoff) = event {
            self.delegate(handoff).await;
        }
    }

    /// Starts a turn with delegated work, or gives it to the running one.
    async fn delegate(&mut self, handoff: RealtimeHandoffRequested) {
        let id = handoff.handoff_id.clone();
        match self.start_turn(request_text(handoff)).await {
            Ok(turn) => match &mut self.work {
                Some(work) if work.turn == turn => work.handoffs.push(id),
                work => {
                    *work = Some(DelegatedWork {
                        turn,
                        handoffs: vec![id],
                        last_message: None,
                        failure: None,
                    });
                }
            },
            Err(error) => self.no_message(id, format!("The work did not start: {error}")),
        }
    }

    async fn start_turn(&self, text: String) -> Result<String, String> {
        let text = UserInput::Text {
            text,
            text_elements: Vec::new(),
        };
        let turn = NewTurn {
            id: self.ids.submission(),
            input: TurnInput {
                items: vec![text],
                ..TurnInput::default()
            },
            ..NewTurn::default()
        };
        let session = self.session.upgrade();
        let session = session.ok_or_else(|| ThreadClosed.to_string())?;
        let started = session.ask(|reply| StartTurn { turn, reply }).await;
        started.map_err(|error| error.to_string())
    }

    /// Takes what a turn says, if it works on something delegated.
    fn output(&mut self, output: TurnOutput) {
        let Some(work) = &mut self.work else {
            return;
        };
        if work.turn != output.turn {
            return;
        }
        match output.kind {
            TurnOutputKind::Message(text) => {
                work.last_message = Some(text.clone());
                // Only the newest request waits for more than the end.
                let handoff = work.handoffs.last().cloned();
                self.results.extend(handoff.map(|handoff| AgentResult {
                    handoff,
                    text,
                    is_last: false,
                }));
            }
            TurnOutputKind::Failure(text) => work.failure = Some(text),
            TurnOutputKind::Ended => self.work_ended(),
        }
    }

    fn work_ended(&mut self) {
        let Some(work) = self.work.take() else {
            return;
        };
        for handoff in work.handoffs {
            match &work.last_message {
                Some(text) => self.results.push_back(AgentResult {
                    handoff,
                    text: text.clone(),
                    is_last: true,
                }),
                None => {
                    let why = work.failure.as_deref();
                    let why = why.unwrap_or("The work has ended without a message.");
                    self.no_message(handoff, why.to_owned());
                }
            }
        }
    }

    /// Gives a sentence back in place of a message of the agent, so that the model does not wait for one.
    fn no_message(&mut self, handoff: String, text: String) {
        for is_last in [false, true] {
            self.results.push_back(AgentResult {
                handoff: handoff.clone(),
                text: text.clone(),
                is_last,
            });
        }
    }

    async fn notify_session(&self) {
        if let Some(session) = self.session.upgrade() {
            let _ = session.call(RealtimeEnded(self.number)).await;
        }
    }
}

pub(super) fn realtime(payload: RealtimeEvent) -> EventMsg {
    EventMsg::RealtimeConversationRealtime(RealtimeConversationRealtimeEvent { payload })
}

/// The input of a turn for delegated work: what was said since the last time, or the request alone.
fn request_text(handoff: RealtimeHandoffRequested) -> String {
    let said = handoff.active_transcript.iter();
    let said: Vec<_> = said
        .map(|entry| format!("{}: {}", entry.role, entry.text))
        .collect();
    if said.is_empty() {
        handoff.input_transcript
    } else {
        said.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codex_protocol::RealtimeTranscriptEntry;

    #[test]
    fn work_starts_with_the_transcript_or_the_request() {
        let entry = |role: &str, text: &str| RealtimeTranscriptEntry {
            role: role.to_owned(),
            text: text.to_owned(),
        };
        let mut handoff = RealtimeHandoffRequested {
            handoff_id: "h".to_owned(),
            item_id: "i".to_owned(),
            input_transcript: "fix it".to_owned(),
            active_transcript: vec![entry("user", "please"), entry("assistant", "sure")],
        };
        assert_eq!(
            request_text(handoff.clone()),
            "user: please\nassistant: sure"
        );
        handoff.active_transcript.clear();
        assert_eq!(request_text(handoff), "fix it");
    }
}
