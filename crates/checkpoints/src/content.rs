//! Where the content of a watched file can be had, and how much is copied.

use std::path::PathBuf;

use codex_git::ObjectId;
use parking_lot::Mutex;

use crate::blobs::PutError;
use crate::copy_file::FileCopy;
use crate::observe::reason_of;
use crate::state::{ContentHash, NotKeptReason};
use crate::store::CheckpointStore;

/// How much is read to see whether files are as git has them.
const MAX_COMPARED_BYTES: u64 = 512 * 1024 * 1024;

/// Where the content of a file can be had. A file without any is one that the index of git is certain about, or one
/// over the limits.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Stored(ContentHash),
    /// Stored only once the file has changed.
    Copied(FileCopy),
    Tracked {
        repository: usize,
        object: ObjectId,
    },
    Link(PathBuf),
    NotKept(NotKeptReason),
}

/// How much may still be copied, by several threads.
#[derive(Debug)]
pub(crate) struct CopyBudget(Mutex<Rest>);

#[derive(Debug)]
struct Rest {
    files: usize,
    bytes: u64,
    /// What may still be read to compare it with what git has.
    compared: u64,
}

impl CopyBudget {
    pub(crate) fn for_store(store: &CheckpointStore) -> Self {
        Self(Mutex::new(Rest {
            files: store.limits().max_copied_files,
            bytes: store.limits().max_copied_bytes,
            compared: MAX_COMPARED_BYTES,
        }))
    }

    /// Whether no file of this size can be copied any more.
    pub(crate) fn is_spent(&self, bytes: u64) -> bool {
        let rest = self.0.lock();
        rest.files == 0 || rest.bytes < bytes
    }

    pub(crate) fn take(&self, bytes: u64) -> bool {
        let mut rest = self.0.lock();
        if rest.files == 0 || rest.bytes < bytes {
            return false;
        }
        rest.files -= 1;
        rest.bytes -= bytes;
        true
    }

    /// Whether a file of this size may be read to compare it.
    pub(crate) fn take_compared(&self, bytes: u64) -> bool {
        let mut rest = self.0.lock();
        let left = rest.compared.checked_sub(bytes);
        rest.compared = left.unwrap_or(rest.compared);
        left.is_some()
    }
}

/// The content after an attempt to store it.
pub(crate) fn stored(put: Result<ContentHash, PutError>) -> Content {
    match put {
        Ok(hash) => Content::Stored(hash),
        Err(error) => Content::NotKept(reason_of(&error)),
    }
}
