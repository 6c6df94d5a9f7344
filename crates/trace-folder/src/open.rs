//! Opens a bundle, packed or not, or a rollout as one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use codex_regular_file::OutputFile;
use tempfile::TempDir;

use crate::TraceFolderError;
use crate::archive::{PACKED_SUFFIX, UnpackLimit, entries_of};
use crate::rollout::write_bundle;

/// The end of the names of rollouts.
const ROLLOUT_SUFFIX: &str = ".jsonl";

/// A bundle as a folder. A packed one is unpacked into a temporary folder, which is deleted on drop, and a rollout
/// converted there.
#[derive(Debug)]
pub struct OpenBundle {
    given: PathBuf,
    unpacked: Option<TempDir>,
}

impl OpenBundle {
    /// Opens a bundle folder, a packed bundle or a rollout. Any other path is taken as a folder, so that its reader reports the
    /// error.
    ///
    /// # Errors
    /// A packed bundle is damaged or too large, or cannot be unpacked.
    pub fn open(path: &Path, limit: UnpackLimit) -> Result<Self, TraceFolderError> {
        let unpacked = if is_packed(path) {
            Some(unpack(path, limit)?)
        } else if is_rollout(path) {
            Some(convert(path)?)
        } else {
            None
        };
        Ok(Self {
            given: path.to_owned(),
            unpacked,
        })
    }

    /// The folder with the files of the bundle.
    pub fn folder(&self) -> &Path {
        self.unpacked.as_ref().map_or(&self.given, TempDir::path)
    }

    /// The default path of a file that a command derives from the bundle: in the folder, or beside the packed file with
    /// its name in front.
    pub fn derived(&self, file: &str) -> OutputFile {
        if self.unpacked.is_none() {
            return OutputFile::derived(self.given.join(file));
        }
        let name = self.given.file_name().unwrap_or_default().to_string_lossy();
        let bare = name.strip_suffix(PACKED_SUFFIX);
        let name = bare
            .or_else(|| name.strip_suffix(ROLLOUT_SUFFIX))
            .unwrap_or(&name);
        OutputFile::derived(self.given.with_file_name(format!("{name}.{file}")))
    }
}

fn is_packed(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(PACKED_SUFFIX)) && path.is_file()
}

fn is_rollout(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(ROLLOUT_SUFFIX)) && path.is_file()
}

fn temporary(path: &Path) -> Result<TempDir, TraceFolderError> {
    tempfile::Builder::new()
        .prefix("codex-trace-")
        .tempdir()
        .map_err(TraceFolderError::file(path))
}

fn convert(rollout: &Path) -> Result<TempDir, TraceFolderError> {
    let target = temporary(rollout)?;
    write_bundle(rollout, target.path()).map_err(TraceFolderError::file(rollout))?;
    Ok(target)
}

fn unpack(packed: &Path, limit: UnpackLimit) -> Result<TempDir, TraceFolderError> {
    let target = temporary(packed)?;
    let folder = target.path();
    codex_private_files::create_dir_all(&folder.join("payloads"))
        .map_err(TraceFolderError::file(folder))?;
    entries_of(packed, limit, |path, entry| {
        let target = folder.join(path);
        let mut file = File::create_new(&target).map_err(TraceFolderError::file(&target))?;
        io::copy(entry, &mut file).map_err(|error| TraceFolderError::unpack(packed, error))?;
        Ok(true)
    })?;
    if !folder.join("manifest.json").is_file() {
        return Err(TraceFolderError::unpack(packed, "it has no manifest.json"));
    }
    Ok(target)
}
