//! The state machine of prompts. Pure: it returns actions, and `prompt.rs` carries them out.
//!
//! | state | a prompt | cancel | the engine refuses | a turn begins | the turn ends |
//! |---|---|---|---|---|---|
//! | idle | starting, ask for a turn | nothing | – | – | – |
//! | starting | waits for the turn | is kept in mind | answered: the error, or `cancelled`; idle | running; what waits steers it; a cancel interrupts it | – |
//! | running | steers the turn | interrupts it | – | – | all are answered; idle |
//!
//! After a cancel every prompt is replied to with `cancelled`, however the turn ends. Turns that no prompt started
//! change nothing.

use codex_json_rpc::{JsonRpcId, Responder};

#[derive(Debug, Default)]
pub(crate) struct PromptRun<I> {
    state: RunState<I>,
}

#[derive(Debug, Default)]
enum RunState<I> {
    #[default]
    Idle,
    Starting {
        waiting: WaitingPrompts,
        /// Prompts that came before the turn started.
        more: Vec<I>,
    },
    Running {
        turn: String,
        waiting: WaitingPrompts,
    },
}

/// The prompts that the end of a turn replies to.
#[derive(Debug)]
pub(crate) struct WaitingPrompts {
    pub(crate) responders: Vec<Responder>,
    pub(crate) is_cancelled: bool,
}

/// The action for a new prompt.
#[derive(Debug, PartialEq)]
pub(crate) enum PromptAction<I> {
    /// Start a turn.
    Start(I),
    /// Add it to the turn with this id.
    Steer(String, I),
    /// Nothing: the turn has not started yet.
    Wait,
}

/// The actions when a turn starts.
#[derive(Debug, PartialEq)]
pub(crate) struct TurnActions<I> {
    /// Interrupt the turn.
    pub(crate) interrupt: bool,
    /// Add this input to the turn.
    pub(crate) more: Vec<I>,
}

impl<I> PromptRun<I> {
    pub(crate) fn prompt(&mut self, responder: Responder, input: I) -> PromptAction<I> {
        match &mut self.state {
            RunState::Idle => {
                let waiting = WaitingPrompts {
                    responders: vec![responder],
                    is_cancelled: false,
                };
                let more = Vec::new();
                self.state = RunState::Starting { waiting, more };
                PromptAction::Start(input)
            }
            RunState::Starting { waiting, more } => {
                waiting.responders.push(responder);
                more.push(input);
                PromptAction::Wait
            }
            RunState::Running { turn, waiting } => {
                waiting.responders.push(responder);
                PromptAction::Steer(turn.clone(), input)
            }
        }
    }

    /// Whether a running turn must be interrupted.
    pub(crate) fn cancel(&mut self) -> bool {
        match &mut self.state {
            RunState::Idle => false,
            RunState::Starting { waiting, .. } => {
                waiting.is_cancelled = true;
                false
            }
            RunState::Running { waiting, .. } => {
                waiting.is_cancelled = true;
                true
            }
        }
    }

    /// Whether this request is a prompt that has no reply yet.
    pub(crate) fn has(&self, id: &JsonRpcId) -> bool {
        match &self.state {
            RunState::Idle => false,
            RunState::Starting { waiting, .. } | RunState::Running { waiting, .. } => waiting
                .responders
                .iter()
                .any(|responder| responder.id() == id),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, RunState::Running { .. })
    }

    /// A turn started.
    pub(crate) fn begin(&mut self, id: &str) -> Option<TurnActions<I>> {
        let (waiting, more) = match std::mem::take(&mut self.state) {
            RunState::Starting { waiting, more } => (waiting, more),
            other => {
                self.state = other;
                return None;
            }
        };
        let begun = TurnActions {
            interrupt: waiting.is_cancelled,
            more,
        };
        let turn = id.to_owned();
        self.state = RunState::Running { turn, waiting };
        Some(begun)
    }

    /// The turn ended.
    pub(crate) fn end(&mut self) -> Option<WaitingPrompts> {
        match std::mem::take(&mut self.state) {
            RunState::Running { waiting, .. } => Some(waiting),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// The turn could not be started.
    pub(crate) fn refuse(&mut self) -> Option<WaitingPrompts> {
        match std::mem::take(&mut self.state) {
            RunState::Starting { waiting, .. } => Some(waiting),
            other => {
                self.state = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codex_json_rpc::{LineQueue, Peer};

    fn run() -> (PromptRun<&'static str>, Peer, LineQueue) {
        let (peer, lines) = Peer::new("cancel");
        (PromptRun::default(), peer, lines)
    }

    #[tokio::test]
    async fn a_turn_answers_the_prompt_that_began_it_and_those_that_joined() {
        let (mut run, peer, _lines) = run();
        let responder = |id: i64| peer.responder(JsonRpcId::Number(id)).unwrap();
        assert_eq!(run.prompt(responder(1), "a"), PromptAction::Start("a"));
        assert_eq!(run.prompt(responder(2), "b"), PromptAction::Wait);
        let begun = TurnActions {
            interrupt: false,
            more: vec!["b"],
        };
        assert_eq!(run.begin("u"), Some(begun));
        assert_eq!(
            run.prompt(responder(3), "c"),
            PromptAction::Steer("u".to_owned(), "c")
        );
        assert!(run.has(&JsonRpcId::Number(3)));
        let waiting = run.end().unwrap();
        assert_eq!((waiting.responders.len(), waiting.is_cancelled), (3, false));
        assert_eq!(run.prompt(responder(4), "d"), PromptAction::Start("d"));
    }

    #[tokio::test]
    async fn a_cancel_before_the_turn_begins_interrupts_it() {
        let (mut run, peer, _lines) = run();
        assert!(!run.cancel());
        run.prompt(peer.responder(JsonRpcId::Number(1)).unwrap(), "a");
        assert!(!run.cancel());
        assert!(run.begin("u").unwrap().interrupt);
        assert!(run.cancel());
        assert!(run.end().unwrap().is_cancelled);
    }

    #[tokio::test]
    async fn a_turn_that_no_prompt_began_changes_nothing() {
        let (mut run, peer, _lines) = run();
        assert_eq!(run.begin("u"), None);
        assert!(run.end().is_none());
        run.prompt(peer.responder(JsonRpcId::Number(1)).unwrap(), "a");
        // The end of an earlier turn.
        assert!(run.end().is_none());
        assert_eq!(run.refuse().unwrap().responders.len(), 1);
    }
}
