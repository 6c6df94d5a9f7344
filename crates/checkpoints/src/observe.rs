//! Looking at one path, with its content stored.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::blobs::{BlobStore, PutError};
use crate::place::{FileFacts, Found, Place};
use crate::state::{ContentHash, FileState, NotKeptReason};

/// What is at a path. What cannot be looked at is special, so that it is left alone.
pub(crate) fn observe(path: &Path, blobs: &BlobStore, limit: u64) -> (FileState, Found) {
    match look(path) {
        Ok(found) => {
            let state = state_of(&found, |file, facts| match blobs.put_file(file, limit) {
                Ok((hash, size)) => file_state(hash, &FileFacts { size, ..*facts }),
                Err(error) => not_kept(facts, reason_of(&error)),
            });
            (state, found)
        }
        Err(error) => {
            tracing::debug!(path = %path.display(), %error, "a file cannot be looked at");
            (FileState::Special, Found::Special)
        }
    }
}

pub(crate) fn look(path: &Path) -> io::Result<Found> {
    match Place::open(path) {
        Ok(Some(place)) => place.look(),
        Ok(None) => Ok(Found::Missing),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && is_below_file(path) => {
            Ok(Found::Missing)
        }
        Err(error) => Err(error),
    }
}

/// Whether a file, and not a link, is in the place of a folder of the path.
fn is_below_file(path: &Path) -> bool {
    let kinds = path
        .ancestors()
        .skip(1)
        .map(|above| above.symlink_metadata());
    let mut existing = kinds.filter_map(Result::ok);
    existing.next().is_some_and(|metadata| metadata.is_file())
}

fn state_of(found: &Found, content: impl FnOnce(&mut File, &FileFacts) -> FileState) -> FileState {
    match found {
        Found::Missing => FileState::Missing,
        Found::File(file, facts) => match file.try_clone() {
            Ok(mut file) => content(&mut file, facts),
            Err(_) => not_kept(facts, NotKeptReason::Unreadable),
        },
        Found::Link(target) => FileState::Link {
            target: target.clone(),
        },
        Found::Folder(facts) => FileState::Folder { mode: facts.mode },
        Found::Special => FileState::Special,
    }
}

/// Whether what was found is in this state.
pub(crate) fn is_state(found: &Found, state: &FileState) -> bool {
    match (found, state) {
        (Found::Missing, FileState::Missing) | (Found::Special, FileState::Special) => true,
        (Found::Link(target), FileState::Link { target: known }) => target == known,
        (Found::Folder(facts), FileState::Folder { mode }) => facts.mode == *mode,
        (
            Found::File(_, facts),
            FileState::NotKept {
                size, mode, stamp, ..
            },
        ) => facts.size == *size && facts.mode == *mode && facts.stamp == *stamp,
        (Found::File(file, facts), FileState::File { hash, size, mode }) => {
            facts.size == *size && facts.mode == *mode && hash_of(file).is_ok_and(|it| it == *hash)
        }
        _ => false,
    }
}

fn hash_of(file: &File) -> io::Result<ContentHash> {
    use std::io::{Read as _, Seek as _};
    let mut file = file.try_clone()?;
    file.rewind()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            file.rewind()?;
            return Ok(ContentHash::finish(hasher));
        }
        hasher.update(&buffer[..read]);
    }
}

pub(crate) fn reason_of(error: &PutError) -> NotKeptReason {
    match error {
        PutError::TooLarge => NotKeptReason::TooLarge,
        PutError::Full => NotKeptReason::StoreFull,
        PutError::Io(_) => NotKeptReason::Unreadable,
    }
}

pub(crate) fn file_state(hash: ContentHash, facts: &FileFacts) -> FileState {
    FileState::File {
        hash,
        size: facts.size,
        mode: facts.mode,
    }
}

pub(crate) fn not_kept(facts: &FileFacts, reason: NotKeptReason) -> FileState {
    FileState::NotKept {
        size: facts.size,
        mode: facts.mode,
        stamp: facts.stamp,
        reason,
    }
}
