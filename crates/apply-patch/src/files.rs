//! The files that a patch is verified against, behind a small trait so that verifying can be layered and tested.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Files larger than this are refused: a patch is for source text, and the whole file is held in memory.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// `ENOENT`, and the like-numbered error of Windows.
pub(crate) const NO_SUCH_FILE: i32 = 2;

/// What stands at a path, links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Missing,
    File,
    Folder,
    /// A symbolic link and its target as written.
    Link(PathBuf),
    /// A device, pipe or socket.
    Other,
}

/// Read access to files.
pub trait Files {
    /// What stands at `path`. A path below something that is not a folder is [`Entry::Missing`].
    fn entry(&self, path: &Path) -> io::Result<Entry>;

    /// The content of the file at `path`, links followed.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// The machine's own files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Entry::Missing);
            }
            Err(error) => return Err(error),
        };
        let kind = metadata.file_type();
        Ok(if kind.is_symlink() {
            Entry::Link(fs::read_link(path)?)
        } else if kind.is_dir() {
            Entry::Folder
        } else if kind.is_file() {
            Entry::File
        } else {
            Entry::Other
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let metadata = fs::metadata(path)?;
        // Opening a pipe would wait for a writer. Folders are left to the system's own error.
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let mut content = Vec::new();
        fs::File::open(path)?
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut content)?;
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("larger than {MAX_FILE_BYTES} bytes"),
            ));
        }
        Ok(content)
    }
}

/// Text, or the error that a reader of text would give.
pub(crate) fn into_text(content: Vec<u8>) -> io::Result<String> {
    String::from_utf8(content).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "stream did not contain valid UTF-8",
        )
    })
}
