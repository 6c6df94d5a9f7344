//! `gitDiffToRemote`.

use std::path::Path;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{GitDiffToRemoteParams, GitDiffToRemoteResponse, GitSha};

use crate::connection::Responder;
use crate::failure::Failure;

pub(super) async fn diff_to_remote(
    params: GitDiffToRemoteParams,
    reply: Responder<method::GitDiffToRemote>,
) {
    let connection = std::sync::Arc::clone(reply.connection());
    let found = tokio::select! {
        found = codex_git::diff_to_remote(Path::new(&params.cwd)) => found,
        // There is nobody left to tell.
        () = connection.outbox().closed() => return,
    };
    reply.reply(match found {
        Ok(found) => Ok(GitDiffToRemoteResponse {
            sha: GitSha(found.commit),
            diff: found.diff,
        }),
        Err(error) => {
            tracing::debug!(%error, "no diff to a remote");
            let cwd = &params.cwd;
            let message = format!("failed to compute git diff to remote for cwd: {cwd:?}");
            Err(Failure::invalid(message))
        }
    });
}
