//! The queue between a session and its running turn.

use std::collections::VecDeque;
use std::sync::Arc;

use codex_protocol::ResponseItem;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{SavedInput, TurnInput};
use crate::config::TakenInput;

/// How many inputs may wait. More are refused.
const LIMIT: usize = 512;

/// Something for the next request.
#[derive(Debug)]
pub enum Input {
    /// From the user; shown to clients.
    User(Box<TurnInput>),
    /// An item of the engine for the model alone.
    Hidden(HiddenItem),
    /// The same, about something that a replay does not do again: a tool, a command of the user, an approval.
    Note(Box<ResponseItem>),
}

impl Input {
    /// What an observer sees of it.
    pub fn observed(&self) -> TakenInput {
        match self {
            Self::User(_) => TakenInput::User,
            Self::Hidden(_) => TakenInput::Notice,
            Self::Note(item) => TakenInput::Note(item.clone()),
        }
    }

    pub fn is_of_user(&self) -> bool {
        matches!(self, Self::User(_))
    }

    pub fn is_notice(&self) -> bool {
        matches!(self, Self::Hidden(_))
    }
}

/// An item for the model that clients are not shown.
#[derive(Debug)]
pub struct HiddenItem {
    pub item: Box<ResponseItem>,
    /// Its copy on disk, if a client was told that it is taken.
    pub saved: Option<Arc<SavedInput>>,
}

/// The queue between a session and its running turn.
///
/// Checking that it is empty and closing it are one step, so that no input can be lost between the
/// turn's last check and its end.
#[derive(Debug, Default)]
pub struct InputQueue {
    state: Mutex<InputQueueState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct InputQueueState {
    waiting: VecDeque<Input>,
    /// The copies of all input that the turn was given.
    copies: Vec<Arc<SavedInput>>,
    closed: bool,
}

impl InputQueue {
    /// Adds an input. Returns it if the queue is closed or full.
    pub fn put(&self, input: Input) -> Result<(), Input> {
        let mut state = self.state.lock();
        if state.closed || state.waiting.len() >= LIMIT {
            return Err(input);
        }
        if let Input::User(input) = &input {
            state.copies.extend(input.saved.clone());
        }
        state.waiting.push_back(input);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// The copy of what the turn begins with.
    pub fn begins_with(&self, saved: Option<&Arc<SavedInput>>) {
        self.state.lock().copies.extend(saved.cloned());
    }

    /// Removes the copies of what the turn was given and did not record.
    pub fn give_up(&self) {
        for copy in std::mem::take(&mut self.state.lock().copies) {
            copy.give_up();
        }
    }

    pub fn take(&self) -> VecDeque<Input> {
        std::mem::take(&mut self.state.lock().waiting)
    }

    /// Takes the first input of a kind, once it is there.
    pub async fn take_one(&self, is_wanted: impl Fn(&Input) -> bool) -> Input {
        loop {
            {
                let waiting = &mut self.state.lock().waiting;
                let place = waiting.iter().position(&is_wanted);
                if let Some(input) = place.and_then(|place| waiting.remove(place)) {
                    return input;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Waits until an input is there.
    pub async fn arrived(&self) {
        while self.is_empty() {
            self.arrived.notified().await;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.state.lock().waiting.is_empty()
    }

    /// Closes the queue if nothing waits. Returns whether it is closed.
    pub fn close_if_empty(&self) -> bool {
        let mut state = self.state.lock();
        state.closed = state.waiting.is_empty();
        state.closed
    }

    /// Closes the queue and leaves in it what waits.
    pub fn refuse_more(&self) {
        self.state.lock().closed = true;
    }

    /// Closes the queue and returns what still waits.
    pub fn close(&self) -> VecDeque<Input> {
        let mut state = self.state.lock();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}
