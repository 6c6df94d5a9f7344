//! What the user has pinned: texts that no compaction drops. All of them are written to the file of the thread with each
//! change.

use codex_protocol::{ThreadPin, ThreadPins};
use codex_rollout::LineKind;
use codex_session_base::history::truncate::tokens_of;
use codex_session_base::history::{user_message, wrapped_pin};
use codex_session_base::ports::SessionInput;
use codex_session_base::thread::{PinError, ThreadClosed};

use super::actor::SessionActor;
use super::call::ThreadCall;

/// Limits on pins: bytes of one, bytes of all, and their number.
const MAX_TEXT: usize = 8_000;
const MAX_TEXTS: usize = 32_000;
const MAX_PINS: usize = 100;

/// What part of the window of the model they may take.
const WINDOW_SHARE: i64 = 4;

/// Replies what is pinned.
#[derive(Debug)]
pub struct ListPins;

impl ThreadCall for ListPins {
    type Reply = Result<Vec<ThreadPin>, ThreadClosed>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        Ok(session.context.pins.lock().clone())
    }
}

/// Pins a text. The model gets one that is of no item at once.
#[derive(Debug)]
pub struct AddPin {
    /// The text.
    pub text: String,
    /// The item that it is the text of.
    pub item_id: Option<String>,
}

impl ThreadCall for AddPin {
    type Reply = Result<ThreadPin, PinError>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        let is_text = self.item_id.is_none();
        let (pin, is_new) = session.pin(self)?;
        if is_new && is_text {
            let message = vec![user_message([wrapped_pin(&pin.text)])];
            session.observe(|| Some(SessionInput::Context(message.clone())));
            session.inject(message);
        }
        Ok(pin)
    }
}

/// Takes a pin away. What the history has of it stays until the next compaction.
#[derive(Debug)]
pub struct RemovePin {
    /// Its id.
    pub id: String,
}

impl ThreadCall for RemovePin {
    type Reply = Result<(), PinError>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        session.unpin(&self.id)
    }
}

/// Pins exactly these texts, as a recorded session had them. The model is not told.
#[derive(Debug)]
pub struct SetPins(pub Vec<ThreadPin>);

impl ThreadCall for SetPins {
    type Reply = Result<(), ThreadClosed>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        session.log_pins(&self.0);
        *session.context.pins.lock() = self.0;
        Ok(())
    }
}

impl SessionActor {
    /// Pins a text. One that is pinned already stays what it is. Returns whether it is new.
    fn pin(&self, new: AddPin) -> Result<(ThreadPin, bool), PinError> {
        let text = new.text.trim();
        if text.is_empty() {
            return Err(PinError::Empty);
        }
        if text.len() > MAX_TEXT {
            return Err(PinError::TooLong(text.len(), MAX_TEXT));
        }
        let mut pins = self.context.pins.lock();
        if let Some(known) = pins.iter().find(|pin| pin.text == text) {
            return Ok((known.clone(), false));
        }
        if pins.len() >= MAX_PINS {
            return Err(PinError::TooMany(MAX_PINS));
        }
        let all = text.len() + pins.iter().map(|pin| pin.text.len()).sum::<usize>();
        let model = self.base.model.resolve(&self.settings().model).info;
        let window = model.effective_context_window();
        let share = window.map_or(MAX_TEXTS, |window| {
            usize::try_from(window / WINDOW_SHARE).unwrap_or(0)
        });
        if all > MAX_TEXTS || tokens_of(all) > share {
            return Err(PinError::NoRoom(all, MAX_TEXTS));
        }
        self.context
            .emitter
            .claim()
            .map_err(|error| PinError::Claimed(error.to_string()))?;
        let pin = ThreadPin {
            id: self.context.ids.item(),
            text: text.to_owned(),
            item_id: new.item_id,
        };
        pins.push(pin.clone());
        self.log_pins(&pins);
        Ok((pin, true))
    }

    fn unpin(&self, id: &str) -> Result<(), PinError> {
        let mut pins = self.context.pins.lock();
        let found = pins.iter().position(|pin| pin.id == id);
        let found = found.ok_or_else(|| PinError::Missing(id.to_owned()))?;
        self.context
            .emitter
            .claim()
            .map_err(|error| PinError::Claimed(error.to_string()))?;
        pins.remove(found);
        self.log_pins(&pins);
        Ok(())
    }

    fn log_pins(&self, pins: &[ThreadPin]) {
        let pins = pins.to_vec();
        self.observe(|| Some(SessionInput::Pins(pins.clone())));
        self.context
            .emitter
            .log(LineKind::Pins, &ThreadPins { pins });
    }
}
