//! The files as the hunks so far would leave them, without touching them.
//!
//! Later hunks are verified against this, so a patch may add a file and then update it. What was touched, and what it
//! was before, becomes the steps of the plan.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Entry, Files, NO_SUCH_FILE};
use crate::plan::{After, Folder, Step};

pub(crate) struct Overlay<'a> {
    base: &'a dyn Files,
    steps: Vec<Step>,
    /// Real path to its place in `steps`.
    places: HashMap<PathBuf, usize>,
    /// Folders to make, and the path as written that needs each. Sorted: outermost first.
    folders: BTreeMap<PathBuf, String>,
}

impl<'a> Overlay<'a> {
    pub(crate) fn new(base: &'a dyn Files) -> Self {
        Self {
            base,
            steps: Vec::new(),
            places: HashMap::new(),
            folders: BTreeMap::new(),
        }
    }

    /// Lets `after` stand at the real `path`. `seen` is the content that the decision rests on, if it was read.
    pub(crate) fn set(
        &mut self,
        path: &Path,
        written: &str,
        after: After,
        seen: Option<Vec<u8>>,
    ) -> io::Result<()> {
        if let Some(&place) = self.places.get(path) {
            self.steps[place].after = after;
            return Ok(());
        }
        self.places.insert(path.to_owned(), self.steps.len());
        self.steps.push(Step {
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

    /// Whose mode and owner the file at the real `path` will have.
    pub(crate) fn like(&self, path: &Path) -> PathBuf {
        match self.after(path) {
            Some(After::File { like, .. }) => like.clone(),
            _ => path.to_owned(),
        }
    }

    fn after(&self, path: &Path) -> Option<&After> {
        self.places.get(path).map(|&place| &self.steps[place].after)
    }

    /// The steps in the order of first touch, and the folders to make before them.
    pub(crate) fn finish(self) -> (Vec<Step>, Vec<Folder>) {
        let steps = self
            .steps
            .into_iter()
            .filter(|step| !step.is_idle())
            .collect();
        let folders = self
            .folders
            .into_iter()
            .map(|(path, written)| Folder { path, written })
            .collect();
        (steps, folders)
    }
}

impl Files for Overlay<'_> {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        match self.after(path) {
            Some(After::File { .. }) => Ok(Entry::File),
            Some(After::Deleted | After::MovedAway) => Ok(Entry::Missing),
            None if self.folders.contains_key(path) => Ok(Entry::Folder),
            None => self.base.entry(path),
        }
    }

    /// Only for real paths: links are not followed on the way to what was touched.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.after(path) {
            Some(After::File { content, .. }) => Ok(content.clone()),
            Some(After::Deleted | After::MovedAway) => {
                Err(io::Error::from_raw_os_error(NO_SUCH_FILE))
            }
            None => self.base.read(path),
        }
    }
}
