//! What comes in for a turn while it runs, and the word to stop.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use codex_protocol::{FunctionCallOutputBody, ResponseItem, TurnAbortReason, UserInput};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// How many inputs may wait. More are refused.
const LIMIT: usize = 512;

/// What a person says.
#[derive(Clone, Debug, Default)]
pub struct TurnInput {
    /// Piece by piece.
    pub items: Vec<UserInput>,
    /// What the client calls the message.
    pub client_id: Option<String>,
    /// What a tool of the client answered, in place of a message.
    pub tool_output: Option<ToolOutput>,
}

/// What a tool of the client answered without having been called by the model.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The name of the tool.
    pub name: String,
    /// The namespace of the tool.
    pub namespace: Option<String>,
    /// The answer.
    pub output: FunctionCallOutputBody,
}

impl TurnInput {
    /// Whether there is nothing to go on.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.tool_output.is_none()
    }
}

impl From<Vec<UserInput>> for TurnInput {
    fn from(items: Vec<UserInput>) -> Self {
        Self {
            items,
            ..Self::default()
        }
    }
}

/// Something for the next request.
#[derive(Debug)]
pub(crate) enum Input {
    /// A person said something.
    User(Box<TurnInput>),
    /// An item that nobody is shown.
    Hidden(Box<ResponseItem>),
}

/// The queue between the session and its running turn.
///
/// Closing and asking whether it is empty are one step, so that nothing can come in between the
/// turn's last look and its end.
#[derive(Debug, Default)]
pub(crate) struct InputQueue(Mutex<InputQueueState>);

#[derive(Debug, Default)]
struct InputQueueState {
    waiting: VecDeque<Input>,
    closed: bool,
}

impl InputQueue {
    /// Puts something in; gives it back if the turn takes nothing any more.
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

    /// Takes nothing any more, if nothing waits.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.0.lock();
        state.closed = state.waiting.is_empty();
        state.closed
    }

    /// Takes nothing any more; answers what still waits.
    pub(crate) fn close(&self) -> VecDeque<Input> {
        let mut state = self.0.lock();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}

/// The word to stop, with its reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopSignal {
    token: CancellationToken,
    reason: Arc<OnceLock<TurnAbortReason>>,
}

impl StopSignal {
    /// Says it. The first reason stands.
    pub(crate) fn stop(&self, reason: TurnAbortReason) {
        let _ = self.reason.set(reason);
        self.token.cancel();
    }

    pub(crate) fn reason(&self) -> TurnAbortReason {
        self.reason
            .get()
            .copied()
            .unwrap_or(TurnAbortReason::Interrupted)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits for it.
    pub(crate) async fn stopped(&self) {
        self.token.cancelled().await;
    }
}
