//! Files with secrets: for their owner only, replaced as a whole, written by one process at a time.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// A larger file was not written by this program.
const MAX_BYTES: u64 = 1024 * 1024;

/// How often, and how far apart, the lock that somebody else holds is tried.
const LOCK_TRIES: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// What the file holds, if there is one.
///
/// # Errors
/// It cannot be read, or is too large to be one of ours.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_BYTES => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "too large"))
        }
        Ok(_) => fs::read(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole. The temporary file is for its owner only from the beginning.
///
/// # Errors
/// It cannot be written; the file is as before.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    codex_private_files::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Waits for the file's lock, which lies beside it and is held for as long as what comes back is kept.
/// Whoever holds it for very long does not keep this process from going on.
pub async fn lock(path: &Path) -> Option<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    let mut name = path.file_name()?.to_owned();
    name.push(".lock");
    let file = codex_private_files::open(&path.with_file_name(name), &mut options).ok()?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}
