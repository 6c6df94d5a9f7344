//! The result of verification: changes to show, real paths for the gate, steps to apply.

use std::path::{Path, PathBuf};

use crate::files::FileEntry;

/// A verified patch. Created by [`crate::Patch::verify`], applied by [`crate::apply()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPlan {
    pub(crate) changes: Vec<PatchChange>,
    pub(crate) summary: Vec<(SummaryMark, String)>,
    pub(crate) folders: Vec<FolderStep>,
    pub(crate) steps: Vec<FileStep>,
}

/// The change of one file, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchChange {
    /// The absolute path as the patch names it; it may contain links and `..`.
    pub path: PathBuf,
    pub kind: ChangeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// May overwrite an existing file.
    Add { content: String },
    Delete {
        /// The deleted content.
        content: String,
    },
    Update {
        /// Hunks with one line of context, without file headers.
        unified_diff: String,
        /// The absolute destination of a move.
        move_path: Option<PathBuf>,
    },
}

/// The change of one file, for somebody who applies it elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct PlannedFile<'a> {
    /// The real path.
    pub path: &'a Path,
    /// The content at verification, if it was read.
    pub seen: Option<&'a [u8]>,
    /// The new content; none if the file is removed.
    pub content: Option<&'a [u8]>,
}

/// The marker of a file in the summary. Ordered as in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SummaryMark {
    Added,
    Modified,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderStep {
    pub(crate) path: PathBuf,
    /// The path as written that needs the folder.
    pub(crate) written: String,
}

/// The change of one real path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStep {
    /// The path as the patch spells it.
    pub(crate) written: String,
    pub(crate) path: PathBuf,
    pub(crate) before: FileEntry,
    /// The content at verification, if it was read.
    pub(crate) seen: Option<Vec<u8>>,
    pub(crate) after: NewState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewState {
    Deleted,
    /// Removed because the content is written to another path.
    MovedAway,
    File {
        content: Vec<u8>,
        /// The file whose mode and owner are copied, if it exists.
        like: PathBuf,
    },
}

impl FileStep {
    /// Whether the path was missing before and will be missing afterwards.
    pub(crate) fn is_idle(&self) -> bool {
        self.before == FileEntry::Missing && !matches!(self.after, NewState::File { .. })
    }
}

impl PatchPlan {
    /// The net change of each file, sorted by path.
    pub fn changes(&self) -> &[PatchChange] {
        &self.changes
    }

    /// Every path that is written, created or removed: absolute, with links followed. Used by the gate.
    pub fn touched_paths(&self) -> impl Iterator<Item = &Path> {
        let folders = self.folders.iter().map(|folder| folder.path.as_path());
        folders.chain(self.steps.iter().map(|step| step.path.as_path()))
    }

    /// The folders that are made, parents first.
    pub fn new_folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// The files that are written or removed.
    pub fn files(&self) -> impl Iterator<Item = PlannedFile<'_>> {
        self.steps.iter().map(|step| PlannedFile {
            path: &step.path,
            seen: step.seen.as_deref(),
            content: match &step.after {
                NewState::File { content, .. } => Some(content),
                NewState::Deleted | NewState::MovedAway => None,
            },
        })
    }

    /// The output after the plan was applied.
    pub fn success_text(&self) -> String {
        let mut files = self.summary.clone();
        files.sort_by_key(|(mark, _)| *mark);
        let mut text = "Success. Updated the following files:\n".to_owned();
        for (mark, path) in files {
            let letter = match mark {
                SummaryMark::Added => 'A',
                SummaryMark::Modified => 'M',
                SummaryMark::Deleted => 'D',
            };
            text.push(letter);
            text.push(' ');
            text.push_str(&path);
            text.push('\n');
        }
        text
    }
}
