//! Folders for half-finished work on plugins: `plugins/.staging/<name>` in the home folder.
//!
//! The process that works in one holds a lock on it, so folders of processes that have ended are known, and removed before
//! the next work.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The file in a staging folder that its process has locked.
const OWNER: &str = ".owner";

/// Waits until no other process changes plugins. Nothing that can take long is done under this lock.
pub(crate) fn lock(plugins: &Path) -> io::Result<File> {
    codex_private_files::create_dir_all(plugins)?;
    let lock = lock_file(&plugins.join(".lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    codex_private_files::open(path, &mut options)
}

/// A folder for half-finished work. It is removed in the end.
#[derive(Debug)]
pub(crate) struct Staging {
    // Closed first, because some systems do not remove open files.
    _owner: File,
    folder: TempDir,
}

impl Staging {
    /// An empty folder. Removes those that other processes have left behind.
    pub(crate) fn new(plugins: &Path) -> io::Result<Self> {
        let _alone = lock(plugins)?;
        let all = plugins.join(".staging");
        codex_private_files::create_dir_all(&all)?;
        for entry in codex_mounts::read_dir(&all)?.flatten() {
            if is_abandoned(&entry.path()) {
                remove(&entry.path())?;
            }
        }
        let folder = tempfile::Builder::new().prefix("plugin-").tempdir_in(all)?;
        let owner = lock_file(&folder.path().join(OWNER))?;
        owner.lock()?;
        Ok(Self {
            _owner: owner,
            folder,
        })
    }

    /// A path in the folder, where nothing is yet.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("plugin")
    }
}

/// Whether no process works in a folder.
fn is_abandoned(folder: &Path) -> bool {
    match OpenOptions::new().write(true).open(folder.join(OWNER)) {
        Ok(owner) => !matches!(owner.try_lock(), Err(TryLockError::WouldBlock)),
        Err(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

/// Removes a file or a folder, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = match codex_mounts::symlink_metadata(path) {
        Ok(found) if found.is_dir() => codex_mounts::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
