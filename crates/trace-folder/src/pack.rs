//! Packs a bundle folder into one file, a tar archive compressed with zstd.
//!
//! The manifest and the log come first, so that a listing reads only the beginning of the file. Requests repeat the
//! conversation before them; a window of 128 MiB lets the compression find that.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use codex_regular_file::LinkFreeFolder;

use crate::TraceFolderError;
use crate::archive::{PACKED_SUFFIX, UnpackLimit, WINDOW_LOG, entries_of};
use crate::entry::files_of;
use crate::summary::BundleSummary;

/// The compression level.
const LEVEL: i32 = 12;

/// A bundle that was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBundle {
    pub path: PathBuf,
    /// The size of the packed files.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Packs a bundle folder into a file beside it, checks the file, and deletes the folder unless `keep` is set. Files that
/// other commands derived from the bundle, such as `state.json`, are not packed.
///
/// # Errors
/// The path is not a bundle folder, its session may still be running, or a file cannot be read or written. The folder is
/// then unchanged.
pub fn pack(bundle: &Path, keep: bool) -> Result<PackedBundle, TraceFolderError> {
    if !bundle.join("manifest.json").is_file() {
        return Err(TraceFolderError::NotABundle(bundle.to_owned()));
    }
    if BundleSummary::of_folder(bundle)?.may_be_recorded() {
        return Err(TraceFolderError::StillRecorded(bundle.to_owned()));
    }
    let bundle = dunce::canonicalize(bundle).map_err(TraceFolderError::file(bundle))?;
    let mut packed = bundle.clone().into_os_string();
    packed.push(PACKED_SUFFIX);
    let packed = PathBuf::from(packed);
    let folder = bundle.parent().unwrap_or(&bundle);
    let source = LinkFreeFolder::open(&bundle).map_err(TraceFolderError::file(&bundle))?;
    let files = files_of(&source).map_err(TraceFolderError::file(&bundle))?;
    let written = tempfile::NamedTempFile::new_in(folder)
        .and_then(|partial| {
            write_archive(&bundle, &source, &files, partial.as_file())?;
            Ok(partial)
        })
        .map_err(TraceFolderError::file(&packed))?;
    let bytes_before = verify(&bundle, &source, &files, written.path())?;
    let file = written
        .persist_noclobber(&packed)
        .map_err(|error| TraceFolderError::file(&packed)(error.error))?;
    let synced = file
        .sync_all()
        .and_then(|()| File::open(folder)?.sync_all())
        .and_then(|()| file.metadata());
    let bytes_after = synced.map_err(TraceFolderError::file(&packed))?.len();
    if !keep {
        fs::remove_dir_all(&bundle).map_err(TraceFolderError::file(&bundle))?;
    }
    Ok(PackedBundle {
        path: packed,
        bytes_before,
        bytes_after,
    })
}

fn write_archive(
    bundle: &Path,
    source: &LinkFreeFolder,
    files: &[PathBuf],
    out: &File,
) -> io::Result<()> {
    let name = Path::new(bundle.file_name().unwrap_or_default());
    let mut encoder = zstd::Encoder::new(io::BufWriter::with_capacity(1 << 20, out), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW_LOG)?;
    let mut archive = tar::Builder::new(encoder);
    for file in files {
        archive.append_file(name.join(file), &mut source.read(file)?)?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// Compares a packed file with the bundle. Returns the size of the packed files.
fn verify(
    bundle: &Path,
    folder: &LinkFreeFolder,
    files: &[PathBuf],
    packed: &Path,
) -> Result<u64, TraceFolderError> {
    let changed = || TraceFolderError::Changed(bundle.to_owned());
    let mut expected = files.iter();
    let mut bytes = 0;
    entries_of(packed, UnpackLimit::Unlimited, |path, entry| {
        let file = expected.next().filter(|file| path == **file);
        let file = file.ok_or_else(changed)?;
        let source = folder.read(file).map_err(TraceFolderError::file(bundle))?;
        bytes += same_bytes(BufReader::with_capacity(1 << 16, source), entry)
            .map_err(TraceFolderError::file(packed))?
            .ok_or_else(changed)?;
        Ok(true)
    })?;
    match expected.next() {
        None => Ok(bytes),
        Some(_) => Err(changed()),
    }
}

/// The common length of two readers; none if they differ.
fn same_bytes(mut one: impl Read, mut other: impl Read) -> io::Result<Option<u64>> {
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut bytes = 0;
    loop {
        let read = one.read(&mut left)?;
        if read == 0 {
            let is_end = other.read(&mut right)? == 0;
            return Ok(is_end.then_some(bytes));
        }
        match other.read_exact(&mut right[..read]) {
            Ok(()) if left[..read] == right[..read] => bytes += read as u64,
            Ok(()) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
