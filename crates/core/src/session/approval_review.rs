//! Automatic reviews of approvals: starts reviewers, and takes what the user allows after a denial.

use std::sync::Arc;

use codex_protocol::GuardianAssessmentEvent;
use codex_session_base::gate::{Assessment, ReviewSubject, StartedReview};
use codex_session_base::history::developer_message;
use codex_session_base::turn_settings::TurnSettings;
use futures::FutureExt;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::review_state::ReviewedAction;
use crate::approval_review::{
    Action, Reviewer, ReviewerKey, ReviewerSlot, config_of_reviewer, judge, question,
};
use crate::thread_origin::{LaunchError, ThreadOrigin};

impl SessionActor {
    /// Starts the review of an action by an agent that nobody sees.
    pub(super) fn start_review(
        &mut self,
        subject: &ReviewSubject,
        turn: &Arc<TurnSettings>,
        call_id: String,
        reason: Option<&str>,
    ) -> StartedReview {
        let action = Action::from_subject(subject, turn);
        let state = self.reviews.get_or_insert_default();
        let is_allowed = state.take_permission(&action);
        state.note(ReviewedAction {
            turn: Arc::clone(&turn.id),
            call_id,
            action: action.clone(),
        });
        let slot = Arc::clone(&state.reviewer);
        if is_allowed {
            return StartedReview {
                action: action.short,
                verdict: std::future::ready(Assessment::allowed_by_user()).boxed(),
            };
        }
        let verdict = match self.approval_reviewer(turn, &slot) {
            Ok(reviewer) => {
                let transcript = turn.reviews.as_ref().map(|reviews| reviews.transcript());
                let question = question(&transcript.unwrap_or_default(), &action.whole, reason);
                let (id, clock) = (self.context.ids.submission(), &self.context.clock);
                judge(reviewer, slot, id, question, Arc::clone(clock)).boxed()
            }
            Err(error) => {
                let text = format!("Automatic approval review failed: {error}");
                std::future::ready(Assessment::failed(text)).boxed()
            }
        };
        StartedReview {
            action: action.short,
            verdict,
        }
    }

    /// The reviewer that waits, or a new one.
    fn approval_reviewer(
        &self,
        turn: &TurnSettings,
        slot: &ReviewerSlot,
    ) -> Result<Box<Reviewer>, LaunchError> {
        let key = ReviewerKey::for_turn(turn);
        if let Some(reviewer) = Reviewer::waiting_in(slot, &key) {
            return Ok(reviewer);
        }
        let config = config_of_reviewer(&self.context.config, turn);
        let mut origin = ThreadOrigin::new(self.context.ids.thread(), config);
        origin.agent_tree = self.tree_of_agent();
        let ends_thread = origin.agent_tree.cancel.clone().drop_guard();
        let (thread, events) = self.launcher.launch_hidden(origin)?;
        let reviewer = Reviewer::new(key, thread, events, ends_thread);
        Ok(Box::new(reviewer))
    }
}

/// Allows an action that automatic review denied: the same action may happen once, and the model is told.
#[derive(Debug)]
pub struct AllowDenied(
    /// The event of the denial.
    pub GuardianAssessmentEvent,
);

impl ThreadCall for AllowDenied {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let Self(event) = self;
        if let Some(reviews) = &mut session.reviews {
            reviews.allow(&event.turn_id, &event.id);
        }
        let action = event.action.unwrap_or_default();
        let text = format!(
            "The user was told why automatic review denied the following action, and allows it now, once. If it is still \
             needed, do it again exactly as it was. Nothing else is allowed by this.\n{action:#}"
        );
        session.add_notice(developer_message([text]));
    }
}
