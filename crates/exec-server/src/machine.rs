//! How things are done on this machine.

use std::path::PathBuf;

use codex_exec::Launcher;

/// What starts commands here.
#[derive(Debug)]
pub(crate) struct LocalMachine {
    pub(crate) launcher: Launcher,
    /// This program, which confined operations and renamed commands run in.
    pub(crate) program: PathBuf,
}
