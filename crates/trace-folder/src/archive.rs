//! The format of a packed bundle: a tar archive compressed with zstd.

use std::io::{self, Read};
use std::path::{Component, Path};

use crate::TraceFolderError;

pub(crate) const PACKED_SUFFIX: &str = ".tar.zst";

/// The base-2 logarithm of the compression window.
pub(crate) const WINDOW_LOG: u32 = 27;

/// Calls `each` with every file of a packed bundle and its path inside the bundle, until it returns false.
pub(crate) fn entries_of(
    packed: &Path,
    mut each: impl FnMut(&Path, &mut dyn Read) -> Result<bool, TraceFolderError>,
) -> Result<(), TraceFolderError> {
    let failed = |error: io::Error| TraceFolderError::unpack(packed, error);
    let file = codex_regular_file::open(packed).map_err(TraceFolderError::file(packed))?;
    let mut decoder = zstd::Decoder::new(file).map_err(failed)?;
    decoder.window_log_max(WINDOW_LOG).map_err(failed)?;
    let mut archive = tar::Archive::new(decoder);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let inside = inside_bundle(&path).filter(|_| entry.header().entry_type().is_file());
        let inside = inside.ok_or_else(|| {
            let reason = format!("unexpected entry {}", path.display());
            TraceFolderError::unpack(packed, reason)
        })?;
        if !each(inside, &mut entry)? {
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
