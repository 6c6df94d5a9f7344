//! Starts a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_sandbox::LaunchPlan;

use crate::network::CommandNetwork;
use crate::platform::Backend;
use crate::process::SpawnedProcess;
use crate::terminal_size::TerminalSize;

/// How long a command may take to start. Its folder, its program and its sandbox may be on a file system that does not answer.
const START_LIMIT: Duration = Duration::from_secs(15);

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

/// Starts commands.
///
/// A program should have only one, because it may keep a helper process. While a command runs on Linux, empty folders are
/// placed at protected paths that do not exist, so that it cannot create them. The helper removes them after the last
/// command that needs them.
#[derive(Debug, Clone)]
pub struct Launcher {
    backend: Arc<Backend>,
}

impl Launcher {
    /// Uses this program as the helper. Its `main` must begin with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn of_this_program() -> Self {
        Self {
            backend: Arc::new(Backend::of_this_program()),
        }
    }

    /// Uses another program as the helper. Its `main` must begin with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self {
            backend: Arc::new(Backend::with_helper(program.into())),
        }
    }

    /// Starts a command. Dropping the future or its result kills the command.
    ///
    /// # Errors
    /// The command could not be started.
    pub async fn spawn(&self, launch: Launch) -> Result<SpawnedProcess, SpawnError> {
        if launch.command.is_empty() {
            return Err(SpawnError::EmptyCommand);
        }
        check_mounts(&launch).await?;
        tokio::time::timeout(START_LIMIT, self.backend.spawn(launch))
            .await
            .unwrap_or_else(|_| Err(SpawnError::TooSlow))
    }

    /// Waits until all commands of this launcher and its clones have ended and everything created for them is removed. The
    /// launcher can be used again.
    pub async fn close(&self) {
        self.backend.close().await;
    }
}

/// Refuses a command whose folder or program is on a file system that does not answer.
async fn check_mounts(launch: &Launch) -> Result<(), SpawnError> {
    if !codex_mounts::may_wait() {
        return Ok(());
    }
    let cwd = launch.cwd.clone();
    let program = launch.command.first().cloned().unwrap_or_default();
    let path = |(name, value): (&OsString, &OsString)| (name == "PATH").then(|| value.clone());
    let added = launch.environment.iter().rev();
    let mut variables = added
        .map(|(name, value)| (name, value))
        .chain(launch.inherited.iter());
    let search_path = variables.find_map(path).unwrap_or_default();
    let checking = tokio::task::spawn_blocking(move || {
        codex_mounts::check(&cwd)?;
        if program.as_encoded_bytes().contains(&b'/') {
            return codex_mounts::check(&cwd.join(program));
        }
        // As the program is searched.
        for folder in std::env::split_paths(&search_path) {
            let file = cwd.join(folder).join(&program);
            codex_mounts::check(&file)?;
            if file.exists() {
                break;
            }
        }
        Ok(())
    });
    let checked = checking.await.map_err(io::Error::other);
    let checked = checked.and_then(|checked| checked.map_err(io::Error::from));
    checked.map_err(SpawnError::Command)
}
