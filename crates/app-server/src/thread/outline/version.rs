//! Identifies one state of a file, and tells whether a later state only adds to it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use codex_system::file::{device_number, file_number};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The bytes at the end of a file that are compared.
const COMPARED_BYTES: u64 = 4096;

/// One state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileVersion {
    /// Device and number of the file, where the system has them.
    file: (u64, u64),
    pub(super) length: u64,
    /// The time of the last change, in nanoseconds.
    modified: u128,
    /// A digest of the last bytes.
    end: [u8; 32],
}

impl FileVersion {
    /// The current state of an open file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(std::time::UNIX_EPOCH);
        Ok(Self {
            file: (device_number(&metadata), file_number(&metadata)),
            length: metadata.len(),
            modified: modified.unwrap_or_default().as_nanos(),
            end: end_of(file, metadata.len())?,
        })
    }

    /// Whether bytes were added to this state, and nothing else changed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn is_continued_by(&self, now: &Self, file: &File) -> io::Result<bool> {
        let is_longer = self.file == now.file && self.length < now.length;
        Ok(is_longer && end_of(file, self.length)? == self.end)
    }
}

/// A digest of the bytes before an offset.
fn end_of(mut file: &File, offset: u64) -> io::Result<[u8; 32]> {
    let begin = offset.saturating_sub(COMPARED_BYTES);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    file.take(offset - begin).read_to_end(&mut bytes)?;
    let mut short = [0; 32];
    short.copy_from_slice(digest(&SHA256, &bytes).as_ref());
    Ok(short)
}
