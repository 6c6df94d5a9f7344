//! The state machine of prompts. Pure: it returns actions, and `prompt.rs` carries them out.
//!
//! | state | a prompt | cancel | the engine refuses | a turn begins | the turn ends |
//! |---|---|---|---|---|---|
//! | idle | starting, ask for a turn | nothing | – | running, without a prompt | – |
//! | starting | is queued | all are kept in mind as cancelled | the first one has its reply, the next one is started | running; the queue steers it; a cancel interrupts it | – |
//! | running | is queued and steers the turn, unless that is cancelled | interrupts it | – | – | its prompts have their reply, the next one in the queue is started |
//!
//! A prompt leaves the queue when the turn has accepted it. One that the turn does not accept, as a review does, gets
//! a turn of its own afterwards. A cancel is for all prompts before it: they are replied to with `cancelled`, however
//! the turn ends.

use codex_json_rpc::{JsonRpcId, Responder};

#[derive(Debug)]
pub(crate) struct PromptRun<I> {
    state: RunState,
    /// Prompts that are not part of a turn.
    queue: Vec<QueuedPrompt<I>>,
}

#[derive(Debug)]
struct QueuedPrompt<I> {
    responder: Responder,
    input: I,
}

#[derive(Debug, Default)]
enum RunState {
    #[default]
    Idle,
    Starting(WaitingPrompts),
    Running {
        turn: String,
        waiting: WaitingPrompts,
    },
}

/// The prompts that the end of a turn replies to. A turn that no prompt started may have none.
#[derive(Debug, Default)]
pub(crate) struct WaitingPrompts {
    pub(crate) responders: Vec<Responder>,
    pub(crate) is_cancelled: bool,
}

/// The action for a new prompt.
#[derive(Debug, PartialEq)]
pub(crate) enum PromptAction<I> {
    /// Start a turn.
    Start(I),
    /// Add it to the running turn.
    Steer(SteeringPrompt<I>),
    /// Nothing: a turn is about to start or to end.
    Wait,
}

/// A queued prompt that the running turn may accept.
#[derive(Debug, PartialEq)]
pub(crate) struct SteeringPrompt<I> {
    pub(crate) turn: String,
    pub(crate) id: JsonRpcId,
    pub(crate) input: I,
}

/// The actions when the turn of a prompt starts.
#[derive(Debug, PartialEq)]
pub(crate) struct TurnActions<I> {
    /// Interrupt the turn.
    pub(crate) interrupt: bool,
    /// Add these to the turn.
    pub(crate) steering: Vec<SteeringPrompt<I>>,
}

/// The actions when a turn ended, or could not be started.
#[derive(Debug)]
pub(crate) struct PromptRunEnd<I> {
    /// Reply to these.
    pub(crate) answered: WaitingPrompts,
    /// Start a turn with this.
    pub(crate) next: Option<I>,
}

impl<I> Default for PromptRun<I> {
    fn default() -> Self {
        Self {
            state: RunState::Idle,
            queue: Vec::new(),
        }
    }
}

impl<I: Clone> PromptRun<I> {
    pub(crate) fn prompt(&mut self, responder: Responder, input: I) -> PromptAction<I> {
        let action = match &self.state {
            RunState::Idle => {
                self.state = RunState::Starting(WaitingPrompts::from_responder(responder));
                return PromptAction::Start(input);
            }
            RunState::Running { turn, waiting } if !waiting.is_cancelled => {
                PromptAction::Steer(SteeringPrompt {
                    turn: turn.clone(),
                    id: responder.id().clone(),
                    input: input.clone(),
                })
            }
            RunState::Starting(_) | RunState::Running { .. } => PromptAction::Wait,
        };
        self.queue.push(QueuedPrompt { responder, input });
        action
    }

    /// The running turn accepted a queued prompt.
    pub(crate) fn accepted(&mut self, turn: &str, id: &JsonRpcId) {
        if self.turn() == Some(turn)
            && let Some(responder) = self.unqueue(id)
            && let RunState::Running { waiting, .. } = &mut self.state
        {
            waiting.responders.push(responder);
        }
    }

    /// Takes a prompt out of the queue, to reply to it.
    pub(crate) fn unqueue(&mut self, id: &JsonRpcId) -> Option<Responder> {
        let mut queue = self.queue.iter();
        let place = queue.position(|queued| queued.responder.id() == id)?;
        Some(self.queue.remove(place).responder)
    }

    /// Cancels all prompts until now. Whether a running turn must be interrupted.
    pub(crate) fn cancel(&mut self) -> bool {
        let (waiting, is_running) = match &mut self.state {
            RunState::Idle => return false,
            RunState::Starting(waiting) => (waiting, false),
            RunState::Running { waiting, .. } => (waiting, true),
        };
        waiting.is_cancelled = true;
        let queued = self.queue.drain(..).map(|queued| queued.responder);
        waiting.responders.extend(queued);
        is_running
    }

    /// Whether this request is a prompt of the turn that starts or runs.
    pub(crate) fn has(&self, id: &JsonRpcId) -> bool {
        match &self.state {
            RunState::Idle => false,
            RunState::Starting(waiting) | RunState::Running { waiting, .. } => {
                let mut responders = waiting.responders.iter();
                responders.any(|responder| responder.id() == id)
            }
        }
    }

    /// The running turn.
    pub(crate) fn turn(&self) -> Option<&str> {
        match &self.state {
            RunState::Running { turn, .. } => Some(turn),
            RunState::Idle | RunState::Starting(_) => None,
        }
    }

    /// A turn started.
    pub(crate) fn begin(&mut self, id: &str) -> TurnActions<I> {
        let waiting = match std::mem::take(&mut self.state) {
            RunState::Idle => WaitingPrompts::default(),
            RunState::Starting(waiting) | RunState::Running { waiting, .. } => waiting,
        };
        let queue = self.queue.iter().filter(|_| !waiting.is_cancelled);
        let steering = queue.map(|queued| SteeringPrompt {
            turn: id.to_owned(),
            id: queued.responder.id().clone(),
            input: queued.input.clone(),
        });
        let actions = TurnActions {
            interrupt: waiting.is_cancelled,
            steering: steering.collect(),
        };
        let turn = id.to_owned();
        self.state = RunState::Running { turn, waiting };
        actions
    }

    /// A turn runs already, which none of these prompts started.
    pub(crate) fn join(&mut self, id: &str) {
        if matches!(self.state, RunState::Idle) {
            self.state = RunState::Running {
                turn: id.to_owned(),
                waiting: WaitingPrompts::default(),
            };
        }
    }

    /// The turn ended.
    pub(crate) fn end(&mut self) -> Option<PromptRunEnd<I>> {
        match std::mem::take(&mut self.state) {
            RunState::Running { waiting, .. } => Some(self.go_on(waiting)),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// The turn could not be started, or none was needed.
    pub(crate) fn refuse(&mut self) -> Option<PromptRunEnd<I>> {
        match std::mem::take(&mut self.state) {
            RunState::Starting(waiting) => Some(self.go_on(waiting)),
            other => {
                self.state = other;
                None
            }
        }
    }

    fn go_on(&mut self, answered: WaitingPrompts) -> PromptRunEnd<I> {
        let first = (!self.queue.is_empty()).then(|| self.queue.remove(0));
        let next = first.map(|QueuedPrompt { responder, input }| {
            self.state = RunState::Starting(WaitingPrompts::from_responder(responder));
            input
        });
        PromptRunEnd { answered, next }
    }

    /// Takes all prompts, because the session closes.
    pub(crate) fn close(&mut self) -> Vec<Responder> {
        self.cancel();
        match std::mem::take(&mut self.state) {
            RunState::Idle => Vec::new(),
            RunState::Starting(waiting) | RunState::Running { waiting, .. } => waiting.responders,
        }
    }
}

impl WaitingPrompts {
    fn from_responder(responder: Responder) -> Self {
        Self {
            responders: vec![responder],
            is_cancelled: false,
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
