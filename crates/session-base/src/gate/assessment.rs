//! Reviews of approvals by a model, as far as the gate knows them: what is reviewed, the verdict, and the events.

use std::fmt;

use codex_protocol::{
    EventMsg, GuardianAssessmentEvent, GuardianAssessmentStatus, GuardianRiskLevel,
    GuardianUserAuthorization,
};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::events::Emitter;
use crate::ports::Clock;

/// A review that begins when its verdict is awaited. Dropping the verdict ends the review.
pub struct StartedReview {
    /// The action, for clients.
    pub action: Value,
    pub verdict: BoxFuture<'static, Assessment>,
}

impl fmt::Debug for StartedReview {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StartedReview")
            .finish_non_exhaustive()
    }
}

/// The verdict about one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub status: GuardianAssessmentStatus,
    pub risk_score: u8,
    pub risk_level: GuardianRiskLevel,
    pub user_authorization: Option<GuardianUserAuthorization>,
    pub rationale: String,
}

impl Assessment {
    pub fn is_allowed(&self) -> bool {
        self.status == GuardianAssessmentStatus::Approved
    }

    /// The verdict about an action that the user has allowed after a denial.
    pub fn allowed_by_user() -> Self {
        Self {
            status: GuardianAssessmentStatus::Approved,
            risk_score: 0,
            risk_level: GuardianRiskLevel::Low,
            user_authorization: Some(GuardianUserAuthorization::High),
            rationale: "The user allowed this action after it was denied.".to_owned(),
        }
    }

    /// The verdict when there is none: nothing is allowed without one.
    pub fn failed(rationale: impl Into<String>) -> Self {
        Self {
            status: GuardianAssessmentStatus::Denied,
            risk_score: 100,
            risk_level: GuardianRiskLevel::High,
            user_authorization: None,
            rationale: rationale.into(),
        }
    }

    /// What the model is told about a denied action.
    pub(super) fn rejection(&self) -> String {
        format!(
            "This action was rejected due to unacceptable risk. Reason: {}\n\
             Do not try to reach the same result in another way. Go on with something that is materially safer, or \
             tell the user about the risk and ask for explicit approval. Otherwise stop and ask the user what to do.",
            self.rationale
        )
    }
}

/// Emits the begin and the end of a review. A review that is dropped was aborted.
pub(super) struct ReviewProgress<'a> {
    emitter: &'a Emitter,
    clock: &'a dyn Clock,
    event: GuardianAssessmentEvent,
}

impl<'a> ReviewProgress<'a> {
    pub(super) fn begin(
        emitter: &'a Emitter,
        clock: &'a dyn Clock,
        turn: &str,
        call_id: &str,
        review_id: String,
        action: Value,
    ) -> Self {
        let event = GuardianAssessmentEvent {
            id: call_id.to_owned(),
            turn_id: turn.to_owned(),
            status: GuardianAssessmentStatus::InProgress,
            risk_score: None,
            risk_level: None,
            user_authorization: None,
            rationale: None,
            action: Some(action),
            review_id: Some(review_id),
            started_at_ms: Some(clock.now().as_millisecond()),
            completed_at_ms: None,
        };
        emitter.emit(turn, EventMsg::GuardianAssessment(event.clone()));
        Self {
            emitter,
            clock,
            event,
        }
    }

    pub(super) fn end(mut self, assessment: &Assessment) {
        self.event.status = assessment.status;
        self.event.risk_score = Some(assessment.risk_score);
        self.event.risk_level = Some(assessment.risk_level);
        self.event.user_authorization = assessment.user_authorization;
        self.event.rationale = Some(assessment.rationale.clone());
    }
}

impl Drop for ReviewProgress<'_> {
    fn drop(&mut self) {
        if self.event.status == GuardianAssessmentStatus::InProgress {
            self.event.status = GuardianAssessmentStatus::Aborted;
        }
        self.event.completed_at_ms = Some(self.clock.now().as_millisecond());
        let event = EventMsg::GuardianAssessment(self.event.clone());
        self.emitter.emit(&self.event.turn_id, event);
    }
}
