//! `gitDiffToRemote`.

use std::path::Path;

use codex_app_server_protocol::v2::{GitDiffToRemoteParams, GitDiffToRemoteResponse, GitSha};

use super::call::RequestContext;
use crate::failure::Failure;

pub(super) async fn diff_to_remote(
    call: RequestContext,
    params: GitDiffToRemoteParams,
) -> Result<GitDiffToRemoteResponse, Failure> {
    let home = call.server.host().store().home().to_owned();
    let found = tokio::select! {
        found = codex_git::diff_to_remote(Path::new(&params.cwd), &home) => found,
        () = call.connection.outbox().closed() => {
            return Err(Failure::internal("the client is gone"));
        }
    };
    match found {
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
    }
}
