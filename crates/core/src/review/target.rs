//! The target of a review, described for the reviewer and for clients.

use codex_protocol::ReviewTarget;

use crate::git::Git;

/// The title of a target.
pub(super) fn hint(target: &ReviewTarget) -> String {
    match target {
        ReviewTarget::UncommittedChanges => "current changes".to_owned(),
        ReviewTarget::BaseBranch { branch } => format!("changes against '{branch}'"),
        ReviewTarget::Commit { sha, title } => {
            let short: String = sha.chars().take(7).collect();
            match title {
                Some(title) => format!("commit {short}: {title}"),
                None => format!("commit {short}"),
            }
        }
        ReviewTarget::Custom { instructions } => instructions.trim().to_owned(),
    }
}

/// The prompt for the reviewer.
///
/// Without `git`, the code is on another machine, where the reviewer looks for itself.
///
/// # Errors
/// The target cannot be reviewed here, with the reason.
pub(super) async fn prompt(target: &ReviewTarget, git: Option<&Git>) -> Result<String, String> {
    Ok(match target {
        ReviewTarget::UncommittedChanges => {
            "Review everything in the working tree that is not committed: staged, unstaged and \
             untracked files. Provide prioritized, actionable findings."
                .to_owned()
        }
        ReviewTarget::BaseBranch { branch } => base_branch(branch, git).await?,
        ReviewTarget::Commit { sha, title } => {
            let title = title.as_ref().map(|title| format!(" (\"{title}\")"));
            format!(
                "Review the code changes introduced by commit {sha}{}. Provide prioritized, \
                 actionable findings.",
                title.unwrap_or_default()
            )
        }
        ReviewTarget::Custom { instructions } => instructions.trim().to_owned(),
    })
}

async fn base_branch(branch: &str, git: Option<&Git>) -> Result<String, String> {
    if let Some(git) = git.filter(|git| !git.is_repository()) {
        let folder = git.folder().display();
        return Err(format!("`{folder}` is not in a git repository"));
    }
    let base = match git {
        Some(git) => merge_base(branch, git).await,
        None => None,
    };
    let look = match base {
        Some(base) => {
            format!("They began at {base}; `git diff {base}` shows them.")
        }
        None => format!(
            "Find where they began first, for example with `git merge-base HEAD '{branch}'`, and \
             look at the difference from there."
        ),
    };
    Ok(format!(
        "Review the changes that the current branch adds to the branch '{branch}'. {look} Provide \
         prioritized, actionable findings."
    ))
}

/// The merge base of HEAD with a branch, or with its upstream if that is ahead.
async fn merge_base(branch: &str, git: &Git) -> Option<String> {
    let own = git.commit(branch).await?;
    let upstream = git.commit(&format!("{branch}@{{upstream}}")).await;
    let base = match upstream {
        Some(upstream) if git.is_ahead(&upstream, &own).await => upstream,
        _ => own,
    };
    git.line(&["merge-base", "HEAD", &base]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_target_has_a_short_label() {
        let commit = |title: Option<&str>| ReviewTarget::Commit {
            sha: "1234567deadbeef".to_owned(),
            title: title.map(str::to_owned),
        };
        assert_eq!(hint(&commit(None)), "commit 1234567");
        assert_eq!(hint(&commit(Some("Tidy"))), "commit 1234567: Tidy");
        assert_eq!(hint(&ReviewTarget::UncommittedChanges), "current changes");
        let branch = "main".to_owned();
        let base = ReviewTarget::BaseBranch { branch };
        assert_eq!(hint(&base), "changes against 'main'");
        let instructions = " look \n".to_owned();
        assert_eq!(hint(&ReviewTarget::Custom { instructions }), "look");
    }
}
