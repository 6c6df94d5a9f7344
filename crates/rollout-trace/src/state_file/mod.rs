//! Writing `state.json`.
//!
//! The graph goes to the file as it is walked; no second copy of it is made. The file appears whole or not at all: it
//! is written to a temporary file and renamed. `document` is the text, `background` the way to the disk.

mod background;
mod document;
mod indented;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use codex_system::file;

use crate::format::STATE_FILE;
use crate::model::RolloutTrace;

/// Where the state of a bundle is written by default.
pub fn state_path(bundle: impl AsRef<Path>) -> PathBuf {
    bundle.as_ref().join(STATE_FILE)
}

/// Writes a graph as pretty JSON. The folder must exist; an older file is replaced only by a whole new one.
///
/// What is not a file, such as a pipe or a device, is written to directly; a link is followed.
pub fn write_state(trace: &RolloutTrace, path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    let place = match fs::metadata(path) {
        Ok(found) if found.is_file() => dunce::canonicalize(path)?,
        Ok(_) => return write_to(trace, OpenOptions::new().write(true).open(path)?),
        Err(_) => path.to_owned(),
    };
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = place.with_file_name(name);
    let written = private_file(&beside)
        .and_then(|file| write_to(trace, file))
        .and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_to(trace: &RolloutTrace, file: File) -> io::Result<()> {
    background::write(file, |out| document::write(trace, out))
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    file::private(&mut options).open(path)
}
