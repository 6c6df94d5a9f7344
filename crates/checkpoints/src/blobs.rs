//! Contents by their hash. A content is written once, whoever needs it, and never changed.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use crate::state::ContentHash;

/// A content younger than this is not written again, and not touched either.
const TOUCH_AFTER: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// Why a content was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PutError {
    #[error("the file is larger than the limit")]
    TooLarge,
    #[error("the store is full")]
    Full,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The folder of the contents.
#[derive(Debug)]
pub(crate) struct BlobStore {
    folder: PathBuf,
    scratch: PathBuf,
    /// What may still be written before the store is full.
    room: AtomicU64,
}

impl BlobStore {
    pub(crate) fn new(root: &Path, room: u64) -> Self {
        Self {
            folder: root.join("blobs"),
            scratch: root.join("tmp"),
            room: AtomicU64::new(room),
        }
    }

    /// Makes the folders.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        codex_private_files::create_dir_all(&self.folder)?;
        codex_private_files::create_dir_all(&self.scratch)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    pub(crate) fn set_room(&self, room: u64) {
        self.room.store(room, Ordering::Relaxed);
    }

    fn path(&self, hash: ContentHash) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    pub(crate) fn contains(&self, hash: ContentHash) -> bool {
        self.path(hash).is_file()
    }

    /// Stores bytes.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<ContentHash, PutError> {
        let hash = ContentHash::compute(bytes);
        if self.keep_existing(hash) {
            return Ok(hash);
        }
        self.take_room(bytes.len() as u64)?;
        let mut file = tempfile_in(&self.scratch)?;
        file.0.write_all(bytes)?;
        self.publish(&file.1, hash)?;
        Ok(hash)
    }

    /// Stores what can be read of a file, unless that is more than `limit` bytes. Returns its length, too.
    pub(crate) fn put_file(
        &self,
        file: &mut File,
        limit: u64,
    ) -> Result<(ContentHash, u64), PutError> {
        const IN_MEMORY: u64 = 1024 * 1024;
        let mut bytes = Vec::new();
        let limit = limit.min(u64::MAX - 1);
        Read::by_ref(file)
            .take(IN_MEMORY.min(limit + 1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(PutError::TooLarge);
        }
        if (bytes.len() as u64) < IN_MEMORY {
            let length = bytes.len() as u64;
            return self.put(&bytes).map(|hash| (hash, length));
        }
        self.put_large(bytes, file, limit)
    }

    fn put_large(
        &self,
        first: Vec<u8>,
        rest: &mut File,
        limit: u64,
    ) -> Result<(ContentHash, u64), PutError> {
        let mut copy = tempfile_in(&self.scratch)?;
        let mut hasher = Sha256::new();
        let mut length = 0;
        let mut buffer = first;
        loop {
            length += buffer.len() as u64;
            if length > limit {
                let _ = fs::remove_file(&copy.1);
                return Err(PutError::TooLarge);
            }
            if let Err(full) = self.take_room(buffer.len() as u64) {
                let _ = fs::remove_file(&copy.1);
                return Err(full);
            }
            hasher.update(&buffer);
            copy.0.write_all(&buffer)?;
            buffer.resize(1024 * 1024, 0);
            let read = rest.read(&mut buffer)?;
            buffer.truncate(read);
            if read == 0 {
                break;
            }
        }
        let hash = ContentHash::finish(hasher);
        if self.keep_existing(hash) {
            fs::remove_file(&copy.1)?;
        } else {
            self.publish(&copy.1, hash)?;
        }
        Ok((hash, length))
    }

    /// Reads a content, and checks that it is the one.
    pub(crate) fn read(&self, hash: ContentHash) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.path(hash))?;
        if ContentHash::compute(&bytes) != hash {
            let message = format!("the stored content {hash} is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }

    /// Whether the content is there. Its time is renewed, so that it is not swept before it is referred to.
    fn keep_existing(&self, hash: ContentHash) -> bool {
        let path = self.path(hash);
        let Ok(metadata) = path.metadata() else {
            return false;
        };
        let now = SystemTime::now();
        let age = metadata
            .modified()
            .ok()
            .and_then(|at| now.duration_since(at).ok());
        if age.is_some_and(|age| age > TOUCH_AFTER) {
            let touched = File::options()
                .append(true)
                .open(&path)
                .and_then(|file| file.set_modified(now));
            return touched.is_ok();
        }
        true
    }

    fn publish(&self, from: &Path, hash: ContentHash) -> io::Result<()> {
        let to = self.path(hash);
        match fs::rename(from, &to) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                codex_private_files::create_dir_all(to.parent().unwrap_or(&self.folder))?;
                fs::rename(from, &to)
            }
            Err(error) => Err(error),
        }
    }

    fn take_room(&self, bytes: u64) -> Result<(), PutError> {
        let taken = self
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(bytes)
            });
        taken.map(drop).map_err(|_| PutError::Full)
    }
}

/// A new file for its owner only. One that is left behind is swept.
fn tempfile_in(folder: &Path) -> io::Result<(File, PathBuf)> {
    let path = folder.join(uuid::Uuid::new_v4().simple().to_string());
    let mut options = File::options();
    options.write(true).create_new(true);
    let file = codex_private_files::open(&path, &mut options)?;
    Ok((file, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                if entry.path().is_dir() {
                    count(&entry.path())
                } else {
                    1
                }
            })
            .sum()
    }

    #[test]
    fn a_content_is_stored_once_within_the_limits() {
        let folder = tempfile::tempdir().unwrap();
        let store = BlobStore::new(folder.path(), 3_000_000);
        store.prepare().unwrap();
        let hash = store.put(b"abc").unwrap();
        assert_eq!(store.put(b"abc").unwrap(), hash);
        assert_eq!(store.read(hash).unwrap(), b"abc");
        let path = folder.path().join("file");
        for length in [0, 1024 * 1024 - 1, 1024 * 1024, 1_500_000] {
            let bytes = vec![b'x'; length];
            fs::write(&path, &bytes).unwrap();
            let put = |limit| store.put_file(&mut File::open(&path).unwrap(), limit);
            if length > 0 {
                assert!(matches!(put(length as u64 - 1), Err(PutError::TooLarge)));
            }
            store.set_room(3_000_000);
            let (hash, found) = put(length as u64).unwrap();
            assert_eq!(found, length as u64);
            assert!(store.read(hash).unwrap() == bytes);
        }
        store.set_room(2);
        assert!(matches!(store.put(b"def"), Err(PutError::Full)));
        assert!(store.put(b"abc").is_ok());
        assert_eq!(count(&folder.path().join("tmp")), 0);
        assert_eq!(count(&folder.path().join("blobs")), 5);
    }
}
