//! Finds the `SKILL.md` files below a root.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use codex_protocol::SkillScope;

/// Maximum depth of skills below a root.
const DEPTH: usize = 6;
/// Limit on the folders that are read below a root.
const MAX_FOLDERS: usize = 2_000;

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    /// The skill files, sorted by path.
    pub(crate) files: Vec<PathBuf>,
    /// The folders that were read.
    pub(crate) folders: HashSet<PathBuf>,
}

/// Scans a root. A missing root counts as empty.
pub(crate) fn scan(root: &Path, scope: SkillScope) -> ScanResult {
    let Ok(root) = codex_mounts::canonicalize(root) else {
        return ScanResult::default();
    };
    let mut found = Vec::new();
    let mut seen = HashSet::from([root.clone()]);
    let mut folders = VecDeque::from([(root, 0)]);
    while let Some((folder, depth)) = folders.pop_front() {
        let Ok(entries) = codex_mounts::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            if kind.is_file() && name == "SKILL.md" {
                found.push(path);
                continue;
            }
            let followed = kind.is_symlink() && scope != SkillScope::System;
            if depth == DEPTH || !(kind.is_dir() || followed) {
                continue;
            }
            // Each link target is visited once, so that cycles end.
            let Some(path) = codex_mounts::canonicalize(&path)
                .ok()
                .filter(|path| codex_mounts::is_dir(path))
            else {
                continue;
            };
            if seen.len() > MAX_FOLDERS {
                tracing::warn!("{} has too many folders for skills", folder.display());
                folders.clear();
                break;
            }
            if seen.insert(path.clone()) {
                folders.push_back((path, depth + 1));
            }
        }
    }
    found.sort();
    ScanResult {
        files: found,
        folders: seen,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(path: PathBuf) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn hidden_and_deep_skills_are_not_found() {
        let root = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(root.path()).unwrap();
        write(root.join("a/SKILL.md"));
        write(root.join("a/b/SKILL.md"));
        write(root.join(".system/c/SKILL.md"));
        write(root.join("d/skill.md"));
        write(root.join("1/2/3/4/5/6/SKILL.md"));
        write(root.join("1/2/3/4/5/6/7/SKILL.md"));
        let found = scan(&root, SkillScope::User).files;
        let expected = ["1/2/3/4/5/6/SKILL.md", "a/SKILL.md", "a/b/SKILL.md"];
        assert_eq!(found, expected.map(|path| root.join(path)));
        assert!(scan(&root.join("none"), SkillScope::User).files.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once_and_not_for_the_system() {
        let outside = tempfile::tempdir().unwrap();
        write(outside.path().join("SKILL.md"));
        let root = tempfile::tempdir().unwrap();
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, root.path().join(name)).unwrap();
        };
        link(outside.path(), "linked");
        link(root.path(), "circle");
        assert_eq!(scan(root.path(), SkillScope::Repo).files.len(), 1);
        assert!(scan(root.path(), SkillScope::System).files.is_empty());
    }
}
