//! The bundles of a folder, found by their names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::TraceFolderError;
use crate::archive::PACKED_SUFFIX;

const NAME_PREFIX: &str = "trace-";

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
    let Ok(manifest) = fs::symlink_metadata(path.join("manifest.json")) else {
        return Ok(None);
    };
    let log = fs::symlink_metadata(path.join("trace.jsonl"));
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
    let mut bytes = 0;
    for folder in [bundle.to_owned(), bundle.join("payloads")] {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let metadata = entry?.metadata()?;
            if metadata.is_file() {
                bytes += metadata.len();
            }
        }
    }
    Ok(bytes)
}

/// The files of a bundle folder, as paths inside it: the manifest, the log, and the payloads in order of their numbers.
pub(crate) fn files_of(bundle: &Path) -> io::Result<Vec<PathBuf>> {
    let mut payloads: Vec<(u64, PathBuf)> = Vec::new();
    match fs::read_dir(bundle.join("payloads")) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    let path = Path::new("payloads").join(entry.file_name());
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
    let mut files = vec![PathBuf::from("manifest.json")];
    if bundle.join("trace.jsonl").is_file() {
        files.push(PathBuf::from("trace.jsonl"));
    }
    files.extend(payloads.into_iter().map(|(_, path)| path));
    Ok(files)
}
