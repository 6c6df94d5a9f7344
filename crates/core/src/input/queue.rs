//! The queue between a session and its running turn.

use std::collections::VecDeque;

use codex_protocol::ResponseItem;
use parking_lot::Mutex;

use super::TurnInput;

/// How many inputs may wait. More are refused.
const LIMIT: usize = 512;

/// Something for the next request.
#[derive(Debug)]
pub(crate) enum Input {
    /// From the user; shown to clients.
    User(Box<TurnInput>),
    /// An item for the model alone.
    Hidden(Box<ResponseItem>),
}

/// The queue between a session and its running turn.
///
/// Checking that it is empty and closing it are one step, so that no input can be lost between the
/// turn's last check and its end.
#[derive(Debug, Default)]
pub(crate) struct InputQueue(Mutex<InputQueueState>);

#[derive(Debug, Default)]
struct InputQueueState {
    waiting: VecDeque<Input>,
    closed: bool,
}

impl InputQueue {
    /// Adds an input. Returns it if the queue is closed or full.
    pub(crate) fn put(&self, input: Input) -> Result<(), Input> {
        let mut state = self.0.lock();
        if state.closed || state.waiting.len() >= LIMIT {
            return Err(input);
        }
        state.waiting.push_back(input);
        Ok(())
    }

    pub(crate) fn take(&self) -> VecDeque<Input> {
        std::mem::take(&mut self.0.lock().waiting)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().waiting.is_empty()
    }

    /// Closes the queue if nothing waits. Returns whether it is closed.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.0.lock();
        state.closed = state.waiting.is_empty();
        state.closed
    }

    /// Closes the queue and returns what still waits.
    pub(crate) fn close(&self) -> VecDeque<Input> {
        let mut state = self.0.lock();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}
