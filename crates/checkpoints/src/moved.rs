//! Files that were moved and of which no content is kept: they are where they were moved to, and come back from there.

use std::path::{Path, PathBuf};

use crate::fs_node::{FileFacts, FsNode};
use crate::history::PathHistory;
use crate::journal::RestoreStep;
use crate::state::{FileStamp, FileState, NotKept};

/// What a restore cannot bring back from the store, and what it removes.
#[derive(Debug, Default)]
pub(crate) struct MovedFiles {
    wanted: Vec<Wanted>,
    removed: Vec<Removed>,
}

/// A file that is gone and of which no content is kept.
#[derive(Debug)]
struct Wanted {
    path: PathBuf,
    size: u64,
    mode: u32,
    stamp: FileStamp,
}

/// A file that a step removes.
#[derive(Debug)]
pub(crate) struct Removed {
    /// The number of the step.
    pub(crate) step: usize,
    pub(crate) facts: FileFacts,
}

impl MovedFiles {
    pub(crate) fn add_wanted(&mut self, path: &Path, found: &FsNode, history: &PathHistory) {
        if let (
            FsNode::Missing,
            FileState::NotKept {
                size, mode, stamp, ..
            },
        ) = (found, &history.first)
        {
            self.wanted.push(Wanted {
                path: path.to_owned(),
                size: *size,
                mode: *mode,
                stamp: *stamp,
            });
        }
    }

    pub(crate) fn add_removed(&mut self, removed: Removed) {
        self.removed.push(removed);
    }

    /// Puts each file back that another step removes: the content of that one was stored when it was planned. If it
    /// could not be stored, the file stays where it is.
    pub(crate) fn put_back(self, steps: &mut Vec<RestoreStep>, not_kept: &mut Vec<NotKept>) {
        let mut stays = Vec::new();
        for wanted in self.wanted {
            let is_it = |removed: &&Removed| {
                let facts = &removed.facts;
                facts.size == wanted.size
                    && facts.stamp.inode == wanted.stamp.inode
                    && facts.stamp.modified == wanted.stamp.modified
            };
            let Some(removed) = self.removed.iter().find(is_it) else {
                continue;
            };
            let from = &steps[removed.step];
            let to = match &from.from {
                FileState::File { hash, size, .. } => FileState::File {
                    hash: *hash,
                    size: *size,
                    mode: wanted.mode,
                },
                // Nothing is stored for a preview.
                FileState::NotKept { reason, .. }
                    if *reason == crate::state::NotKeptReason::Limit =>
                {
                    from.from.clone()
                }
                other => {
                    if let Some(reason) = other.not_kept_reason() {
                        let path = from.path.clone();
                        not_kept.push(NotKept { path, reason });
                    }
                    stays.push(removed.step);
                    continue;
                }
            };
            not_kept.retain(|known| known.path != wanted.path);
            steps.push(RestoreStep {
                path: wanted.path,
                from: FileState::Missing,
                to,
            });
        }
        stays.sort_unstable();
        for step in stays.into_iter().rev() {
            steps.remove(step);
        }
    }
}
