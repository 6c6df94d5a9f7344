//! Reads a whole file in chunks.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::error::FileError;

/// An open file. As much is read as it had when it was opened, so that one that grows takes no more memory than expected.
#[derive(Debug)]
pub struct FileReader {
    file: File,
    length: u64,
    left: u64,
    limit: u64,
}

/// Opens a regular file for reading if it is not longer than `limit`. Follows links.
///
/// # Errors
/// The file does not exist, is not regular, or is too long.
pub fn open(path: &Path, limit: u64) -> Result<FileReader, FileError> {
    let file = codex_regular_file::open(path)?;
    let length = file.metadata()?.len();
    if length > limit {
        return Err(FileError::TooLarge { limit });
    }
    Ok(FileReader {
        file,
        length,
        left: if length == 0 { limit } else { length },
        limit,
    })
}

impl FileReader {
    /// The length of the file when it was opened. Some virtual files report 0, and are read up to the limit.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Fills `buffer` as far as there is something to read. Returns the number of bytes.
    ///
    /// # Errors
    /// The file cannot be read, or it reported no length and exceeds the limit.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, FileError> {
        let expected = usize::try_from(self.left).unwrap_or(usize::MAX);
        let buffer = match self.length {
            0 => buffer,
            _ => {
                let wanted = expected.min(buffer.len());
                &mut buffer[..wanted]
            }
        };
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let limit = self.limit;
        let left = self.left.checked_sub(filled as u64);
        self.left = left.ok_or(FileError::TooLarge { limit })?;
        Ok(filled)
    }
}
