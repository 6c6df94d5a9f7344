//! The folders in which a file runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::line::UNKNOWN_CHAR;

/// The folders in which a file runs, apart from the working folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunPlaces {
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Whether it may run in a folder that is not known.
    pub(crate) has_unknown: bool,
}

impl RunPlaces {
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty() && !self.has_unknown
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.folders.extend(other.folders.iter().cloned());
        self.has_unknown |= other.has_unknown;
    }

    /// Changes to all of them, as lines for a shell.
    pub(crate) fn as_lines(&self) -> String {
        let folders = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        let folders = folders.map(|folder| format!("cd '{}'\n", folder.replace('\'', "'\\''")));
        let unknown = self.has_unknown.then(|| format!("cd {UNKNOWN_CHAR}\n"));
        folders.chain(unknown).collect()
    }
}
