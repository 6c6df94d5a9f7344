//! The folder of a bundle. Others may have filled it, so links in it are not followed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use codex_regular_file::LinkFreeFolder;

/// A folder that is opened when it is first needed.
#[derive(Debug)]
pub(crate) struct BundleFolder {
    path: PathBuf,
    folder: OnceLock<LinkFreeFolder>,
}

impl BundleFolder {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            folder: OnceLock::new(),
        }
    }

    /// Opens a file of the bundle for reading.
    pub(crate) fn read(&self, inside: &str) -> io::Result<File> {
        let folder = match self.folder.get() {
            Some(folder) => folder,
            None => {
                let folder = LinkFreeFolder::open(&self.path)?;
                self.folder.get_or_init(|| folder)
            }
        };
        folder.read(Path::new(inside))
    }
}
