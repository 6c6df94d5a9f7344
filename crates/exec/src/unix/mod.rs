//! What Linux and macOS have in common: the messages to a supervisor, pipes, terminals.

pub(crate) mod control;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
pub(crate) mod message;
pub(crate) mod signals;
pub(crate) mod start_request;
mod terminal;

use std::borrow::Cow;
use std::ffi::OsStr;

pub use terminal::Terminal;

/// Where output of a command is read.
pub(crate) type OutputPipe = tokio::net::unix::pipe::Receiver;
/// Where input of a command is written.
pub(crate) type InputPipe = tokio::net::unix::pipe::Sender;

/// Ends the current line and then the input of a terminal.
pub(crate) const END_OF_TERMINAL_INPUT: &[u8] = b"\n\x04";

/// Terminals take both ends of lines as the enter key.
pub(crate) fn as_typed(bytes: &[u8]) -> Cow<'_, [u8]> {
    Cow::Borrowed(bytes)
}

/// The name of the helper processes: this program, started under this name.
pub(crate) const HELPER_NAME: &str = "codex-supervisor";

/// The exit code after a failed start. Not evaluated: the parent notices the closed socket.
pub(crate) const COULD_NOT_START: i32 = 70;

/// Whether a path exists, or a name in a folder of the search path.
#[must_use]
pub fn has_program(program: &str, search_path: &OsStr) -> bool {
    if program.contains('/') {
        return codex_mounts::exists(program);
    }
    std::env::split_paths(search_path).any(|folder| codex_mounts::exists(folder.join(program)))
}

/// Runs `serve` and never returns, if this program was started as a helper.
pub(crate) fn serve_if_asked<E>(serve: impl FnOnce() -> Result<(), E>) {
    if std::env::args_os()
        .next()
        .is_some_and(|name| name == HELPER_NAME)
    {
        let code = serve().map_or(COULD_NOT_START, |()| 0);
        std::process::exit(code);
    }
}
