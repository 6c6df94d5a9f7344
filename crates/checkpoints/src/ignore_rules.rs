//! Which folders are ignored: by the rules of git, and because tools are known to fill them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::walk::Entry;

/// Folders that tools fill, whatever the rules say.
const GENERATED_FOLDERS: [&str; 8] = [
    "node_modules",
    ".venv",
    "venv",
    ".tox",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".cache",
];

/// Larger files of rules are not read.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// The rules that apply in a folder.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules {
    own: Option<Gitignore>,
    outer: Option<Arc<Self>>,
}

impl IgnoreRules {
    /// The rules of the folders around one, up to the top of its repository, and those of the user.
    pub(crate) fn around(root: &Path) -> Arc<Self> {
        let home = std::env::home_dir();
        let config_home = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let files = codex_git::ignore_files(home.as_deref(), config_home.as_deref());
        let mut rules = Arc::new(Self {
            own: read_rules(root, &files),
            outer: None,
        });
        let Some(top) = codex_project_markers::marked_folder(root, ".git") else {
            return rules;
        };
        if top == root {
            return rules;
        }
        let between = root.ancestors().skip(1);
        let between: Vec<&Path> = between
            .take_while(|folder| folder.starts_with(top))
            .collect();
        for folder in between.into_iter().rev() {
            rules = rules.with_folder(folder, folder == top, true);
        }
        rules
    }

    /// The rules inside of a folder with these entries.
    pub(crate) fn inside(
        self: &Arc<Self>,
        folder: &Path,
        has_repository: bool,
        entries: &[Entry],
    ) -> Arc<Self> {
        let name = std::ffi::OsStr::new(".gitignore");
        let has_rules = entries.binary_search_by(|entry| (*entry.name).cmp(name));
        self.with_folder(folder, has_repository, has_rules.is_ok())
    }

    fn with_folder(
        self: &Arc<Self>,
        folder: &Path,
        has_repository: bool,
        has_rules: bool,
    ) -> Arc<Self> {
        let mut files = Vec::new();
        if has_repository {
            files.push(folder.join(".git/info/exclude"));
        }
        if has_rules {
            files.push(folder.join(".gitignore"));
        }
        match read_rules(folder, &files) {
            Some(own) => Arc::new(Self {
                own: Some(own),
                outer: Some(Arc::clone(self)),
            }),
            None => Arc::clone(self),
        }
    }

    /// Whether a folder is ignored.
    pub(crate) fn ignores_folder(&self, folder: &Path) -> bool {
        let name = folder.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| GENERATED_FOLDERS.contains(&name)) {
            return true;
        }
        let mut rules = Some(self);
        while let Some(here) = rules {
            if let Some(own) = &here.own {
                let found = own.matched(folder, true);
                if !found.is_none() {
                    return found.is_ignore();
                }
            }
            rules = here.outer.as_deref();
        }
        false
    }
}

fn read_rules(folder: &Path, files: &[PathBuf]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut is_empty = true;
    for file in files {
        // Opening a pipe in its place would block.
        let metadata = file.symlink_metadata();
        if metadata.is_ok_and(|found| found.is_file() && found.len() <= MAX_RULES_BYTES) {
            is_empty = false;
            // Lines that are no rules are left out.
            let _ = builder.add(file);
        }
    }
    if is_empty {
        return None;
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
