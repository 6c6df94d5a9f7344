//! What a verified patch will do: the changes to show, the real paths to judge, the steps to take.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::files::Entry;

/// A patch that fits the files. Made by [`crate::Patch::verify`], carried out by [`crate::apply`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub(crate) changes: Vec<Change>,
    pub(crate) summary: Vec<(Mark, String)>,
    pub(crate) folders: Vec<Folder>,
    pub(crate) steps: Vec<Step>,
}

/// What happens to one file, for people to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Absolute, as the patch names it: links and `..` are still in it.
    pub path: PathBuf,
    pub kind: ChangeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// Also over an existing file.
    Add { content: String },
    Delete {
        /// What is lost.
        content: String,
    },
    Update {
        /// Hunks with one line of context, no file header lines.
        unified_diff: String,
        /// The absolute destination of a move.
        move_path: Option<PathBuf>,
    },
}

/// How the summary marks a file. Ordered as the summary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Added,
    Modified,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// The path in the patch that needs the folder.
    pub(crate) written: String,
}

/// One real path from what it is to what it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The path as the patch spells it.
    pub(crate) written: String,
    pub(crate) path: PathBuf,
    pub(crate) before: Entry,
    /// The content when the patch was verified, where it mattered.
    pub(crate) seen: Option<Vec<u8>>,
    pub(crate) after: After,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum After {
    Deleted,
    /// Gone because its content was written elsewhere.
    MovedAway,
    File {
        content: Vec<u8>,
        /// Whose mode and owner the file takes, if that exists.
        like: PathBuf,
    },
}

impl Step {
    /// Nothing was there and nothing will be.
    pub(crate) fn is_idle(&self) -> bool {
        self.before == Entry::Missing && !matches!(self.after, After::File { .. })
    }
}

impl Plan {
    /// The net change of each file, sorted by path.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Every path that will be written, made or removed, absolute and with links followed. This is what a gate judges.
    pub fn touched_paths(&self) -> impl Iterator<Item = &Path> {
        let folders = self.folders.iter().map(|folder| folder.path.as_path());
        folders.chain(self.steps.iter().map(|step| step.path.as_path()))
    }

    /// What to say once the plan has been applied.
    pub fn success_text(&self) -> String {
        let mut files = self.summary.clone();
        files.sort_by_key(|(mark, _)| *mark);
        let mut text = "Success. Updated the following files:\n".to_owned();
        for (mark, path) in files {
            let letter = match mark {
                Mark::Added => 'A',
                Mark::Modified => 'M',
                Mark::Deleted => 'D',
            };
            text.push(letter);
            text.push(' ');
            text.push_str(&path);
            text.push('\n');
        }
        text
    }
}

impl Change {
    /// The change as the one text of a file change item.
    pub fn item_diff(&self) -> Cow<'_, str> {
        match &self.kind {
            ChangeKind::Add { content } | ChangeKind::Delete { content } => content.into(),
            ChangeKind::Update {
                unified_diff,
                move_path: None,
            } => unified_diff.into(),
            ChangeKind::Update {
                unified_diff,
                move_path: Some(path),
            } => format!("{unified_diff}\n\nMoved to: {}", path.display()).into(),
        }
    }
}
