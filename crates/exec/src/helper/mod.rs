//! The helper processes between this process and its commands: this program, started under [`NAME`].
//!
//! A single spawner (`spawner`) starts a supervisor (`supervise`) for every command. Both are single-threaded, so they can
//! fork safely.
//!
//! Their environment is empty and their working folder is `/`: variables meant for a command (for example libraries to
//! preload) must not affect the processes that confine it.

mod command;
mod control;
mod spawner;
mod supervise;
mod sys;
mod tree;

/// The name of the helper processes. A program started under this name is the spawner.
pub(crate) const NAME: &str = "codex-supervisor";

/// The exit code after a failed start. Not evaluated: the parent notices the closed socket.
const COULD_NOT_START: i32 = 70;

/// Runs the spawner and never returns, if this program was started as one. Must be called first in `main`, before any
/// thread is started.
pub fn run_helper_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        let code = match spawner::serve() {
            Ok(()) => 0,
            Err(_) => COULD_NOT_START,
        };
        std::process::exit(code);
    }
}
