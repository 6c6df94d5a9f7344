//! The state of one path, with its content stored.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::anchored_path::AnchoredPath;
use crate::blobs::{BlobStore, PutError};
use crate::fs_node::{FileFacts, FsNode};
use crate::state::{ContentHash, FileState, NotKeptReason};

/// The state of a path. What cannot be opened is special, so that nothing changes it.
pub(crate) fn observe(path: &Path, blobs: &BlobStore, limit: u64) -> (FileState, FsNode) {
    match node_at(path) {
        Ok(found) => {
            let state = state_of(&found, |file, facts| match blobs.put_file(file, limit) {
                Ok((hash, size)) => file_state(hash, &FileFacts { size, ..*facts }),
                Err(error) => not_kept(facts, reason_of(&error)),
            });
            (state, found)
        }
        Err(error) => {
            tracing::debug!(path = %path.display(), %error, "the state of a file cannot be read");
            (FileState::Special, FsNode::Special)
        }
    }
}

pub(crate) fn node_at(path: &Path) -> io::Result<FsNode> {
    match AnchoredPath::open(path) {
        Ok(Some(place)) => place.node(),
        Ok(None) => Ok(FsNode::Missing),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && is_below_file(path) => {
            Ok(FsNode::Missing)
        }
        Err(error) => Err(error),
    }
}

/// The link or file that is in the place of a folder of the path.
pub(crate) fn obstacle(path: &Path) -> Option<&Path> {
    let folders: Vec<&Path> = path.ancestors().skip(1).collect();
    let mut outermost_first = folders.into_iter().rev();
    outermost_first.find(|folder| {
        let found = codex_mounts::symlink_metadata(folder);
        found.is_ok_and(|metadata| !metadata.is_dir())
    })
}

/// Whether a file, and not a link, is in the place of a folder of the path.
fn is_below_file(path: &Path) -> bool {
    let kinds = path.ancestors().skip(1).map(codex_mounts::symlink_metadata);
    let mut existing = kinds.filter_map(Result::ok);
    existing.next().is_some_and(|metadata| metadata.is_file())
}

fn state_of(found: &FsNode, content: impl FnOnce(&mut File, &FileFacts) -> FileState) -> FileState {
    match found {
        FsNode::Missing => FileState::Missing,
        FsNode::File(file, facts) => match file.try_clone() {
            Ok(mut file) => content(&mut file, facts),
            Err(_) => not_kept(facts, NotKeptReason::Unreadable),
        },
        FsNode::Link(target) => FileState::Link {
            target: target.clone(),
        },
        FsNode::Folder(facts) => FileState::Folder { mode: facts.mode },
        FsNode::Special => FileState::Special,
    }
}

/// Whether what was found is in this state.
pub(crate) fn is_state(found: &FsNode, state: &FileState) -> bool {
    match (found, state) {
        (FsNode::Missing, FileState::Missing) | (FsNode::Special, FileState::Special) => true,
        (FsNode::Link(target), FileState::Link { target: known }) => target == known,
        (FsNode::Folder(facts), FileState::Folder { mode }) => facts.mode == *mode,
        (
            FsNode::File(_, facts),
            FileState::NotKept {
                size, mode, stamp, ..
            },
        ) => facts.size == *size && facts.mode == *mode && facts.stamp == *stamp,
        (FsNode::File(file, facts), FileState::File { hash, size, mode }) => {
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
