//! The files as the hunks so far would leave them, held in memory.
//!
//! Later hunks are verified against this state, so a patch may add a file and then update it. The touched paths and their
//! previous state become the steps of the plan.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{FileAccess, FileEntry, NO_SUCH_FILE};
use crate::plan::{FileStep, FolderStep, NewState};

pub(crate) struct Overlay<'a> {
    base: &'a dyn FileAccess,
    steps: Vec<FileStep>,
    /// The index in `steps` of each real path.
    indexes: HashMap<PathBuf, usize>,
    /// Folders to create, and the path as written that needs each of them. Sorted, so parents come first.
    folders: BTreeMap<PathBuf, String>,
}

impl<'a> Overlay<'a> {
    pub(crate) fn new(base: &'a dyn FileAccess) -> Self {
        Self {
            base,
            steps: Vec::new(),
            indexes: HashMap::new(),
            folders: BTreeMap::new(),
        }
    }

    /// Sets the state of the real `path`. `seen` is the content that the decision is based on, if it was read.
    pub(crate) fn set(
        &mut self,
        path: &Path,
        written: &str,
        after: NewState,
        seen: Option<Vec<u8>>,
    ) -> io::Result<()> {
        if let Some(&place) = self.indexes.get(path) {
            self.steps[place].after = after;
            return Ok(());
        }
        self.indexes.insert(path.to_owned(), self.steps.len());
        self.steps.push(FileStep {
            written: written.to_owned(),
            path: path.to_owned(),
            before: self.base.entry(path)?,
            seen,
            after,
        });
        Ok(())
    }

    pub(crate) fn make_folders(&mut self, folders: Vec<PathBuf>, written: &str) {
        for folder in folders {
            self.folders
                .entry(folder)
                .or_insert_with(|| written.to_owned());
        }
    }

    /// The file whose mode and owner the file at the real `path` takes.
    pub(crate) fn like(&self, path: &Path) -> PathBuf {
        match self.after(path) {
            Some(NewState::File { like, .. }) => like.clone(),
            _ => path.to_owned(),
        }
    }

    fn after(&self, path: &Path) -> Option<&NewState> {
        self.indexes
            .get(path)
            .map(|&place| &self.steps[place].after)
    }

    /// The steps in the order of first use, and the folders to create before them.
    pub(crate) fn finish(self) -> (Vec<FileStep>, Vec<FolderStep>) {
        let steps = self
            .steps
            .into_iter()
            .filter(|step| !step.is_idle())
            .collect();
        let folders = self
            .folders
            .into_iter()
            .map(|(path, written)| FolderStep { path, written })
            .collect();
        (steps, folders)
    }
}

impl FileAccess for Overlay<'_> {
    fn entry(&self, path: &Path) -> io::Result<FileEntry> {
        match self.after(path) {
            Some(NewState::File { .. }) => Ok(FileEntry::File),
            Some(NewState::Deleted | NewState::MovedAway) => Ok(FileEntry::Missing),
            None if self.folders.contains_key(path) => Ok(FileEntry::Folder),
            None => self.base.entry(path),
        }
    }

    /// Accepts real paths only: links to touched files are not followed.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.after(path) {
            Some(NewState::File { content, .. }) => Ok(content.clone()),
            Some(NewState::Deleted | NewState::MovedAway) => {
                Err(io::Error::from_raw_os_error(NO_SUCH_FILE))
            }
            None => self.base.read(path),
        }
    }
}
