//! The changes of a repository that none of its remotes has.

use std::path::Path;

use crate::private_git_dir::{InitialIndex, PrivateGitDir};
use crate::program::{GitError, GitProgram};

/// Only the most recent remote branches are considered.
const BRANCHES: &str = "--count=500";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteDiff {
    /// The nearest commit that a remote has.
    pub commit: String,
    /// The diff from that commit to the working tree, untracked files included.
    pub diff: String,
}

/// The changes of the repository around `folder` that its remotes lack. Temporary files go to `scratch`, which
/// sandboxed commands must not be able to write to.
///
/// # Errors
/// There is no repository, no remote has any of its commits, or git fails.
/// Files for which `is_hidden` is true are left out.
pub async fn diff_to_remote(
    folder: &Path,
    scratch: &Path,
    is_hidden: impl Fn(&Path) -> bool + Send,
) -> Result<RemoteDiff, GitError> {
    let git = GitProgram::in_folder(folder);
    let repository = git.repository().await?;
    let commit = nearest_remote_commit(&git).await?;
    // A copy of the index gets the untracked files, so that one diff contains everything.
    let git_dir = PrivateGitDir::create(&repository, scratch, InitialIndex::Copy)?;
    let git = GitProgram::private(&git_dir);
    git.run(&["add", "--intent-to-add", "--", "."]).await?;
    let hidden = hidden_names(&git, &commit, repository.top(), is_hidden).await?;
    let diff = diff_without(&git, &commit, &hidden).await?;
    Ok(RemoteDiff { commit, diff })
}

async fn nearest_remote_commit(git: &GitProgram) -> Result<String, GitError> {
    let format = "--format=%(objectname)";
    let newest_first = "--sort=-committerdate";
    let branches = [
        "for-each-ref",
        format,
        newest_first,
        BRANCHES,
        "refs/remotes",
    ];
    let branches = git.line(&branches).await?;
    let mut ask = vec!["merge-base", "HEAD"];
    ask.extend(branches.lines());
    if ask.len() == 2 {
        return Err(GitError::NoAnswer("no remote has any commit"));
    }
    // With more than two commits, `merge-base` finds the nearest common ancestor of HEAD and any of the others.
    git.line(&ask).await
}

/// The changed files that are hidden, relative to the top of the repository.
async fn hidden_names(
    git: &GitProgram,
    commit: &str,
    top: &Path,
    is_hidden: impl Fn(&Path) -> bool + Send,
) -> Result<Vec<String>, GitError> {
    let arguments = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--ignore-submodules=dirty",
        commit,
        "--",
    ];
    let output = git.run(&arguments).await?;
    let names = output
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    let hidden = names.filter(|name| is_hidden(&top.join(codex_system::name::path_of(name))));
    Ok(hidden
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

async fn diff_without(
    git: &GitProgram,
    commit: &str,
    hidden: &[String],
) -> Result<String, GitError> {
    let excluded: Vec<String> = hidden
        .iter()
        .map(|name| format!(":(top,exclude,literal){name}"))
        .collect();
    let mut diff = vec![
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--submodule=short",
        "--ignore-submodules=dirty",
        commit,
        "--",
    ];
    if !excluded.is_empty() {
        diff.push(":(top)");
        diff.extend(excluded.iter().map(String::as_str));
    }
    let diff = git.run(&diff).await?;
    Ok(String::from_utf8(diff)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    }

    /// A repository with a commit that its remote has.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::create_dir(at.join("work")).unwrap();
        git(at, &["init", "-q", "--bare", "remote"]);
        let work = at.join("work");
        git(&work, &["init", "-q", "-b", "main"]);
        fs::write(work.join("a"), "one\n").unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", "first"]);
        git(&work, &["remote", "add", "origin", "../remote"]);
        git(&work, &["push", "-q", "origin", "main"]);
        folder
    }

    #[tokio::test]
    async fn remote_diff_has_commits_and_uncommitted_changes() {
        let folder = repository();
        let work = folder.path().join("work");
        fs::write(work.join("b"), "committed\n").unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", "second"]);
        fs::write(work.join("a"), "changed\n").unwrap();
        fs::create_dir(work.join("d")).unwrap();
        fs::write(work.join("d/c"), "untracked\n").unwrap();
        fs::write(work.join(".gitignore"), "ignored\n").unwrap();
        fs::write(work.join("ignored"), "x\n").unwrap();
        let index = fs::read(work.join(".git/index")).unwrap();
        let found = diff_to_remote(&work.join("d"), folder.path(), |_| false)
            .await
            .unwrap();
        let first = GitProgram::in_folder(&work)
            .line(&["rev-parse", "HEAD~"])
            .await
            .unwrap();
        assert_eq!(found.commit, first);
        for line in ["-one", "+changed", "+committed", "+untracked", "+++ b/d/c"] {
            assert!(found.diff.lines().any(|found| found == line), "{line}");
        }
        assert!(!found.diff.contains("b/ignored"));
        assert!(fs::read(work.join(".git/index")).unwrap() == index);
    }

    #[tokio::test]
    async fn remote_diff_runs_no_program_of_the_repository() {
        let folder = repository();
        let work = folder.path().join("work");
        let (script, trace) = (work.join("evil"), work.join("was-here"));
        fs::write(
            &script,
            format!("#!/bin/sh\ntouch {}\ncat\n", trace.display()),
        )
        .unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let evil = script.to_str().unwrap();
        fs::create_dir(work.join("sub")).unwrap();
        git(&work.join("sub"), &["init", "-q", "-b", "main"]);
        fs::write(work.join("sub/a"), "one\n").unwrap();
        git(&work.join("sub"), &["add", "."]);
        git(&work.join("sub"), &["commit", "-q", "-m", "first"]);
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", "second"]);
        for (name, value) in crate::test_programs::settings(evil) {
            git(&work, &["config", &name, &value]);
            git(&work.join("sub"), &["config", &name, &value]);
        }
        for hook in crate::test_programs::HOOKS {
            fs::copy(&script, work.join(".git/hooks").join(hook)).unwrap();
        }
        let attributes = "* diff=x filter=x merge=x\n";
        for folder in [".git/info", "sub/.git/info"] {
            fs::create_dir_all(work.join(folder)).unwrap();
            fs::write(work.join(folder).join("attributes"), attributes).unwrap();
        }
        fs::write(work.join(".gitattributes"), attributes).unwrap();
        fs::write(work.join("a"), "changed\n").unwrap();
        fs::write(work.join("sub/a"), "changed\n").unwrap();
        // Without protection, git would run the programs.
        let _ = Command::new("git")
            .args(["add", "a"])
            .current_dir(&work)
            .output()
            .unwrap();
        assert!(trace.exists());
        fs::remove_file(&trace).unwrap();

        let found = diff_to_remote(&work, folder.path(), |_| false)
            .await
            .unwrap();
        assert!(found.diff.contains("+changed"), "{}", found.diff);
        assert!(!trace.exists());
        // Nor does git use a working tree that the repository claims.
        git(&work, &["config", "core.worktree", "/"]);
        let elsewhere = diff_to_remote(&work, folder.path(), |_| false).await;
        assert!(
            matches!(elsewhere, Err(GitError::NoAnswer(_))),
            "{elsewhere:?}"
        );
    }

    #[tokio::test]
    async fn no_remote_or_repository_gives_no_diff() {
        let folder = tempfile::tempdir().unwrap();
        let outside = diff_to_remote(folder.path(), folder.path(), |_| false).await;
        assert!(
            matches!(outside, Err(GitError::Failed { .. })),
            "{outside:?}"
        );
        git(folder.path(), &["init", "-q"]);
        let without = diff_to_remote(folder.path(), folder.path(), |_| false).await;
        assert!(matches!(without, Err(GitError::NoAnswer(_))), "{without:?}");
        let missing = diff_to_remote(&folder.path().join("no"), folder.path(), |_| false).await;
        assert!(matches!(missing, Err(GitError::Program(_))), "{missing:?}");
    }
}
