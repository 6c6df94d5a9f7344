//! What the user has pinned: texts that no compaction drops. All of them are written to the file of the thread with each
//! change.

use codex_protocol::{ThreadPin, ThreadPins};
use codex_rollout::LineKind;

use super::actor::SessionActor;
use crate::history::truncate::tokens_of;
use crate::ports::SessionInput;
use crate::thread::{NewPin, PinError};

/// Limits on pins: bytes of one, bytes of all, and their number.
const MAX_TEXT: usize = 8_000;
const MAX_TEXTS: usize = 32_000;
const MAX_PINS: usize = 100;

/// What part of the window of the model they may take.
const WINDOW_SHARE: i64 = 4;

impl SessionActor {
    pub(super) fn pins(&self) -> Vec<ThreadPin> {
        self.context.pins.lock().clone()
    }

    /// Pins a text. One that is pinned already stays what it is. Returns whether it is new.
    pub(super) fn pin(&self, new: NewPin) -> Result<(ThreadPin, bool), PinError> {
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

    /// Takes a pin away. What the history has of it stays until the next compaction.
    pub(super) fn unpin(&self, id: &str) -> Result<(), PinError> {
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

    /// Pins exactly these texts.
    pub(super) fn set_pins(&self, pins: Vec<ThreadPin>) {
        self.log_pins(&pins);
        *self.context.pins.lock() = pins;
    }

    fn log_pins(&self, pins: &[ThreadPin]) {
        let pins = pins.to_vec();
        if let Some(observer) = self.context.emitter.observer() {
            observer.input(&SessionInput::Pins(pins.clone()));
        }
        self.context
            .emitter
            .log(LineKind::Pins, &ThreadPins { pins });
    }
}
