//! Starts a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use codex_sandbox::LaunchPlan;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use crate::input::StandardInput;
use crate::message::{CommandRequest, REQUEST_LIMIT, SupervisorReport};
use crate::output::{OutputStream, ProcessOutput};
use crate::process::{Process, ReportReader, SpawnedProcess};
use crate::spawner::SpawnerHandle;
use crate::start_request::StartRequest;
use crate::terminal::{Terminal, TerminalSize};

/// The running program, even if its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The launch plan is for another operating system.
    #[error("sandbox: the launch plan is not for this system")]
    ForeignPlan,
    /// The supervisor could not be started, or ended before the command was started.
    #[error("cannot start the process supervisor: {0}")]
    Supervisor(io::Error),
}

/// Starts commands.
///
/// A program should have only one, because it keeps a helper process. While a command runs, empty folders are placed at
/// protected paths that do not exist, so that it cannot create them. The helper removes them after the last command that
/// needs them.
#[derive(Debug, Clone)]
pub struct Launcher {
    spawner: Arc<SpawnerHandle>,
}

impl Launcher {
    /// Uses this program as the helper. Its `main` must begin with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn of_this_program() -> Self {
        Self::with_helper(THIS_PROGRAM)
    }

    /// Uses another program as the helper. Its `main` must begin with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self {
            spawner: Arc::new(SpawnerHandle::new(program.into())),
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
        let confinement = match launch.plan {
            LaunchPlan::Unconfined => None,
            LaunchPlan::Confined(confinement) => Some(confinement),
            LaunchPlan::Seatbelt(_) => return Err(SpawnError::ForeignPlan),
        };
        let namespaces = confinement.as_ref().and_then(|plan| plan.clone_flags());
        let clone_flags = namespaces.unwrap_or_default();
        let request = CommandRequest {
            command: launch.command,
            cwd: launch.cwd,
            inherited: launch.inherited,
            environment: launch.environment,
            terminal: matches!(launch.streams, StreamSetup::Terminal(_)),
            confinement,
        };
        let request = request.encode();
        if request.len() > REQUEST_LIMIT {
            return Err(SpawnError::TooLong);
        }
        let ends = StreamEnds::open(launch.streams).map_err(SpawnError::Supervisor)?;
        let mut reports = self
            .start_supervisor(clone_flags, &request, ends.theirs)
            .await
            .map_err(SpawnError::Supervisor)?;
        match reports.next().await.map_err(SpawnError::Supervisor)? {
            SupervisorReport::Started { supervisor } => Ok(SpawnedProcess {
                process: Process::own(supervisor, reports, ends.terminal),
                output: ends.output,
                input: ends.input,
            }),
            SupervisorReport::NotStarted { errno } => {
                Err(SpawnError::Command(io::Error::from_raw_os_error(errno)))
            }
            SupervisorReport::NotConfined { reason } => Err(SpawnError::Confinement(reason)),
            SupervisorReport::Ended(_) => {
                Err(SpawnError::Supervisor(io::ErrorKind::InvalidData.into()))
            }
        }
    }

    /// Waits until all commands of this launcher and its clones have ended and everything created for them is removed. The
    /// launcher can be used again.
    pub async fn close(&self) {
        self.spawner.close().await;
    }

    async fn start_supervisor(
        &self,
        clone_flags: i32,
        request: &[u8],
        streams: [OwnedFd; 3],
    ) -> io::Result<ReportReader> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let start = StartRequest {
            clone_flags,
            control: theirs.into(),
            streams,
        };
        self.spawner.start_supervisor(start).await?;
        ours.set_nonblocking(true)?;
        let mut ours = UnixStream::from_std(ours)?;
        ours.write_all(request).await?;
        Ok(ReportReader::new(ours))
    }
}

/// Both ends of a command's standard streams.
struct StreamEnds {
    output: ProcessOutput,
    input: Option<StandardInput>,
    terminal: Option<Terminal>,
    theirs: [OwnedFd; 3],
}

impl StreamEnds {
    fn open(streams: StreamSetup) -> io::Result<Self> {
        match streams {
            StreamSetup::OutputOnly => {
                let nothing = std::fs::File::open("/dev/null")?;
                Self::pipes(None, nothing.into())
            }
            StreamSetup::InputAndOutput => {
                let (theirs, ours) = std::io::pipe()?;
                let ours = pipe::Sender::from_owned_fd(ours.into())?;
                Self::pipes(Some(StandardInput::piped(ours)), theirs.into())
            }
            StreamSetup::Terminal(size) => {
                let (ours, theirs) = Terminal::open(size)?;
                Ok(Self {
                    output: ProcessOutput::new(vec![(OutputStream::Stdout, ours.output()?)]),
                    input: Some(StandardInput::typed(ours.input()?)),
                    terminal: Some(ours),
                    theirs: [theirs.try_clone()?, theirs.try_clone()?, theirs],
                })
            }
        }
    }

    fn pipes(input: Option<StandardInput>, their_input: OwnedFd) -> io::Result<Self> {
        let (our_output, their_output) = std::io::pipe()?;
        let (our_error, their_error) = std::io::pipe()?;
        let output = pipe::Receiver::from_owned_fd(our_output.into())?;
        let error = pipe::Receiver::from_owned_fd(our_error.into())?;
        Ok(Self {
            output: ProcessOutput::new(vec![
                (OutputStream::Stdout, output),
                (OutputStream::Stderr, error),
            ]),
            input,
            terminal: None,
            theirs: [their_input, their_output.into(), their_error.into()],
        })
    }
}
