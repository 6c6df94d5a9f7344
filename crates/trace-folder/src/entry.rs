//! The bundles of a folder, found by their names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use codex_regular_file::{FolderEntryKind, LinkFreeFolder};

use crate::TraceFolderError;
use crate::archive::PACKED_SUFFIX;

const NAME_PREFIX: &str = "trace-";

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const LOG: &str = "trace.jsonl";
pub(crate) const PAYLOADS: &str = "payloads";

/// A bundle in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleEntry {
    pub path: PathBuf,
    pub is_packed: bool,
    /// The size of all its files.
    pub bytes: u64,
    /// When its log, or its packed file, was last written.
    pub modified: SystemTime,
}

/// The bundle at a path, or those of the folder there.
///
/// # Errors
/// As of [`bundles_in`].
pub fn bundles_at(path: &Path) -> Result<Vec<BundleEntry>, TraceFolderError> {
    let own = if path.is_file() {
        packed_entry(path)
    } else {
        folder_entry(path)
    };
    match own {
        Ok(Some(bundle)) => Ok(vec![bundle]),
        _ => bundles_in(path),
    }
}

/// The bundles of a folder, oldest first. Other files and folders are ignored.
///
/// # Errors
/// The folder cannot be read. A bundle that disappears meanwhile is left out.
pub fn bundles_in(folder: &Path) -> Result<Vec<BundleEntry>, TraceFolderError> {
    let entries = fs::read_dir(folder).map_err(TraceFolderError::file(folder))?;
    let mut bundles = Vec::new();
    for entry in entries {
        let entry = entry.map_err(TraceFolderError::file(folder))?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(NAME_PREFIX)) else {
            continue;
        };
        let path = entry.path();
        let found = if name.ends_with(PACKED_SUFFIX) {
            packed_entry(&path)
        } else {
            folder_entry(&path)
        };
        match found {
            Ok(found) => bundles.extend(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(TraceFolderError::File { path, source }),
        }
    }
    bundles.sort_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
    Ok(bundles)
}

fn packed_entry(path: &Path) -> io::Result<Option<BundleEntry>> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some(BundleEntry {
        path: path.to_owned(),
        is_packed: true,
        bytes: metadata.len(),
        modified: metadata.modified()?,
    }))
}

fn folder_entry(path: &Path) -> io::Result<Option<BundleEntry>> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return Ok(None);
    }
    let Ok(manifest) = fs::symlink_metadata(path.join(MANIFEST)) else {
        return Ok(None);
    };
    let log = fs::symlink_metadata(path.join(LOG));
    let modified = log.unwrap_or(manifest).modified()?;
    Ok(Some(BundleEntry {
        path: path.to_owned(),
        is_packed: false,
        bytes: folder_bytes(path)?,
        modified,
    }))
}

/// The size of the files of a bundle folder, which has one level of folders.
fn folder_bytes(bundle: &Path) -> io::Result<u64> {
    let folder = LinkFreeFolder::open(bundle)?;
    let mut bytes = 0;
    for inside in ["", PAYLOADS] {
        let entries = match folder.entries(Path::new(inside)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let files = entries
            .iter()
            .filter(|entry| entry.kind == FolderEntryKind::File);
        bytes += files.map(|file| file.bytes).sum::<u64>();
    }
    Ok(bytes)
}

/// The files of a bundle folder, as paths inside it: the manifest, the log, and the payloads in order of their numbers.
/// Links are no files of the bundle.
pub(crate) fn files_of(bundle: &LinkFreeFolder) -> io::Result<Vec<PathBuf>> {
    let mut payloads: Vec<(u64, PathBuf)> = Vec::new();
    match bundle.entries(Path::new(PAYLOADS)) {
        Ok(entries) => {
            for entry in entries {
                if entry.kind == FolderEntryKind::File {
                    let path = Path::new(PAYLOADS).join(entry.name);
                    let number = path
                        .file_stem()
                        .and_then(|stem| stem.to_str()?.parse().ok());
                    payloads.push((number.unwrap_or(u64::MAX), path));
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    payloads.sort();
    let mut files = vec![PathBuf::from(MANIFEST)];
    let log = Path::new(LOG);
    if (bundle.entry(log)).is_ok_and(|entry| entry.kind == FolderEntryKind::File) {
        files.push(log.to_owned());
    }
    files.extend(payloads.into_iter().map(|(_, path)| path));
    Ok(files)
}
