//! Writing `state.json`.
//!
//! The graph goes to the file as it is walked; no second copy of it is made. The file appears whole or not at all: it
//! is written to a temporary file and renamed. `document` is the text, `background` the way to the disk.

mod background;
mod document;
mod indented;

use std::io;
use std::path::{Path, PathBuf};

use codex_regular_file::{NewFile, OutputFile};

use crate::format::STATE_FILE;
use crate::model::RolloutTrace;

/// Where the state of a bundle is written by default.
pub fn state_path(bundle: impl AsRef<Path>) -> PathBuf {
    bundle.as_ref().join(STATE_FILE)
}

/// Writes a graph as pretty JSON. The folder must exist; an older file is replaced only by a whole new one, and a link by a
/// file.
pub fn write_state(trace: &RolloutTrace, output: &OutputFile) -> io::Result<()> {
    output.write(NewFile::Private, |file| {
        background::write(file.try_clone()?, |out| document::write(trace, out))
    })
}
