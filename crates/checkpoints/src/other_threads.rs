//! What other threads recorded, too: while commands of two threads run in one folder, each sees the changes of both.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::{Checkpoint, CheckpointKind, FileChange};
use crate::store::CheckpointStore;

impl CheckpointStore {
    /// The paths of changes that another thread recorded as well, so that nobody knows whose they are.
    pub(crate) fn shared_changes(
        &self,
        thread: &str,
        own: &[Checkpoint],
    ) -> io::Result<BTreeSet<PathBuf>> {
        let mut shared = BTreeSet::new();
        let Some(since) = own.first().map(|first| first.at) else {
            return Ok(shared);
        };
        let mut uncertain: HashMap<&Path, Vec<&FileChange>> = HashMap::new();
        for change in own.iter().flat_map(|checkpoint| &checkpoint.changes) {
            if !change.is_certain {
                uncertain.entry(&change.path).or_default().push(change);
            }
        }
        if uncertain.is_empty() {
            return Ok(shared);
        }
        for other in self.threads_since(since)? {
            if other == thread {
                continue;
            }
            // A manifest that cannot be read says nothing.
            let Ok(checkpoints) = self.checkpoints(&other) else {
                continue;
            };
            let turns = checkpoints
                .iter()
                .filter(|it| it.kind == CheckpointKind::Turn);
            for change in turns.flat_map(|turn| &turn.changes) {
                let known = uncertain.get(change.path.as_path()).into_iter().flatten();
                let is_same = |own: &&&FileChange| {
                    (&own.before, &own.after) == (&change.before, &change.after)
                };
                if known.filter(is_same).count() > 0 {
                    shared.insert(change.path.clone());
                }
            }
        }
        Ok(shared)
    }
}
