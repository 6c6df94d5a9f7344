//! The settings file on disk: follows links, locks, and replaces the file as a whole.

use std::fs::{File, TryLockError};
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_protocol::normalize_path;
use tempfile::NamedTempFile;

use super::error::EditError;
use crate::read::read_bounded;

/// Limit on consecutive links.
const MAX_LINKS: usize = 40;

/// How often a lock held by another process is tried, and the pause between two tries.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Whether a path refers to the file.
pub(super) fn same_file(asked: &Path, file: &Path) -> bool {
    if normalize_path(asked) == normalize_path(file) {
        return true;
    }
    // Neither file must exist, but their folders must.
    let real = |path: &Path| {
        let whole = codex_mounts::canonicalize(path).ok();
        whole.or_else(|| {
            Some(
                codex_mounts::canonicalize(path.parent()?)
                    .ok()?
                    .join(path.file_name()?),
            )
        })
    };
    let asked = real(asked);
    asked.is_some() && asked == real(file)
}

/// The resolved settings file, locked against other edits.
pub(super) struct LockedFile {
    file: PathBuf,
    folder: PathBuf,
    /// Keeps the lock.
    _lock: Option<File>,
}

impl LockedFile {
    /// Resolves the file and locks its folder, which is created if needed.
    pub(super) fn lock(path: &Path) -> io::Result<Self> {
        let file = follow_links(path)?;
        let folder = file.parent().unwrap_or(Path::new("/")).to_path_buf();
        codex_private_files::create_dir_all(&folder)?;
        Ok(Self {
            _lock: lock_folder(&folder)?,
            file,
            folder,
        })
    }

    /// The text of the file; empty if it does not exist.
    pub(super) fn read(&self) -> io::Result<String> {
        Ok(read_bounded(&self.file)?.unwrap_or_default())
    }

    /// Replaces the file unless it has changed. Keeps its mode; a new file is readable by its owner only, because it may
    /// contain keys.
    pub(super) fn replace(&self, old_text: &str, new_text: &str) -> Result<(), EditError> {
        let mut temporary = NamedTempFile::new_in(&self.folder)?;
        temporary.write_all(new_text.as_bytes())?;
        if let Ok(metadata) = codex_mounts::metadata(&self.file) {
            temporary
                .as_file()
                .set_permissions(metadata.permissions())?;
        }
        temporary.as_file().sync_all()?;
        if self.read()? != old_text {
            return Err(EditError::VersionConflict);
        }
        temporary.persist(&self.file).map_err(|error| error.error)?;
        codex_private_files::synchronise_entry(&self.file);
        Ok(())
    }
}

fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match codex_mounts::read_link(&path) {
            Ok(target) => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                path = folder.join(target);
            }
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Locks a folder. If folders cannot be locked, only the comparison before the replacement protects the file.
fn lock_folder(folder: &Path) -> io::Result<Option<File>> {
    let Ok(handle) = File::open(folder) else {
        return Ok(None);
    };
    for _ in 0..LOCK_TRIES {
        match handle.try_lock() {
            Ok(()) => return Ok(Some(handle)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::WouldBlock,
        "another process is editing the file",
    ))
}
