//! The facts about the repository in the first line of a rollout.
//!
//! They are asked for when the file is created, in the background. If git hangs, they are left out.

use std::time::Duration;

use codex_protocol::GitInfo;
use codex_session_base::session_context::SessionContext;

use super::client::Git;

/// How long the first line may wait for the facts.
const WAIT_LIMIT: Duration = Duration::from_secs(5);

/// Creates the file of the thread.
pub(crate) fn materialise(session: &SessionContext) {
    let emitter = session.emitter.clone();
    if !emitter.begin_file() {
        return;
    }
    let git = Git::new(session, &session.config.options.settings.cwd);
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
