//! Access to the files that a patch is verified against, as a trait for layering and tests.

use std::io;
use std::path::{Path, PathBuf};

/// Larger files are refused, because a patch is meant for source text and whole files are held in memory.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// `ENOENT`; Windows uses the same number.
pub(crate) const NO_SUCH_FILE: i32 = 2;

/// What is at a path, without following links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEntry {
    Missing,
    File,
    Folder,
    /// A symbolic link and its target as written.
    Link(PathBuf),
    /// A device, pipe or socket.
    Other,
}

/// Read access to files.
pub trait FileAccess {
    /// What is at `path`. A path below a file is [`FileEntry::Missing`].
    fn entry(&self, path: &Path) -> io::Result<FileEntry>;

    /// The content of the file at `path`. Follows links.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// The real file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

impl FileAccess for DiskFiles {
    fn entry(&self, path: &Path) -> io::Result<FileEntry> {
        let metadata = match codex_mounts::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(FileEntry::Missing);
            }
            Err(error) => return Err(error),
        };
        let kind = metadata.file_type();
        Ok(if kind.is_symlink() {
            FileEntry::Link(codex_mounts::read_link(path)?)
        } else if kind.is_dir() {
            FileEntry::Folder
        } else if kind.is_file() {
            FileEntry::File
        } else {
            FileEntry::Other
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = codex_regular_file::read(path, MAX_FILE_BYTES);
        content.map_err(|error| naming_folder(error, path))
    }
}

/// The error, unless it means that a folder is at the place of a file: Windows only says that access is denied then.
pub(crate) fn naming_folder(error: io::Error, path: &Path) -> io::Error {
    if error.kind() == io::ErrorKind::PermissionDenied && path.is_dir() {
        codex_system::file::is_a_directory()
    } else {
        error
    }
}

/// Converts content to text, or returns the error that `read_to_string` would.
pub(crate) fn into_text(content: Vec<u8>) -> io::Result<String> {
    String::from_utf8(content).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "stream did not contain valid UTF-8",
        )
    })
}
