//! The net change of each file, computed from the hunks in order.
//!
//! A file that several hunks change is listed once, with its first and last content.

use std::path::{Path, PathBuf};

use codex_text_diff::unified_diff;

use crate::plan::{ChangeKind, PatchChange};

/// Context lines around a change.
const CONTEXT_LINES: usize = 1;

#[derive(Default)]
pub(crate) struct NetChanges {
    files: Vec<NetChange>,
}

struct NetChange {
    /// The path under which the change is listed.
    path: PathBuf,
    /// The current path of the file.
    at: PathBuf,
    /// The content before the patch; none if the file did not exist.
    old: Option<String>,
    /// The current content; none if the file is deleted.
    new: Option<String>,
    added: bool,
}

impl NetChanges {
    /// `old` is the content that the file had before, if it existed.
    pub(crate) fn add(&mut self, path: &Path, old: Option<String>, content: String) {
        match self.change_at(path) {
            Some(file) => {
                file.added |= file.path == file.at;
                file.new = Some(content);
            }
            None => self.files.push(NetChange {
                path: path.to_owned(),
                at: path.to_owned(),
                old,
                new: Some(content),
                added: true,
            }),
        }
    }

    pub(crate) fn delete(&mut self, path: &Path, old: String) {
        match self.change_at(path) {
            Some(file) => {
                file.new = None;
                file.at.clone_from(&file.path);
            }
            None => self.files.push(NetChange {
                path: path.to_owned(),
                at: path.to_owned(),
                old: Some(old),
                new: None,
                added: false,
            }),
        }
    }

    pub(crate) fn update(&mut self, path: &Path, destination: &Path, old: String, new: String) {
        if path != destination {
            // The update overwrites a file that an earlier hunk added.
            self.files
                .retain(|file| !(file.added && file.at == destination));
        }
        match self.change_at(path) {
            Some(file) => {
                file.new = Some(new);
                file.at = destination.to_owned();
            }
            None => self.files.push(NetChange {
                path: path.to_owned(),
                at: destination.to_owned(),
                old: Some(old),
                new: Some(new),
                added: false,
            }),
        }
    }

    fn change_at(&mut self, path: &Path) -> Option<&mut NetChange> {
        self.files.iter_mut().find(|file| file.at == path)
    }

    /// The changes, sorted by path. A file that was added and deleted again is left out.
    pub(crate) fn finish(self) -> Vec<PatchChange> {
        let mut changes: Vec<PatchChange> = self
            .files
            .into_iter()
            .filter_map(NetChange::shown)
            .collect();
        changes.sort_by(|left, right| left.path.cmp(&right.path));
        changes
    }
}

impl NetChange {
    fn shown(self) -> Option<PatchChange> {
        let change = |path, kind| Some(PatchChange { path, kind });
        match (self.old, self.new) {
            (None, None) => None,
            (Some(content), None) => change(self.path, ChangeKind::Delete { content }),
            (_, Some(content)) if self.added => change(self.at, ChangeKind::Add { content }),
            (old, Some(new)) => {
                let unified_diff = unified_diff(&old.unwrap_or_default(), &new, CONTEXT_LINES);
                let move_path = (self.at != self.path).then_some(self.at);
                change(
                    self.path,
                    ChangeKind::Update {
                        unified_diff,
                        move_path,
                    },
                )
            }
        }
    }
}
