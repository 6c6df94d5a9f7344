//! Starting a reviewer of approvals.

use std::sync::Arc;

use futures::FutureExt;

use super::actor::SessionActor;
use crate::approval_review::{Action, config_of_reviewer, judge, question};
use crate::gate::{Assessment, EffectCall, StartedReview};
use crate::thread_origin::ThreadOrigin;

impl SessionActor {
    /// Starts a reviewer that decides about an effect. It is an agent that nobody sees, and ends with its verdict.
    pub(super) fn start_review(&self, call: &EffectCall, reason: Option<&str>) -> StartedReview {
        let turn = &call.settings;
        let action = Action::of(&call.effect, turn);
        let ids = &self.context.ids;
        let config = config_of_reviewer(&self.context.config, turn);
        let mut origin = ThreadOrigin::new(ids.thread(), config);
        origin.agent_tree = self.agent_tree.of_agent(&self.context.budget);
        let ends_with_verdict = origin.agent_tree.cancel.clone().drop_guard();
        let launched = match self.launcher.upgrade() {
            Some(launcher) => launcher.launch(origin).map_err(|error| error.to_string()),
            None => Err("the engine is going away".to_owned()),
        };
        let verdict = match launched {
            Ok(reviewer) => {
                let transcript = turn.reviews.as_ref().map(|reviews| reviews.transcript());
                let question = question(&transcript.unwrap_or_default(), &action.whole, reason);
                let clock = Arc::clone(&self.context.clock);
                judge(
                    reviewer,
                    ends_with_verdict,
                    ids.submission(),
                    question,
                    clock,
                )
                .boxed()
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
}
