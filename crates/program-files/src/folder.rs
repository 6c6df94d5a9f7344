//! Folders with packages: whether anything in one of them has been written.
//!
//! They are too large to be read whenever a program starts. What the system records of each file shows every write, because
//! programs cannot set the time of the last change.

use std::fs::{Metadata, read_link};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::content::{self, ContentError};

/// The limit on entries.
const MAX_ENTRIES: usize = 200_000;
/// Folders of files that programs write while they run, and load no code from.
const CACHE_FOLDERS: [&str; 2] = ["__pycache__", ".cache"];

/// A folder all of whose files count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FolderTree {
    pub(crate) path: PathBuf,
    /// The same with links resolved.
    pub(crate) real: PathBuf,
}

impl FolderTree {
    pub(crate) fn resolve(path: &Path) -> Option<Self> {
        let real = codex_mounts::canonicalize(path).ok()?;
        let path = path.to_path_buf();
        codex_mounts::is_dir(&real).then_some(Self { path, real })
    }
}

/// A hash of the names and stamps of all entries.
pub(crate) fn hash_of(tree: &FolderTree) -> Result<[u8; 32], ContentError> {
    let mut digest = Sha256::new();
    let mut count = 0;
    let mut folders = vec![tree.real.clone()];
    while let Some(folder) = folders.pop() {
        let failed = |source| ContentError::Read {
            path: folder.clone(),
            source,
        };
        let entries = codex_mounts::read_dir(&folder).map_err(failed)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            if CACHE_FOLDERS.iter().any(|written| name == *written) {
                continue;
            }
            count += 1;
            if count > MAX_ENTRIES {
                return Err(ContentError::TooMany(tree.path.clone()));
            }
            let path = entry.path();
            let about = codex_mounts::symlink_metadata(&path).map_err(failed)?;
            let inner = path.strip_prefix(&tree.real).unwrap_or(&path);
            digest.update(inner.as_os_str().as_encoded_bytes());
            digest.update([0]);
            if about.is_dir() {
                folders.push(path);
            } else if about.is_symlink() {
                let target = read_link(&path).map_err(failed)?;
                digest.update(target.as_os_str().as_encoded_bytes());
            } else {
                add_stamp(&mut digest, &path, &about)?;
            }
            digest.update([0]);
        }
    }
    Ok(digest.finalize().into())
}

fn add_stamp(digest: &mut Sha256, path: &Path, about: &Metadata) -> Result<(), ContentError> {
    match crate::program_file::stamp(about) {
        Some(stamp) => stamp
            .iter()
            .for_each(|part| digest.update(part.to_le_bytes())),
        None => digest.update(content::hash_of(path)?),
    }
    Ok(())
}
