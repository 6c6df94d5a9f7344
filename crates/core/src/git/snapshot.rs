//! Snapshots of a working tree for undo: commits without a branch.
//!
//! Taking one changes neither the index nor any file. Restoring changes files only; of the untracked ones it
//! removes only those that are new.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use codex_git::private_git_dir::InitialIndex;
use codex_protocol::GhostCommit;

use super::client::Git;
use crate::config::Snapshots;
use crate::ports::Clock;

/// The time limit for a step of git. A user can stop the turn that waits for it.
const WAIT_LIMIT: Duration = Duration::from_secs(60 * 60);
/// After this time a warning is emitted.
const SLOW: Duration = Duration::from_secs(240);

/// Folders that tools generate; they are not worth keeping.
const GENERATED_FOLDERS: [&str; 12] = [
    "node_modules",
    ".venv",
    "venv",
    "env",
    ".env",
    "dist",
    "build",
    ".pytest_cache",
    ".mypy_cache",
    ".cache",
    ".tox",
    "__pycache__",
];

const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Codex Snapshot"),
    ("GIT_AUTHOR_EMAIL", "snapshot@codex.local"),
    ("GIT_COMMITTER_NAME", "Codex Snapshot"),
    ("GIT_COMMITTER_EMAIL", "snapshot@codex.local"),
];

/// The arguments of git that list untracked files.
const UNTRACKED: [&str; 4] = ["ls-files", "--others", "--exclude-standard", "-z"];

/// A snapshot that was taken.
#[derive(Debug)]
pub(crate) struct TreeSnapshot {
    pub(crate) commit: GhostCommit,
    /// Files and folders that are too large.
    pub(crate) left_out: Vec<String>,
}

/// Waits for a snapshot. Warns once if it takes long.
pub(crate) async fn warn_if_slow<T>(
    capturing: impl Future<Output = T>,
    clock: &dyn Clock,
    warn: impl FnOnce(String),
) -> T {
    let mut capturing = pin!(capturing);
    tokio::select! {
        biased;
        taken = &mut capturing => return taken,
        () = clock.sleep(SLOW) => {}
    }
    warn(format!(
        "The snapshot for undo takes more than {} seconds, and the turn waits for it. What git need \
         not keep can be left out with `ghost_snapshot.ignore_large_untracked_files`.",
        SLOW.as_secs()
    ));
    capturing.await
}

/// Takes a snapshot of the tree around the folder. None without a repository, or if git fails.
pub(crate) async fn capture(git: &Git, limits: Snapshots) -> Option<TreeSnapshot> {
    let git = git.clone().with_wait_limit(WAIT_LIMIT);
    let (staged, git_dir) = git.private(InitialIndex::Empty).await?;
    let top = git_dir.top().to_owned();
    let mut staged = staged.at(&top);
    for (name, value) in AUTHOR {
        staged = staged.with(name, value);
    }
    let parent = git.commit("HEAD").await;
    if let Some(parent) = &parent {
        staged.run(&["read-tree", parent]).await?;
    }
    let untracked = staged.names(&UNTRACKED).await?;
    let sorted = sort_out(&top, &untracked, limits);
    staged.run(&["add", "--update", "--", "."]).await?;
    if !sorted.taken.is_empty() {
        let list = git_dir.file("paths");
        tokio::fs::write(&list, sorted.taken.join("\0"))
            .await
            .ok()?;
        let paths = format!("--pathspec-from-file={}", list.display());
        let literally = ["--literal-pathspecs", "add", "--pathspec-file-nul", &paths];
        staged.run(&literally).await?;
    }
    let tree = staged.line(&["write-tree"]).await?;
    let mut commit = vec!["commit-tree", &tree, "-m", "codex snapshot"];
    commit.extend(parent.iter().flat_map(|parent| ["-p", parent]));
    Some(TreeSnapshot {
        commit: GhostCommit {
            id: staged.line(&commit).await?,
            parent,
            preexisting_untracked_files: untracked,
            preexisting_untracked_dirs: sorted.folders.clone(),
        },
        left_out: [sorted.files, sorted.folders].concat(),
    })
}

/// Restores the files in and below the folder.
pub(crate) async fn restore(git: &Git, snapshot: &GhostCommit) -> Result<(), &'static str> {
    let git = &git.clone().with_wait_limit(WAIT_LIMIT);
    let private = git.private(InitialIndex::Copy).await;
    let (private, git_dir) = private.ok_or("this is no repository any more")?;
    let id = git.commit(&snapshot.id).await;
    let id = id.ok_or("the snapshot is not in this repository")?;
    let new = new_files(&private, &id).await.ok_or("git cannot compare")?;
    let kept = private
        .run(&["ls-tree", "--name-only", &id, "--", "."])
        .await;
    if kept.is_some_and(|names| !names.is_empty()) {
        let source = format!("--source={id}");
        let back = ["restore", "--worktree", "--overlay", &source, "--", "."];
        private.run(&back).await.ok_or("git cannot restore")?;
    }
    let was_there = |name: &String| {
        snapshot.preexisting_untracked_files.contains(name)
            || snapshot
                .preexisting_untracked_dirs
                .iter()
                .any(|folder| Path::new(name).starts_with(folder))
    };
    for name in new.iter().filter(|name| !was_there(name)) {
        remove(git_dir.top(), name).await;
    }
    Ok(())
}

/// Files that are not in the snapshot, tracked or not.
async fn new_files(git: &Git, id: &str) -> Option<Vec<String>> {
    let [command, others, standard, zero] = UNTRACKED;
    let untracked = [command, others, standard, zero, "--full-name"];
    let mut new = git.names(&untracked).await?;
    let added = [
        "diff",
        "--name-only",
        "--no-ext-diff",
        "--ignore-submodules=dirty",
        "--no-renames",
        "--diff-filter=A",
        "-z",
    ];
    let added = [&added[..], &[id, "--", "."]].concat();
    new.extend(git.names(&added).await?);
    Some(new)
}

/// Removes a file, and its folders if they become empty.
async fn remove(top: &Path, name: &str) {
    let path = top.join(name);
    if tokio::fs::remove_file(&path).await.is_err() {
        return;
    }
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| *folder != top) {
        if tokio::fs::remove_dir(folder).await.is_err() {
            return;
        }
    }
}

/// Untracked files: those in the snapshot, and those that are left out.
#[derive(Debug, Default, PartialEq, Eq)]
struct SortedPaths {
    taken: Vec<String>,
    /// Files that are too large.
    files: Vec<String>,
    /// Folders with too many files.
    folders: Vec<String>,
}

fn sort_out(top: &Path, untracked: &[String], limits: Snapshots) -> SortedPaths {
    let worth = |name: &&String| {
        let mut parts = Path::new(name).components();
        !parts.any(|part| {
            GENERATED_FOLDERS
                .iter()
                .any(|made| part.as_os_str() == *made)
        })
    };
    let mut counts: BTreeMap<&Path, u64> = BTreeMap::new();
    let folder_of = |name| {
        Path::new(name)
            .parent()
            .filter(|path| *path != Path::new(""))
    };
    for folder in untracked.iter().filter(worth).filter_map(folder_of) {
        *counts.entry(folder).or_default() += 1;
    }
    let most = limits.max_folder_files.unwrap_or(u64::MAX);
    let is_full = |folder: &&Path| counts.get(folder).is_some_and(|count| *count >= most);
    let is_large = |name: &String| {
        let size = top
            .join(name)
            .symlink_metadata()
            .map_or(0, |file| file.len());
        limits.max_file_bytes.is_some_and(|limit| size > limit)
    };
    let mut sorted = SortedPaths::default();
    for name in untracked.iter().filter(worth) {
        if folder_of(name).is_some_and(|folder| folder.ancestors().any(|above| is_full(&above))) {
            continue;
        }
        let list = if is_large(name) {
            &mut sorted.files
        } else {
            &mut sorted.taken
        };
        list.push(name.clone());
    }
    let full = counts.keys().filter(|folder| is_full(folder));
    sorted.folders = full.map(|folder| folder.display().to_string()).collect();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;

    #[tokio::test(start_paused = true)]
    async fn people_are_told_once_of_a_snapshot_that_takes_long() {
        for (seconds, expected) in [(239, 0), (241, 1), (1000, 1)] {
            let mut warnings = Vec::new();
            let work = async {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                seconds
            };
            let done =
                warn_if_slow(work, &SystemClock::new(), |message| warnings.push(message)).await;
            assert_eq!((done, warnings.len()), (seconds, expected));
        }
    }

    #[test]
    fn what_is_large_or_made_anew_is_left_out() {
        let top = tempfile::tempdir().expect("a folder");
        std::fs::write(top.path().join("large"), "123456").expect("written");
        let names = [
            "a", "large", "many/1", "many/2", "many/2/x", "few/1", "build/x", "a/dist/y",
        ];
        let names = names.map(str::to_owned);
        let limits = |max_file_bytes, max_folder_files| Snapshots {
            max_file_bytes,
            max_folder_files,
            quiet: false,
        };
        let sorted = sort_out(top.path(), &names, limits(Some(5), Some(2)));
        assert_eq!(sorted.taken, ["a", "few/1"]);
        assert_eq!(sorted.files, ["large"]);
        assert_eq!(sorted.folders, ["many"]);
        let all = sort_out(top.path(), &names, limits(None, None));
        assert_eq!(all.taken, names[..6]);
    }
}
