//! Layer: surface. The app-server of a home folder that runs in the background: starting, finding and ending it.
//!
//! At most one runs in a home folder. It listens at a socket in a private folder of the home folder and holds the lock of
//! a file ([`codex_system::background`]), so that others find its process without trusting a file. Commands that start
//! and end it take turns. Nothing is sent to a socket that another user serves.

mod folder;
mod probe;
mod start;
mod stop;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use folder::DaemonFolder;
pub use start::become_daemon;

/// What is known about the server after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonState {
    pub change: DaemonChange,
    /// The process in the background; none if there is none, or if the server was started otherwise.
    pub process: Option<u32>,
    /// The version that the server names; none if there is no server.
    pub server_version: Option<String>,
}

/// What a command found or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonChange {
    Started,
    AlreadyRunning,
    Restarted,
    Stopped,
    NotRunning,
    /// Nothing was changed.
    Running,
}

/// Why a command failed.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// A file or a folder cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    /// Another command takes too long.
    #[error("another command starts or ends the server; try again when it is done")]
    Busy,
    /// There is no server.
    #[error("no app-server answers at {path}: {reason}; `codex app-server daemon start` starts one", path = socket.display())]
    NotRunning { socket: PathBuf, reason: String },
    /// Something serves the socket, but does not answer.
    #[error("the app-server at {path} does not answer: {reason}; `codex app-server daemon restart` replaces it if `daemon start` started it", path = socket.display())]
    Silent { socket: PathBuf, reason: String },
    /// The server does not start.
    #[error("the app-server did not start: {reason}")]
    NotStarted { reason: String },
    /// The server is no process in the background.
    #[error("the app-server at {path} was not started with `codex app-server daemon start`{process}; end it where it was started", path = socket.display(), process = of_process(*process))]
    NotOurs {
        socket: PathBuf,
        process: Option<u32>,
    },
    /// The server does not end.
    #[error("process {0} does not end, even when it is killed")]
    NotStopped(u32),
    /// A daemon runs in this home folder already.
    #[error("another background app-server of this home folder is running")]
    Twice,
}

fn of_process(process: Option<u32>) -> String {
    process.map_or_else(String::new, |id| format!(" (process {id})"))
}
