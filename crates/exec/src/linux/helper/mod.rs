//! The helper processes between this process and its commands: this program, started under [`HELPER_NAME`](crate::unix::HELPER_NAME).
//!
//! A single spawner (`spawner`) starts a supervisor (`supervise`) for every command. Both are single-threaded, so they can
//! fork safely.
//!
//! Their environment is empty and their working folder is `/`: variables meant for a command (for example libraries to
//! preload) must not affect the processes that confine it.

mod command;
mod spawner;
mod supervise;
mod sys;
mod tree;

use crate::unix::COULD_NOT_START;

/// Runs the spawner and never returns, if this program was started as one. Must be called first in `main`, before any
/// thread is started.
pub fn run_helper_if_asked() {
    crate::unix::serve_if_asked(spawner::serve);
}
