//! Hashes of files. One that has not changed is not read again.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Larger files are not read.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
/// How long after a write a file is read each time.
const RECENT_TIME: Duration = Duration::from_secs(2);
/// How many hashes are kept.
const MAX_CACHED_FILES: usize = 1024;

/// Why the content of files is not known.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is larger than 512 MiB", .0.display())]
    TooLarge(PathBuf),
    #[error("{} has too many files", .0.display())]
    TooMany(PathBuf),
}

/// What changes with every write to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContentStamp([u64; 7]);

type Hash = [u8; 32];

static HASHES: Mutex<Option<HashMap<PathBuf, (ContentStamp, Hash)>>> = Mutex::new(None);

/// The hash of a file.
pub(crate) fn hash_of(path: &Path) -> Result<Hash, ContentError> {
    let failed = |source| ContentError::Read {
        path: path.to_path_buf(),
        source,
    };
    codex_mounts::check(path).map_err(|error| failed(error.into()))?;
    let mut file = codex_regular_file::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.len() > MAX_BYTES {
        return Err(ContentError::TooLarge(path.to_path_buf()));
    }
    let stamp = crate::program_file::stamp(&about).map(ContentStamp);
    if let Some(stamp) = &stamp
        && let Some((known, hash)) = HASHES.lock().get_or_insert_default().get(path)
        && known == stamp
    {
        return Ok(*hash);
    }
    let hash = read(&mut file, &about).map_err(failed)?;
    let after = file.metadata().map_err(failed)?;
    // A file that was written meanwhile is read again the next time, and so is one that was written just now: another write
    // in the same moment would not show.
    if let Some(stamp) = stamp
        && crate::program_file::stamp(&after)
            .map(ContentStamp)
            .as_ref()
            == Some(&stamp)
        && !is_recent(&after)
    {
        let mut hashes = HASHES.lock();
        let hashes = hashes.get_or_insert_default();
        if hashes.len() >= MAX_CACHED_FILES {
            hashes.clear();
        }
        hashes.insert(path.to_path_buf(), (stamp, hash));
    }
    Ok(hash)
}

fn is_recent(about: &Metadata) -> bool {
    let changed = crate::program_file::changed(about);
    !changed.is_some_and(|changed| {
        let age = SystemTime::now().duration_since(changed);
        age.is_ok_and(|age| age > RECENT_TIME)
    })
}

fn read(file: &mut File, about: &Metadata) -> io::Result<Hash> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut limited = file.take(about.len().max(1) + MAX_BYTES);
    loop {
        match limited.read(&mut buffer)? {
            0 => return Ok(digest.finalize().into()),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// The digits of the SHA-256 of some bytes.
#[must_use]
pub fn sha256_digits(bytes: &[u8]) -> String {
    let shown = shown(&Sha256::digest(bytes).into());
    shown.trim_start_matches("sha256:").to_owned()
}

/// The form of hashes in settings.
pub(crate) fn shown(digest: &Hash) -> String {
    let mut text = String::from("sha256:");
    for byte in digest {
        for nibble in [byte >> 4, byte & 0xf] {
            text.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    text
}
