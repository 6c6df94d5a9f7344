//! Follows `.git` files, which worktrees and submodules have instead of a `.git` folder.

use std::path::{Component, Path, PathBuf};

/// `.git` and `commondir` files contain one line; larger files are ignored.
const POINTER_FILE_LIMIT: u64 = 8 * 1024;

/// The targets of a `.git` file: the worktree's git folder and the common git folder with the hooks.
pub(crate) fn git_folders(dot_git: &Path) -> Vec<PathBuf> {
    let Some(line) = first_line(dot_git) else {
        return Vec::new();
    };
    let Some(target) = line.strip_prefix("gitdir:") else {
        return Vec::new();
    };
    let base = dot_git.parent().unwrap_or(Path::new("/"));
    let git_dir = resolve_or_normalise(&base.join(target.trim()));
    let common = first_line(&git_dir.join("commondir"))
        .map(|line| resolve_or_normalise(&git_dir.join(line.trim())));
    std::iter::once(git_dir).chain(common).collect()
}

fn first_line(path: &Path) -> Option<String> {
    let start = codex_regular_file::read_start(path, POINTER_FILE_LIMIT).ok()?;
    let text = String::from_utf8(start).ok()?;
    text.lines().next().map(str::to_owned)
}

fn resolve_or_normalise(path: &Path) -> PathBuf {
    codex_mounts::canonicalize(path).unwrap_or_else(|_| normalise(path))
}

/// Resolves `.` and `..` lexically.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
