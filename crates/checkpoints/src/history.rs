//! What a path was, and what it became, from one checkpoint on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::manifest::Checkpoint;
use crate::state::FileState;

/// A path that was changed after a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathHistory {
    /// What was there before the checkpoint.
    pub(crate) first: FileState,
    /// What the last change left there.
    pub(crate) last: FileState,
    /// Whether each change began with what the one before it had left: nobody else changed it in between.
    pub(crate) is_continuous: bool,
}

/// The paths that these checkpoints changed.
pub(crate) fn histories(checkpoints: &[Checkpoint]) -> BTreeMap<PathBuf, PathHistory> {
    let mut found: BTreeMap<PathBuf, PathHistory> = BTreeMap::new();
    let changes = checkpoints
        .iter()
        .flat_map(|checkpoint| &checkpoint.changes);
    for change in changes {
        match found.get_mut(&change.path) {
            Some(history) => {
                history.is_continuous &= history.last == change.before;
                history.last = change.after.clone();
            }
            None => {
                let history = PathHistory {
                    first: change.before.clone(),
                    last: change.after.clone(),
                    is_continuous: true,
                };
                found.insert(change.path.clone(), history);
            }
        }
    }
    found
}

/// Whether a path is one of these or lies in one. All are, if there are none.
pub(crate) fn is_wanted(path: &Path, wanted: &[PathBuf]) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| path.starts_with(wanted))
}
