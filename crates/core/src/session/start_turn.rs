//! Starting a turn with typed input. What is accepted is kept on disk until the file of the thread has it.

use std::sync::Arc;

use codex_session_base::input::{SavedContent, SavedInput, TurnInput};
use codex_session_base::ports::{ObservedTurn, SessionInput};
use codex_session_base::thread::{NewTurn, StartTurnError, TaskKind};
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::operations::InputPlace;
use super::state::TurnOverrides;

/// Starts a turn, or gives its input to the running one. If settings are not allowed, the turn fails; if another turn runs,
/// this call fails.
///
/// It replies once it is certain where the input goes, and only then lets the turn begin: its first steps take longer than all
/// that a client waits for.
#[derive(Debug)]
pub struct StartTurn {
    /// The turn.
    pub turn: NewTurn,
    /// Gets the id of the turn that has the input.
    pub reply: oneshot::Sender<Result<String, StartTurnError>>,
}

impl ThreadCall for StartTurn {
    type Reply = ();

    fn observed(&self) -> Option<SessionInput> {
        Some(SessionInput::Turn(Box::new(observed_turn(&self.turn))))
    }

    async fn run(self, session: &mut SessionActor) {
        session.start_turn(self).await;
    }
}

fn observed_turn(turn: &NewTurn) -> ObservedTurn {
    let NewTurn {
        id,
        settings,
        context,
        input,
        output_schema,
        service_tier,
        limits,
        root_turn_id,
        metadata,
        may_be_empty,
    } = turn;
    ObservedTurn {
        id: id.clone(),
        settings: settings.clone(),
        context: context.clone(),
        input: input.into(),
        output_schema: output_schema.clone(),
        service_tier: service_tier.clone(),
        limits: *limits,
        root_turn_id: root_turn_id.clone(),
        metadata: metadata.clone(),
        may_be_empty: *may_be_empty,
    }
}

impl SessionActor {
    async fn start_turn(&mut self, StartTurn { turn, reply }: StartTurn) {
        let id = turn.id.clone();
        let accepted = self.accept_turn(turn);
        let placed = accepted.map(|(mut input, own)| {
            let running = self.running_regular();
            self.save_input(running.as_deref().unwrap_or(&id), &mut input);
            let mut placed = self.place_input(&id, input, own, None);
            // The running turn takes no more input: the copy is that of another turn.
            if let (InputPlace::NewTurn(begins), Some(_)) = (&mut placed, running) {
                let before = begins.0.saved.take();
                self.save_input(&id, &mut begins.0);
                if let Some(before) = before {
                    before.end();
                }
            }
            placed
        });
        let (active, begins) = match placed {
            Ok(InputPlace::Running(active)) => (Ok(active), None),
            Ok(InputPlace::Queued) => (Ok(id.clone()), None),
            Ok(InputPlace::NewTurn(begins)) => (Ok(id.clone()), Some(*begins)),
            Err(error) => (Err(error), None),
        };
        let _ = reply.send(active);
        if let Some((input, own)) = begins {
            self.begin(&id, input, own).await;
        }
    }

    /// The id of the running turn that takes input.
    fn running_regular(&self) -> Option<String> {
        let running = self.running()?;
        let takes_input = running.kind == TaskKind::Regular;
        takes_input.then(|| running.scope.settings.id.to_string())
    }

    /// Keeps accepted input on disk until the file of the thread has it. What cannot be kept is taken all the same.
    pub(super) fn save_input(&self, turn: &str, input: &mut TurnInput) {
        if input.is_of_client() && !input.is_kept {
            self.save(turn, input);
        }
    }

    pub(super) fn save(&self, turn: &str, input: &mut TurnInput) {
        let emitter = &self.context.emitter;
        let now = self.context.clock.now();
        let log = emitter.with_log(|log| (log.path().to_owned(), log.waiting_lines(now)));
        let Some((file, beginning)) = log else {
            return;
        };
        let content = SavedContent {
            thread: emitter.thread().clone(),
            turn: turn.to_owned(),
            item: self.context.ids.item(),
            file,
            beginning: beginning.and_then(|lines| String::from_utf8(lines).ok()),
            input: (&*input).into(),
        };
        let home = &self.context.config.services.threads_home;
        match SavedInput::save(home, &content) {
            Ok(saved) => {
                emitter.with_log(|log| log.synchronise_soon(saved.path()));
                input.saved = Some(Arc::new(saved));
            }
            Err(error) => tracing::warn!(%error, "an accepted input is not saved before its turn"),
        }
    }

    /// If settings are not allowed, the turn runs with the old ones and fails.
    fn accept_turn(&mut self, turn: NewTurn) -> Result<(TurnInput, TurnOverrides), StartTurnError> {
        let claimed = self.context.emitter.claim();
        claimed.map_err(|error| StartTurnError::Claimed(error.to_string()))?;
        if turn.input.is_empty() && !turn.may_be_empty {
            return Err(StartTurnError::Empty);
        }
        let refused = match self.change_settings(turn.settings) {
            Ok(_) => None,
            Err(error) if self.running().is_none() => Some(error.to_string()),
            Err(error) => return Err(StartTurnError::Settings(error)),
        };
        for item in turn.context {
            self.add_notice(item);
        }
        let overrides = TurnOverrides {
            schema: turn.output_schema,
            service_tier: turn.service_tier,
            root_turn_id: turn.root_turn_id,
            limits: turn.limits,
            metadata: turn.metadata,
            refused,
            ..TurnOverrides::default()
        };
        Ok((turn.input, overrides))
    }
}
