//! What is needed to start a command, and why one does not start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_sandbox::LaunchPlan;

use crate::network::CommandNetwork;
use crate::terminal_size::TerminalSize;

/// How long a command may take to start. Its folder, its program and its sandbox may be on a file system that does not answer.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(15);

/// The standard streams of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StreamSetup {
    /// Pipes for output; no input.
    #[default]
    OutputOnly,
    /// Pipes for output and input.
    InputAndOutput,
    /// A new terminal.
    Terminal(TerminalSize),
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program and its arguments. A program without `/` is searched in the command's `PATH`.
    pub command: Vec<OsString>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Variables shared by many commands.
    pub inherited: Arc<BTreeMap<OsString, OsString>>,
    /// Additional variables, which take precedence. The command gets no others.
    pub environment: Vec<(OsString, OsString)>,
    /// The standard streams.
    pub streams: StreamSetup,
    /// How the command is sandboxed.
    pub plan: LaunchPlan,
    /// Used if the plan limits the network to hosts.
    pub network: CommandNetwork,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The command is empty.
    #[error("command args are empty")]
    EmptyCommand,
    /// The command exceeds the limits of the system.
    #[error("command line and environment are too long")]
    TooLong,
    /// The system cannot start it, for example because there is no such program or folder.
    #[error(transparent)]
    Command(io::Error),
    /// The sandbox could not be applied.
    #[error("sandbox: {0}")]
    Confinement(String),
    /// It has not started in time.
    #[error("the command did not start within {} seconds", START_LIMIT.as_secs())]
    TooSlow,
    /// The supervisor could not be started, or ended before the command was started.
    #[error("cannot start the process supervisor: {0}")]
    Supervisor(io::Error),
}
