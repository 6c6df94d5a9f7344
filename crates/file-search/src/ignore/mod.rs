//! Decides which paths a search excludes.
//!
//! `.ignore` files apply everywhere; `.gitignore`, `.git/info/exclude` and the user's global ignore
//! files only inside a repository. A `.ignore` file takes precedence, then the nearest `.gitignore`.
//! The rules of a repository do not apply inside a nested repository.
//!
//! Matching is done by the `ignore` crate; its directory walker is not used because it takes twice as
//! long as ours (50,000 files on two processors).

mod rules;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rules::IgnoreDecision;
pub(crate) use rules::IgnorePatterns;

/// The rules that apply directly inside one folder, including those of its ancestors.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoreRules(Option<Arc<IgnoreLevel>>);

#[derive(Debug)]
struct IgnoreLevel {
    above: IgnoreRules,
    /// The length of the path above this folder in bytes, including the slash.
    depth: usize,
    ignore: Option<IgnorePatterns>,
    gitignore: Option<IgnorePatterns>,
    /// `.git/info/exclude` and the global ignore files, if this folder is the root of a repository.
    exclude: Option<IgnorePatterns>,
    is_repository: bool,
    in_repository: bool,
}

/// Which ignore files a folder contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IgnoreFiles {
    pub(crate) ignore: bool,
    pub(crate) gitignore: bool,
    pub(crate) git: bool,
}

impl IgnoreFiles {
    pub(crate) fn note(&mut self, name: &[u8]) {
        match name {
            b".ignore" => self.ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = true,
            _ => {}
        }
    }

    fn in_folder(folder: &Path) -> Self {
        let has = |name| codex_mounts::symlink_metadata(folder.join(name)).is_ok();
        Self {
            ignore: has(".ignore"),
            gitignore: has(".gitignore"),
            git: has(".git"),
        }
    }
}

impl IgnoreRules {
    /// The rules of the ancestors of `root`, and the rules for every repository.
    pub(crate) fn above(root: &Path, everywhere: &[PathBuf]) -> Self {
        let mut ignore = Self::default();
        let Ok(root) = codex_mounts::canonicalize(root) else {
            return ignore;
        };
        let above: Vec<_> = root.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            ignore = ignore.enter(
                folder,
                length(folder),
                IgnoreFiles::in_folder(folder),
                everywhere,
            );
        }
        ignore
    }

    /// The rules inside `folder`. `depth` is the length of the path above it in the paths to be checked.
    pub(crate) fn enter(
        &self,
        folder: &Path,
        depth: usize,
        found: IgnoreFiles,
        everywhere: &[PathBuf],
    ) -> Self {
        let found = IgnoreFiles {
            git: found.git && codex_project_markers::has_entry(folder, ".git"),
            ..found
        };
        let in_repository = found.git || self.0.as_ref().is_some_and(|level| level.in_repository);
        if !(found.ignore || found.git || found.gitignore && in_repository) {
            return self.clone();
        }
        let read = |wanted: bool, name: &str| {
            let path = folder.join(name);
            wanted
                .then(|| IgnorePatterns::read([path.as_path()]))
                .flatten()
        };
        let exclude = || {
            let own = folder.join(".git/info/exclude");
            let files = everywhere.iter().map(PathBuf::as_path);
            IgnorePatterns::read(files.chain([own.as_path()]))
        };
        let exclude = found.git.then(exclude).flatten();
        Self(Some(Arc::new(IgnoreLevel {
            above: self.clone(),
            depth,
            ignore: read(found.ignore, ".ignore"),
            gitignore: read(found.gitignore && in_repository, ".gitignore"),
            exclude,
            is_repository: found.git,
            in_repository,
        })))
    }

    /// Whether a path is excluded. `path` is absolute and spelled like the entered folders.
    pub(crate) fn excludes(&self, path: &[u8], is_folder: bool) -> bool {
        let mut from_git = None;
        let mut in_repository = true;
        let mut next = &self.0;
        while let Some(level) = next {
            let below = path.get(level.depth..).unwrap_or_default();
            let ask = |rules: &Option<IgnorePatterns>| rules.as_ref()?.decision(below, is_folder);
            if let Some(decision) = ask(&level.ignore) {
                return decision == IgnoreDecision::Exclude;
            }
            if in_repository && from_git.is_none() {
                from_git = ask(&level.gitignore);
            }
            if level.is_repository && in_repository {
                from_git = from_git.or_else(|| ask(&level.exclude));
                in_repository = false;
            }
            next = &level.above.0;
        }
        from_git == Some(IgnoreDecision::Exclude)
    }
}

/// The length of a folder's path in bytes, including a trailing slash.
pub(crate) fn length(folder: &Path) -> usize {
    let path = folder.as_os_str().as_encoded_bytes();
    path.strip_suffix(b"/").unwrap_or(path).len() + 1
}
