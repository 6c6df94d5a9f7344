//! What turns say, for a listener besides the subscriber.

use codex_protocol::{Event, EventMsg};
use tokio::sync::mpsc;

/// Outputs that wait to be taken. A listener that falls behind by more is dropped.
pub const MAX_TURN_OUTPUTS: usize = 256;

/// Something that a turn says, or its end.
#[derive(Debug, PartialEq, Eq)]
pub struct TurnOutput {
    pub turn: String,
    pub kind: TurnOutputKind,
}

#[derive(Debug, PartialEq, Eq)]
pub enum TurnOutputKind {
    /// A message of the model.
    Message(String),
    /// What failed. The end follows.
    Failure(String),
    Ended,
}

impl TurnOutput {
    fn from_event(event: &Event) -> Option<Self> {
        let (turn, kind) = match &event.msg {
            EventMsg::AgentMessage(message) => (
                &event.id,
                TurnOutputKind::Message(message.message.as_str().into_owned()),
            ),
            EventMsg::Error(error) => (&event.id, TurnOutputKind::Failure(error.message.clone())),
            EventMsg::TurnComplete(complete) => (&complete.turn_id, TurnOutputKind::Ended),
            EventMsg::TurnAborted(aborted) => (
                aborted.turn_id.as_ref().unwrap_or(&event.id),
                TurnOutputKind::Ended,
            ),
            _ => return None,
        };
        Some(Self {
            turn: turn.clone(),
            kind,
        })
    }
}

/// Hands the outputs of turns to a listener.
#[derive(Debug)]
pub struct TurnOutputListener(pub mpsc::Sender<TurnOutput>);

impl TurnOutputListener {
    /// Hands an event on, if it is an output. Returns false if the listener is to be dropped.
    pub fn take(&self, event: &Event) -> bool {
        match TurnOutput::from_event(event) {
            Some(output) => self.0.try_send(output).is_ok(),
            None => true,
        }
    }
}
