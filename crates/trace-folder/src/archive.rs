//! The format of a packed bundle: a tar archive compressed with zstd.

use std::io::{self, Read};
use std::path::{Component, Path};

use crate::TraceFolderError;

pub(crate) const PACKED_SUFFIX: &str = ".tar.zst";

/// The base-2 logarithm of the compression window.
pub(crate) const WINDOW_LOG: u32 = 27;

/// What a packed bundle may become for each of its bytes. Requests repeat the conversation before them, so real ones become
/// a few hundred times as large at most.
const MAX_RATIO: u64 = 500;
/// What every packed bundle may become.
const LEAST_ROOM: u64 = 256 << 20;
/// What none becomes unless a person says so.
const MOST_ROOM: u64 = 4 << 30;
/// What a file takes at least, however short it is.
const LEAST_FILE: u64 = 4 << 10;

/// How large a packed bundle may become.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnpackLimit {
    /// As large as its own size justifies.
    #[default]
    BySize,
    /// So many bytes.
    Bytes(u64),
    /// As large as it is, for one that this program has just written.
    Unlimited,
}

impl UnpackLimit {
    fn room(self, packed: u64) -> u64 {
        match self {
            Self::BySize => packed
                .saturating_mul(MAX_RATIO)
                .clamp(LEAST_ROOM, MOST_ROOM),
            Self::Bytes(bytes) => bytes,
            Self::Unlimited => u64::MAX,
        }
    }
}

/// A reader that fails where it gives more than it may.
struct BoundedReader<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::new(io::ErrorKind::FileTooLarge, TOO_LARGE)),
        }
        Ok(read)
    }
}

const TOO_LARGE: &str = "it becomes larger than it may";

/// Calls `each` with every file of a packed bundle and its path inside the bundle, until it returns false.
pub(crate) fn entries_of(
    packed: &Path,
    limit: UnpackLimit,
    mut each: impl FnMut(&Path, &mut dyn Read) -> Result<bool, TraceFolderError>,
) -> Result<(), TraceFolderError> {
    let file = codex_regular_file::open(packed).map_err(TraceFolderError::file(packed))?;
    let size = file
        .metadata()
        .map_err(TraceFolderError::file(packed))?
        .len();
    let room = limit.room(size);
    let too_large = || TraceFolderError::TooLarge {
        path: packed.to_owned(),
        size,
        room,
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => too_large(),
        _ => TraceFolderError::unpack(packed, error),
    };
    let mut decoder = zstd::Decoder::new(file).map_err(failed)?;
    decoder.window_log_max(WINDOW_LOG).map_err(failed)?;
    let mut archive = tar::Archive::new(BoundedReader {
        inner: decoder,
        left: room,
    });
    // Short files take more room on a disk than in the archive.
    let mut files_left = room / LEAST_FILE;
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        files_left = files_left.checked_sub(1).ok_or_else(too_large)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let inside = inside_bundle(&path).filter(|_| entry.header().entry_type().is_file());
        let inside = inside.ok_or_else(|| {
            let reason = format!("unexpected entry {}", path.display());
            TraceFolderError::unpack(packed, reason)
        })?;
        let goes_on = each(inside, &mut entry).map_err(|error| match error {
            // The reader of the entry ran out of room.
            TraceFolderError::Unpack { reason, .. } if reason.contains(TOO_LARGE) => too_large(),
            other => other,
        })?;
        if !goes_on {
            return Ok(());
        }
    }
    // The checksum of the compressed data is at the end.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(failed)?;
    Ok(())
}

/// The path below the folder of the bundle: a file in it, or in `payloads`.
fn inside_bundle(path: &Path) -> Option<&Path> {
    let mut parts = path.components();
    let Some(Component::Normal(_)) = parts.next() else {
        return None;
    };
    let inside = parts.as_path();
    let parts: Vec<Component<'_>> = inside.components().collect();
    match parts[..] {
        [Component::Normal(_)] => Some(inside),
        [Component::Normal(folder), Component::Normal(_)] if folder == "payloads" => Some(inside),
        _ => None,
    }
}
