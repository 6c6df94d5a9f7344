//! Automatic review of approvals: a hidden agent judges the risk of an action in place of a person.
//!
//! The reviewer is a thread of its own, without a file, that may read and do nothing else. It gets our risk policy, or that
//! of an administrator, as its instructions, and the transcript and the action as data ([`mod@question`]). It answers several
//! questions of its thread ([`Reviewer`]), one at a time. Whatever it does not answer in time and in
//! the form that was asked for is a denial ([`verdict`]).

mod action;
mod question;
mod reviewer;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use action::Action;
pub(crate) use question::question;
pub(crate) use reviewer::{Reviewer, ReviewerKey, ReviewerSlot};

use codex_session_base::config::SessionConfig;
use codex_session_base::gate::Assessment;
use codex_session_base::ports::Clock;
use codex_session_base::turn_settings::TurnSettings;

const POLICY: &str = include_str!("../../prompts/approval_review.md").trim_ascii_end();
const TIME_LIMIT: Duration = Duration::from_secs(90);

/// The configuration of a reviewer.
pub(crate) fn config_of_reviewer(config: &SessionConfig, turn: &TurnSettings) -> SessionConfig {
    config.for_reviewer(turn, POLICY)
}

/// Lets a reviewer answer. If it does, it is kept for the next question.
pub(crate) async fn judge(
    mut reviewer: Box<Reviewer>,
    slot: ReviewerSlot,
    turn: String,
    question: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Assessment {
    let answer = tokio::select! {
        answer = reviewer.answer(turn, question) => answer,
        () = clock.sleep(TIME_LIMIT) => {
            let text = "Automatic approval review timed out while evaluating the requested approval.";
            return Assessment::failed(text);
        }
    };
    match answer.and_then(|text| verdict::read(&text)) {
        Ok(assessment) => {
            reviewer.keep_in(&slot);
            assessment
        }
        Err(reason) => Assessment::failed(format!("Automatic approval review failed: {reason}")),
    }
}
