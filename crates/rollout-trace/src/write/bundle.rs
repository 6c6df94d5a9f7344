//! The files of a bundle: readable by their owner only.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use codex_regular_file::{LinkFreeFolder, NewFile};
use codex_system::file;
use thiserror::Error;

use crate::format::{LOG_FILE, MANIFEST_FILE, Manifest, PAYLOADS_DIR};

/// A bundle could not be begun; the session runs untraced.
#[derive(Debug, Error)]
#[error("create trace bundle {path}: {source}")]
pub struct CreateError {
    path: PathBuf,
    source: io::Error,
}

impl CreateError {
    pub(super) fn new(folder: &Path, source: io::Error) -> Self {
        Self {
            path: folder.to_owned(),
            source,
        }
    }
}

/// An open bundle.
pub(crate) struct BundleFiles {
    folder: LinkFreeFolder,
    log: File,
    /// The log ends inside a line.
    torn: bool,
}

/// Lines could not be written, or only the first so many bytes of them.
pub(crate) struct AppendError {
    pub(crate) written: usize,
    pub(crate) source: io::Error,
}

impl BundleFiles {
    /// Makes the folder, the manifest and an empty log.
    pub(crate) fn create(folder: &Path, manifest: &Manifest) -> Result<Self, CreateError> {
        let create = || {
            make_folder(folder)?;
            let folder = LinkFreeFolder::open(folder)?;
            folder.make_folder(Path::new(PAYLOADS_DIR), NewFile::Private)?;
            let text = serde_json::to_vec_pretty(manifest)?;
            folder
                .create_new(Path::new(MANIFEST_FILE))?
                .write_all(&text)?;
            let log = folder.create_new(Path::new(LOG_FILE))?;
            Ok((folder, log))
        };
        match create() {
            Ok((folder, log)) => Ok(Self {
                folder,
                log,
                torn: false,
            }),
            Err(source) => Err(CreateError::new(folder, source)),
        }
    }

    /// Writes a payload file; nothing is left of one that could not be written whole.
    pub(crate) fn write_payload(&self, path: &str, text: &[u8]) -> io::Result<()> {
        let path = Path::new(path);
        let mut file = self.folder.create_new(path)?;
        let written = file.write_all(text);
        if written.is_err() {
            // The first error is the one to report.
            let _ = self.folder.remove_file(path);
        }
        written
    }

    /// Makes a file that is filled later.
    pub(crate) fn create_file(&self, path: &str) -> io::Result<File> {
        self.folder.create_new(Path::new(path))
    }

    /// Appends lines, each of which must end with a line end.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<(), AppendError> {
        let mut written = 0;
        let failed = |written, source| Err(AppendError { written, source });
        if self.torn {
            if let Err(error) = self.log.write_all(b"\n") {
                return failed(written, error);
            }
            self.torn = false;
        }
        while written < lines.len() {
            match self.log.write(&lines[written..]) {
                Ok(0) => return failed(written, io::ErrorKind::WriteZero.into()),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return failed(written, error),
            }
            self.torn = lines[written - 1] != b'\n';
        }
        Ok(())
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    file::private_folder(builder.recursive(true)).create(path)
}
