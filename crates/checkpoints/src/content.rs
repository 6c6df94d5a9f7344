//! Where the content of a watched file can be had, and how much is copied.

use std::path::PathBuf;

use codex_git::ObjectId;

use crate::blobs::PutError;
use crate::observe::reason_of;
use crate::state::{ContentHash, NotKeptReason};
use crate::store::CheckpointStore;

/// How much is read to see whether files are as git has them.
const MAX_COMPARED_BYTES: u64 = 512 * 1024 * 1024;

/// Where the content of a file can be had. A file without any is one that the index of git is certain about.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Stored(ContentHash),
    Tracked { repository: usize, object: ObjectId },
    Link(PathBuf),
    NotKept(NotKeptReason),
}

/// How much may still be copied.
#[derive(Debug)]
pub(crate) struct CopyBudget {
    files: usize,
    bytes: u64,
    /// What may still be read to compare it with what git has.
    compared: u64,
}

impl CopyBudget {
    pub(crate) fn of(store: &CheckpointStore) -> Self {
        Self {
            files: store.limits().max_copied_files,
            bytes: store.limits().max_copied_bytes,
            compared: MAX_COMPARED_BYTES,
        }
    }

    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        if self.files == 0 || self.bytes < bytes {
            return false;
        }
        self.files -= 1;
        self.bytes -= bytes;
        true
    }

    /// Whether a file of this size may be read to compare it.
    pub(crate) fn take_compared(&mut self, bytes: u64) -> bool {
        let rest = self.compared.checked_sub(bytes);
        self.compared = rest.unwrap_or(self.compared);
        rest.is_some()
    }
}

/// The content after an attempt to store it.
pub(crate) fn stored(put: Result<ContentHash, PutError>) -> Content {
    match put {
        Ok(hash) => Content::Stored(hash),
        Err(error) => Content::NotKept(reason_of(&error)),
    }
}
