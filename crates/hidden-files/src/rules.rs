//! All patterns that apply in a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::matcher::{PatternList, PatternOwner};
use crate::real_path::{normal, with_real_folders};

/// A folder in which the model works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFolder {
    pub folder: PathBuf,
    /// The top of the repository that it is in, or the folder itself.
    pub top: PathBuf,
}

/// All patterns that apply in a workspace.
#[derive(Clone, Debug, Default)]
pub struct HidingRules {
    pub(crate) lists: Vec<Arc<PatternList>>,
    /// The tops of the folders of the workspace, links resolved.
    pub(crate) tops: Vec<PathBuf>,
    /// The project's files with patterns.
    pub(crate) ignore_files: Vec<PathBuf>,
}

impl HidingRules {
    /// Who hides a path, if it is hidden, the strictest one: as it is written, or where its links lead. It need not exist.
    #[must_use]
    pub fn hides(&self, path: &Path) -> Option<&PatternOwner> {
        if self.lists.is_empty() {
            return None;
        }
        let written = normal(path);
        let mut forms = vec![with_real_folders(path), with_real_folders(&written)];
        let is_folder = codex_mounts::is_dir(path);
        forms.push(written);
        forms.dedup();
        let hides = |list: &&Arc<PatternList>| forms.iter().any(|form| list.hides(form, is_folder));
        let owners = self.lists.iter().filter(hides).map(|list| &list.owner);
        owners.max_by_key(|owner| owner.strictness())
    }

    /// Whether nothing is hidden.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Whether a path is that of a project's file with patterns, which decides what is hidden.
    #[must_use]
    pub fn is_ignore_file(&self, path: &Path) -> bool {
        let real = with_real_folders(path);
        (self.ignore_files.iter()).any(|file| file == path || with_real_folders(file) == real)
    }

    /// The project's files with patterns.
    #[must_use]
    pub fn ignore_files(&self) -> &[PathBuf] {
        &self.ignore_files
    }

    /// Whether anything but the built-in list applies.
    #[must_use]
    pub fn are_chosen(&self) -> bool {
        let mut lists = self.lists.iter();
        lists.any(|list| list.owner != PatternOwner::BuiltIn)
    }

    /// Whether a list of the administrator applies.
    #[must_use]
    pub fn are_required(&self) -> bool {
        let mut lists = self.lists.iter();
        lists.any(|list| list.owner == PatternOwner::Administrator)
    }
}
