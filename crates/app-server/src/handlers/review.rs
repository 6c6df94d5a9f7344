//! `review/start`, in the thread itself or in a copy of it.

use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{ReviewDelivery, ReviewStartParams, ReviewTarget};
use codex_protocol as v1;

use super::{loaded_thread, thread_open};
use crate::connection::Responder;
use crate::failure::Failure;
use crate::server::Server;

pub(super) async fn start(
    server: Arc<Server>,
    params: ReviewStartParams,
    reply: Responder<method::ReviewStart>,
) {
    let target = match engine_target(params.target) {
        Ok(target) => target,
        Err(failure) => return reply.refuse(failure),
    };
    let parent = match loaded_thread(&server, &params.thread_id) {
        Ok(thread) => thread,
        Err(failure) => return reply.refuse(failure),
    };
    let thread = match params.delivery.unwrap_or(ReviewDelivery::Inline) {
        ReviewDelivery::Inline => parent,
        ReviewDelivery::Detached => {
            let connection = reply.connection();
            match thread_open::copy_for_review(&server, &params.thread_id, connection).await {
                Ok(copy) => copy,
                Err(failure) => return reply.refuse(failure),
            }
        }
    };
    thread.review(target, reply).await;
}

/// The target as the engine knows it. What it needs must not be blank.
fn engine_target(target: ReviewTarget) -> Result<v1::ReviewTarget, Failure> {
    let given = |name: &str, text: String| {
        let text = text.trim().to_owned();
        match text.is_empty() {
            true => Err(Failure::invalid(format!("{name} must not be empty"))),
            false => Ok(text),
        }
    };
    Ok(match target {
        ReviewTarget::UncommittedChanges => v1::ReviewTarget::UncommittedChanges,
        ReviewTarget::BaseBranch { branch } => v1::ReviewTarget::BaseBranch {
            branch: given("branch", branch)?,
        },
        ReviewTarget::Commit { sha, title } => v1::ReviewTarget::Commit {
            sha: given("sha", sha)?,
            title: title
                .map(|title| title.trim().to_owned())
                .filter(|title| !title.is_empty()),
        },
        ReviewTarget::Custom { instructions } => v1::ReviewTarget::Custom {
            instructions: given("instructions", instructions)?,
        },
    })
}
