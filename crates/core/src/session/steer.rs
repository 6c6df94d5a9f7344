//! More input for the running turn.

use codex_session_base::input::{Input, TurnInput};
use codex_session_base::ports::SessionInput;
use codex_session_base::thread::{SteerError, TaskKind};

use super::actor::SessionActor;
use super::call::ThreadCall;

/// Gives input to the running turn. Replies with its id.
#[derive(Debug)]
pub struct Steer {
    /// The turn that it is meant for; none if any.
    pub expected: Option<String>,
    /// The input.
    pub input: TurnInput,
}

impl ThreadCall for Steer {
    type Reply = Result<String, SteerError>;

    fn observed(&self) -> Option<SessionInput> {
        Some(SessionInput::Steer((&self.input).into()))
    }

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        session.steer(self)
    }
}

impl SessionActor {
    fn steer(&mut self, call: Steer) -> Result<String, SteerError> {
        let Steer {
            expected,
            mut input,
        } = call;
        if input.is_empty() {
            return Err(SteerError::Empty);
        }
        let running = self.running().ok_or(SteerError::NoTurn)?;
        let active = running.scope.settings.id.to_string();
        if let Some(expected) = expected.filter(|expected| *expected != active) {
            return Err(SteerError::OtherTurn { expected, active });
        }
        if running.kind != TaskKind::Regular {
            return Err(SteerError::NotSteerable(running.kind));
        }
        self.save_input(&active, &mut input);
        let saved = input.saved.clone();
        match self.put_into_turn(Input::User(Box::new(input))) {
            Ok(_) => Ok(active),
            Err(_) => {
                if let Some(saved) = saved {
                    saved.end();
                }
                Err(SteerError::NoTurn)
            }
        }
    }
}
