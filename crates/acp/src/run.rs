//! The lifecycle of a prompt. Pure: it says what is to be done, others do it.
//!
//! | state | a prompt | cancel | the engine refuses | a turn begins | the turn ends |
//! |---|---|---|---|---|---|
//! | idle | starting, ask for a turn | nothing | – | – | – |
//! | starting | waits for the turn | is kept in mind | answered: the error, or `cancelled`; idle | running; what waits steers it; a cancel interrupts it | – |
//! | running | steers the turn | interrupts it | – | – | all are answered; idle |
//!
//! After a cancel every answer is `cancelled`, however the turn ends. A turn that no prompt began changes nothing.

use codex_json_rpc::{RequestId, Responder};

#[derive(Debug, Default)]
pub(crate) struct Run<I> {
    state: State<I>,
}

#[derive(Debug, Default)]
enum State<I> {
    #[default]
    Idle,
    Starting {
        waiting: Waiting,
        /// What was said meanwhile.
        more: Vec<I>,
    },
    Running {
        turn: String,
        waiting: Waiting,
    },
}

/// Prompts that one turn answers.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) responders: Vec<Responder>,
    pub(crate) is_cancelled: bool,
}

/// What is to be done with a prompt.
#[derive(Debug, PartialEq)]
pub(crate) enum Next<I> {
    /// Ask for a turn.
    Start(I),
    /// Add it to the turn of this id.
    Steer(String, I),
    /// Nothing yet.
    Wait,
}

/// What is to be done as a turn begins.
#[derive(Debug, PartialEq)]
pub(crate) struct Begun<I> {
    /// Interrupt it.
    pub(crate) interrupt: bool,
    /// Add this to it.
    pub(crate) more: Vec<I>,
}

impl<I> Run<I> {
    pub(crate) fn prompt(&mut self, responder: Responder, input: I) -> Next<I> {
        match &mut self.state {
            State::Idle => {
                let waiting = Waiting {
                    responders: vec![responder],
                    is_cancelled: false,
                };
                let more = Vec::new();
                self.state = State::Starting { waiting, more };
                Next::Start(input)
            }
            State::Starting { waiting, more } => {
                waiting.responders.push(responder);
                more.push(input);
                Next::Wait
            }
            State::Running { turn, waiting } => {
                waiting.responders.push(responder);
                Next::Steer(turn.clone(), input)
            }
        }
    }

    /// Says whether there is a turn to interrupt.
    pub(crate) fn cancel(&mut self) -> bool {
        match &mut self.state {
            State::Idle => false,
            State::Starting { waiting, .. } => {
                waiting.is_cancelled = true;
                false
            }
            State::Running { waiting, .. } => {
                waiting.is_cancelled = true;
                true
            }
        }
    }

    /// Whether this request is a prompt that waits here.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        match &self.state {
            State::Idle => false,
            State::Starting { waiting, .. } | State::Running { waiting, .. } => waiting
                .responders
                .iter()
                .any(|responder| responder.id() == id),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// A turn has begun.
    pub(crate) fn begin(&mut self, id: &str) -> Option<Begun<I>> {
        let (waiting, more) = match std::mem::take(&mut self.state) {
            State::Starting { waiting, more } => (waiting, more),
            other => {
                self.state = other;
                return None;
            }
        };
        let begun = Begun {
            interrupt: waiting.is_cancelled,
            more,
        };
        let turn = id.to_owned();
        self.state = State::Running { turn, waiting };
        Some(begun)
    }

    /// The turn is over.
    pub(crate) fn end(&mut self) -> Option<Waiting> {
        match std::mem::take(&mut self.state) {
            State::Running { waiting, .. } => Some(waiting),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// No turn came about.
    pub(crate) fn refuse(&mut self) -> Option<Waiting> {
        match std::mem::take(&mut self.state) {
            State::Starting { waiting, .. } => Some(waiting),
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

    fn run() -> (Run<&'static str>, Peer, LineQueue) {
        let (peer, lines) = Peer::new("cancel");
        (Run::default(), peer, lines)
    }

    #[tokio::test]
    async fn a_turn_answers_the_prompt_that_began_it_and_those_that_joined() {
        let (mut run, peer, _lines) = run();
        let responder = |id: i64| peer.responder(RequestId::Number(id)).unwrap();
        assert_eq!(run.prompt(responder(1), "a"), Next::Start("a"));
        assert_eq!(run.prompt(responder(2), "b"), Next::Wait);
        let begun = Begun {
            interrupt: false,
            more: vec!["b"],
        };
        assert_eq!(run.begin("u"), Some(begun));
        assert_eq!(
            run.prompt(responder(3), "c"),
            Next::Steer("u".to_owned(), "c")
        );
        assert!(run.has(&RequestId::Number(3)));
        let waiting = run.end().unwrap();
        assert_eq!((waiting.responders.len(), waiting.is_cancelled), (3, false));
        assert_eq!(run.prompt(responder(4), "d"), Next::Start("d"));
    }

    #[tokio::test]
    async fn a_cancel_before_the_turn_begins_interrupts_it() {
        let (mut run, peer, _lines) = run();
        assert!(!run.cancel());
        run.prompt(peer.responder(RequestId::Number(1)).unwrap(), "a");
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
        run.prompt(peer.responder(RequestId::Number(1)).unwrap(), "a");
        // The end of a turn before this one.
        assert!(run.end().is_none());
        assert_eq!(run.refuse().unwrap().responders.len(), 1);
    }
}
