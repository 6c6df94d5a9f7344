//! The payload files of a bundle as places of texts, which are read again when they are needed.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::bundle_folder::BundleFolder;

/// The files of one bundle. The one that was read last stays open.
#[derive(Debug)]
pub(crate) struct PayloadFolder {
    folder: BundleFolder,
    open: Mutex<Option<(Arc<str>, File)>>,
}

/// One file of a bundle.
pub(crate) struct PayloadFile {
    bundle: Arc<PayloadFolder>,
    path: Arc<str>,
}

/// The content of a payload, and the file that it can be read from again; none if it is not to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadBytes<'p> {
    pub(crate) bytes: &'p [u8],
    pub(crate) file: Option<&'p Arc<PayloadFile>>,
}

impl PayloadFolder {
    pub(crate) fn new(folder: &Path) -> Arc<Self> {
        Arc::new(Self {
            folder: BundleFolder::new(folder),
            open: Mutex::new(None),
        })
    }

    /// The file at a path, which must be inside the bundle.
    pub(crate) fn file(self: &Arc<Self>, path: &str) -> Arc<PayloadFile> {
        Arc::new(PayloadFile {
            bundle: Arc::clone(self),
            path: path.into(),
        })
    }
}

impl PayloadFile {
    /// So many bytes from a position on.
    pub(crate) fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut open = self.bundle.open.lock();
        let mut file = match open.take() {
            Some((path, file)) if path == self.path => file,
            _ => self.bundle.folder.read(&self.path)?,
        };
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity(length);
        (&mut file).take(length as u64).read_to_end(&mut bytes)?;
        *open = Some((Arc::clone(&self.path), file));
        Ok(bytes)
    }

    /// The error of a file that is not what it was.
    pub(crate) fn changed(&self) -> io::Error {
        self.failed("it was changed after it had been read")
    }

    /// An error with the name of the file.
    pub(crate) fn failed(&self, reason: impl fmt::Display) -> io::Error {
        io::Error::other(format!("{}: {reason}", self.path))
    }
}

impl fmt::Debug for PayloadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PayloadFile").field(&self.path).finish()
    }
}
