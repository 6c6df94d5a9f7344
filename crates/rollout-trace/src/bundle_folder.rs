//! The folder of a bundle. Others may have filled it, so links in it are not followed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use codex_regular_file::{FolderEntryKind, LinkFreeFolder};

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
        self.opened()?.read(Path::new(inside))
    }

    /// The size of a file of the bundle, if it is one.
    pub(crate) fn size(&self, inside: &str) -> Option<u64> {
        let found = self.opened().ok()?.entry(Path::new(inside)).ok()?;
        (found.kind == FolderEntryKind::File).then_some(found.bytes)
    }

    fn opened(&self) -> io::Result<&LinkFreeFolder> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let folder = LinkFreeFolder::open(&self.path)?;
        Ok(self.folder.get_or_init(|| folder))
    }
}
