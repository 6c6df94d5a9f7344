//! What a client changes of a running turn: it holds from the next request to the model on, and for this turn alone.

use std::sync::{Arc, OnceLock};

use codex_model_client::ModelInfo;
use codex_protocol::{
    ApprovalsReviewer, AskForApproval, ReasoningEffort, ReasoningSummary, ServiceTier, Verbosity,
};
use codex_session_base::thread::TurnPlace;
use codex_session_base::turn_settings::TurnSettings;
use parking_lot::Mutex;

/// The settings that change. What is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepChange {
    pub(crate) model: Option<Arc<ModelInfo>>,
    pub(crate) effort: Option<ReasoningEffort>,
    pub(crate) summary: Option<ReasoningSummary>,
    pub(crate) service_tier: Option<ServiceTier>,
    pub(crate) approvals_reviewer: Option<ApprovalsReviewer>,
    /// Where the model runs commands and works on files, or none if it may not.
    pub(crate) environment: Option<Option<TurnPlace>>,
}

/// The change that waits for the next step of a turn. Shared by the turn and its session.
#[derive(Clone, Debug, Default)]
pub(crate) struct NextStep(Arc<Mutex<Option<StepChange>>>);

impl NextStep {
    /// Adds to what waits. What is changed twice has the later value.
    pub(crate) fn add(&self, change: StepChange) {
        let mut waiting = self.0.lock();
        let before = waiting.take().unwrap_or_default();
        *waiting = Some(StepChange {
            model: change.model.or(before.model),
            effort: change.effort.or(before.effort),
            summary: change.summary.or(before.summary),
            service_tier: change.service_tier.or(before.service_tier),
            approvals_reviewer: change.approvals_reviewer.or(before.approvals_reviewer),
            environment: change.environment.or(before.environment),
        });
    }

    pub(super) fn take(&self) -> Option<StepChange> {
        self.0.lock().take()
    }
}

impl StepChange {
    /// The settings with this change. `verbosity` is the one of the configuration.
    pub(super) fn apply(self, before: &TurnSettings, verbosity: Option<Verbosity>) -> TurnSettings {
        let mut settings = before.clone();
        if let Some(model) = self.model {
            settings.verbosity = model.verbosity(verbosity);
            settings.mode.settings.model.clone_from(&model.slug);
            settings.model = model;
        }
        if let Some(effort) = self.effort {
            settings.mode.settings.reasoning_effort = Some(effort);
        }
        settings.summary = self.summary.unwrap_or(settings.summary);
        settings.service_tier = self.service_tier.or(settings.service_tier);
        if let Some(reviewer) = self.approvals_reviewer {
            let is_reviewed = settings.approval_policy == AskForApproval::OnRequest
                && reviewer == ApprovalsReviewer::GuardianSubagent;
            let known = settings.reviews.take();
            settings.approvals_reviewer = reviewer;
            settings.reviews = is_reviewed.then(|| known.unwrap_or_default());
        }
        if let Some(environment) = self.environment {
            settings.has_environment = environment.is_some();
            let (cwd, environments) = match environment {
                Some(place) => (place.cwd, place.environments),
                None => (None, Vec::new()),
            };
            settings.cwd = cwd.unwrap_or(settings.cwd);
            settings.environments = environments;
            settings.shells = OnceLock::new();
        }
        settings
    }
}
