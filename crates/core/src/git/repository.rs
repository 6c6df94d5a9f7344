//! What the first line of a rollout tells of the repository that the thread works in.
//!
//! Asked when the file is made, beside the turn and not in its way; a program that hangs is given up.

use std::time::Duration;

use codex_protocol::GitInfo;

use super::client::Git;
use crate::session_context::SessionContext;

/// How long the file may wait for its first line.
const WAIT_LIMIT: Duration = Duration::from_secs(5);

/// From now on the thread has a file.
pub(crate) fn materialise(session: &SessionContext) {
    let emitter = session.emitter.clone();
    if !emitter.begin_file() {
        return;
    }
    let git = Git::new(session, &session.config.settings.cwd);
    if !git.is_repository() {
        return emitter.materialise(None);
    }
    tokio::spawn(async move {
        let facts = tokio::time::timeout(WAIT_LIMIT, facts(&git)).await;
        emitter.materialise(facts.unwrap_or_default().as_ref());
    });
}

async fn facts(git: &Git) -> Option<GitInfo> {
    let (commit_hash, branch, repository_url) = tokio::join!(
        git.line(&["rev-parse", "--verify", "--quiet", "HEAD"]),
        git.line(&["symbolic-ref", "--short", "--quiet", "HEAD"]),
        git.line(&["remote", "get-url", "origin"]),
    );
    let facts = GitInfo {
        commit_hash,
        branch,
        repository_url,
    };
    (facts != GitInfo::default()).then_some(facts)
}
