//! `review/start`, in the thread or in a copy of it.

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{ReviewDelivery, ReviewStartParams, ReviewTarget};
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::{input_thread, thread_fork};
use crate::failure::Failure;

pub(super) async fn start(
    RequestContext { server, connection }: RequestContext,
    params: ReviewStartParams,
) -> Result<EarlyReply<method::ReviewStart>, Failure> {
    let target = checked_target(params.target)?;
    let parent = input_thread(&server, &params.thread_id)?;
    let thread = match params.delivery.unwrap_or(ReviewDelivery::Inline) {
        ReviewDelivery::Inline => parent,
        ReviewDelivery::Detached => {
            thread_fork::copy_for_review(&server, &params.thread_id, &connection).await?
        }
    };
    Ok(EarlyReply::by_thread(thread, |thread, reply| {
        thread.review(target, reply).boxed()
    }))
}

/// The target, if its required texts are not blank.
fn checked_target(target: ReviewTarget) -> Result<ReviewTarget, Failure> {
    let given = |name: &str, text: String| {
        let text = text.trim().to_owned();
        if text.is_empty() {
            Err(Failure::invalid(format!("{name} must not be empty")))
        } else {
            Ok(text)
        }
    };
    Ok(match target {
        ReviewTarget::UncommittedChanges => target,
        ReviewTarget::BaseBranch { branch } => ReviewTarget::BaseBranch {
            branch: given("branch", branch)?,
        },
        ReviewTarget::Commit { sha, title } => ReviewTarget::Commit {
            sha: given("sha", sha)?,
            title: title
                .map(|title| title.trim().to_owned())
                .filter(|title| !title.is_empty()),
        },
        ReviewTarget::Custom { instructions } => ReviewTarget::Custom {
            instructions: given("instructions", instructions)?,
        },
    })
}
