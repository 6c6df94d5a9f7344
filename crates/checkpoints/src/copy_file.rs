//! Copies of files that a command may change, one after the other in one file without a name. Only what a command did
//! change is stored by itself: to create thousands of files before it takes longer than to write megabytes.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::state::ContentHash;

/// A copy in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileCopy {
    pub(crate) hash: ContentHash,
    start: u64,
    length: usize,
}

/// The file with the copies, created for the first of them. The system removes it at the end of the process at the latest.
#[derive(Debug)]
pub(crate) struct CopyFile {
    folder: PathBuf,
    max_bytes: u64,
    file: Mutex<Option<(File, u64)>>,
}

impl CopyFile {
    pub(crate) fn new(folder: &Path, max_bytes: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            max_bytes,
            file: Mutex::new(None),
        }
    }

    /// Adds a copy. None if the file would become too large.
    pub(crate) fn add(&self, bytes: &[u8]) -> io::Result<Option<FileCopy>> {
        let mut opened = self.file.lock();
        let (file, end) = match &mut *opened {
            Some((file, end)) => (file, end),
            none => {
                let file = tempfile::tempfile_in(&self.folder)?;
                let (file, end) = none.insert((file, 0));
                (file, end)
            }
        };
        let start = *end;
        if start + bytes.len() as u64 > self.max_bytes {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(start))?;
        file.write_all(bytes)?;
        *end += bytes.len() as u64;
        drop(opened);
        let (hash, length) = (ContentHash::compute(bytes), bytes.len());
        Ok(Some(FileCopy {
            hash,
            start,
            length,
        }))
    }

    /// Reads a copy, and checks that it is the one.
    pub(crate) fn read(&self, copy: FileCopy) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; copy.length];
        let mut opened = self.file.lock();
        let Some((file, _)) = &mut *opened else {
            return Err(io::ErrorKind::NotFound.into());
        };
        file.seek(SeekFrom::Start(copy.start))?;
        file.read_exact(&mut bytes)?;
        if ContentHash::compute(&bytes) == copy.hash {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read_back_until_the_file_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let copies = CopyFile::new(folder.path(), 7);
        let first = copies.add(b"abc").unwrap().unwrap();
        let empty = copies.add(b"").unwrap().unwrap();
        let second = copies.add(b"defg").unwrap().unwrap();
        assert!(copies.add(b"h").unwrap().is_none());
        assert_eq!(copies.read(second).unwrap(), b"defg");
        assert_eq!(copies.read(first).unwrap(), b"abc");
        assert_eq!(copies.read(empty).unwrap(), b"");
        assert_eq!(first.hash, ContentHash::compute(b"abc"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
