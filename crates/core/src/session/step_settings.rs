//! Changes of the running turn's settings by clients.

use codex_model_client::FactsSource;
use codex_session_base::thread::{TurnSettingsError, TurnSettingsPatch};
use codex_session_base::turn_settings::with_overrides;

use super::actor::SessionActor;
use super::call::ThreadCall;
use crate::turn::StepChange;

/// Replies whether the turn runs. If it does not, nothing is changed.
impl ThreadCall for TurnSettingsPatch {
    type Reply = Result<bool, TurnSettingsError>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        session.change_turn(self)
    }
}

impl SessionActor {
    /// Changes settings of the running task from its next request on. Returns whether the task is the one that is meant.
    ///
    /// The facts about both models must be known: what is assumed about a model is told the user when a turn begins.
    fn change_turn(&self, patch: TurnSettingsPatch) -> Result<bool, TurnSettingsError> {
        if !self.context.config.options.features.step_model_switching {
            return Err(TurnSettingsError::Disabled);
        }
        let running = self.running();
        let Some(running) = running.filter(|running| *running.scope.settings.id == *patch.turn)
        else {
            return Ok(false);
        };
        let TurnSettingsPatch {
            turn: _,
            model,
            effort,
            summary,
            service_tier,
            approvals_reviewer,
            environment,
        } = patch;
        let only_others = (approvals_reviewer.is_some() || environment.is_some())
            && (model.is_none() && effort.is_none())
            && (summary.is_none() && service_tier.is_none());
        if !only_others && running.scope.settings.model_facts == FactsSource::Assumed {
            return Err(TurnSettingsError::UnknownModel("active"));
        }
        let model = model.map(|model| self.base.model.resolve(&model));
        if model
            .as_ref()
            .is_some_and(|model| model.source == FactsSource::Assumed)
        {
            return Err(TurnSettingsError::UnknownModel("destination"));
        }
        running.scope.next_step.add(StepChange {
            model: model.map(|model| with_overrides(model, &self.context.config).info),
            effort,
            summary,
            service_tier,
            approvals_reviewer,
            environment,
        });
        Ok(true)
    }
}
