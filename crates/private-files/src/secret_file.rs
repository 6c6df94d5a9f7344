//! Files with secrets: readable for their owner only, replaced atomically, locked during updates.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

/// Larger files are an error.
const MAX_BYTES: u64 = 1024 * 1024;

/// How often and at what interval the lock is tried.
const LOCK_TRIES: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Reads a file, if it exists.
///
/// # Errors
/// The file cannot be read or is too large.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match codex_regular_file::read(path, MAX_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a file atomically.
///
/// # Errors
/// The file cannot be written; the old content is kept.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    crate::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    crate::synchronise_entry(path);
    Ok(())
}

/// Waits for the lock of a file, which is a separate file beside it. The lock is released when the result is
/// dropped. `None` if another process holds it for too long.
pub async fn lock(path: &Path) -> Option<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    let mut name = path.file_name()?.to_owned();
    name.push(".lock");
    let file = crate::open(&path.with_file_name(name), &mut options).ok()?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}
