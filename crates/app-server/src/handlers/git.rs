//! `gitDiffToRemote`.

use std::path::Path;

use codex_app_server_protocol::v2::{GitDiffToRemoteParams, GitDiffToRemoteResponse, GitSha};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

pub(super) async fn diff_to_remote(
    call: RequestContext,
    params: GitDiffToRemoteParams,
) -> Result<GitDiffToRemoteResponse, Failure> {
    let home = call.server.host().store().home().to_owned();
    let commands = call.server.host().commands();
    let commands = commands.map_err(|error| Failure::internal(error.to_string()))?;
    let cwd = Path::new(&params.cwd);
    let folder = cwd.to_owned();
    let (rules, hidden_files) = blocking(move || {
        let files = &commands.engine_files.hidden_files;
        let rules = codex_sandbox::hiding_rules(files, Some(&folder));
        let hidden_files = files.find(&rules);
        let hidden_files = hidden_files.map_err(|error| Failure::invalid(error.to_string()))?;
        Ok((rules, hidden_files))
    })
    .await?;
    let is_hidden = |path: &Path| {
        let mut hidden_files = hidden_files.iter();
        rules.hides(path).is_some() || hidden_files.any(|hidden| hidden.path == path)
    };
    let diff = tokio::select! {
        diff = codex_git::diff_to_remote(cwd, &home, is_hidden) => diff,
        () = call.connection.outbox().closed() => {
            return Err(Failure::internal("the client is gone"));
        }
    };
    match diff {
        Ok(diff) => Ok(GitDiffToRemoteResponse {
            sha: GitSha(diff.commit),
            diff: diff.diff,
        }),
        Err(error) => {
            tracing::debug!(%error, "no diff to a remote");
            let cwd = &params.cwd;
            let message = format!("failed to compute git diff to remote for cwd: {cwd:?}");
            Err(Failure::invalid(message))
        }
    }
}
