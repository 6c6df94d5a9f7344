//! What our binary does when it is started under [`NAME`]: the processes between us and commands.
//!
//! There is one steward (`steward`), which starts a supervisor (`supervise`) for every command. Both have
//! one thread, so they may fork as they like.
//!
//! Their environment is empty and their working folder is `/`: what a command is given (libraries
//! to preload, for one) must not act on the processes that confine it.

mod command;
mod control;
mod steward;
mod supervise;
mod sys;
mod tree;

/// What the processes between us and commands are called; a program started under this name is
/// the steward.
pub(crate) const NAME: &str = "codex-supervisor";

/// Nobody reads it: whoever started the process knows by the closed socket.
const COULD_NOT_START: i32 = 70;

/// Becomes the steward and never returns, if this program was started as one. Must be called
/// first thing in `main`, before there are threads.
pub fn run_helper_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        let code = match steward::serve() {
            Ok(()) => 0,
            Err(_) => COULD_NOT_START,
        };
        std::process::exit(code);
    }
}
