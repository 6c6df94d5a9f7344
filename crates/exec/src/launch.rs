//! Starting a command: what is wanted, and the way to a running [`Process`].

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

use crate::input::Input;
use crate::message::{REQUEST_LIMIT, Report, Request};
use crate::order::Order;
use crate::output::{Output, Stream};
use crate::process::{Process, Reports, Spawned};
use crate::steward::Steward;
use crate::terminal::{Terminal, TerminalSize};

/// The running program, also if its file was replaced meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// What the standard streams of a command are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// Pipes for what it prints, nothing to read.
    #[default]
    Output,
    /// Pipes for what it prints and reads.
    InputAndOutput,
    /// A terminal of its own.
    Terminal(TerminalSize),
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments. A program without a `/` is looked up in the command's `PATH`.
    pub command: Vec<OsString>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Variables that many commands get.
    pub inherited: Arc<BTreeMap<OsString, OsString>>,
    /// Variables of its own, which win. It gets no others.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard streams.
    pub streams: Streams,
    /// How it is confined.
    pub plan: LaunchPlan,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no program in the command.
    #[error("command args are empty")]
    EmptyCommand,
    /// More than the system could run.
    #[error("command line and environment are too long")]
    TooLong,
    /// The operating system cannot start it: no such program or folder, no right to.
    #[error(transparent)]
    Command(io::Error),
    /// The plan could not be carried out, so it was not started.
    #[error("sandbox: {0}")]
    Confinement(String),
    /// The plan is for another system.
    #[error("sandbox: the launch plan is not for this system")]
    ForeignPlan,
    /// The supervisor could not be started, or ended before the command was.
    #[error("cannot start the process supervisor: {0}")]
    Supervisor(io::Error),
}

/// Starts commands.
///
/// One for the whole program is enough, and best: it keeps one helper process. While a command runs,
/// protected paths that do not exist are kept absent by empty folders in their place, which the helper
/// removes when the last command has ended that needs them.
#[derive(Debug, Clone)]
pub struct Launcher {
    steward: Arc<Steward>,
}

impl Launcher {
    /// With this program as its own helper: its `main` begins with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn of_this_program() -> Self {
        Self::with_helper(THIS_PROGRAM)
    }

    /// With another program whose `main` begins with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self {
            steward: Arc::new(Steward::new(program.into())),
        }
    }

    /// Starts a command. Dropping the future, or what it answers, kills whatever was started.
    ///
    /// # Errors
    /// The command does not run.
    pub async fn spawn(&self, launch: Launch) -> Result<Spawned, SpawnError> {
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
        let request = Request {
            command: launch.command,
            cwd: launch.cwd,
            inherited: launch.inherited,
            environment: launch.environment,
            terminal: matches!(launch.streams, Streams::Terminal(_)),
            confinement,
        };
        let request = request.encode();
        if request.len() > REQUEST_LIMIT {
            return Err(SpawnError::TooLong);
        }
        let ends = Ends::open(launch.streams).map_err(SpawnError::Supervisor)?;
        let mut reports = self
            .start_supervisor(clone_flags, &request, ends.theirs)
            .await
            .map_err(SpawnError::Supervisor)?;
        match reports.next().await.map_err(SpawnError::Supervisor)? {
            Report::Started { supervisor } => Ok(Spawned {
                process: Process::own(supervisor, reports, ends.terminal),
                output: ends.output,
                input: ends.input,
            }),
            Report::NotStarted { errno } => {
                Err(SpawnError::Command(io::Error::from_raw_os_error(errno)))
            }
            Report::NotConfined { reason } => Err(SpawnError::Confinement(reason)),
            Report::Ended(_) => Err(SpawnError::Supervisor(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Waits until every command has ended that was started by this launcher or a clone of it, and
    /// nothing is left of what was done for them. The launcher can be used again.
    pub async fn close(&self) {
        self.steward.close().await;
    }

    async fn start_supervisor(
        &self,
        clone_flags: i32,
        request: &[u8],
        streams: [OwnedFd; 3],
    ) -> io::Result<Reports> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let order = Order {
            clone_flags,
            control: theirs.into(),
            streams,
        };
        self.steward.order(order).await?;
        ours.set_nonblocking(true)?;
        let mut ours = UnixStream::from_std(ours)?;
        ours.write_all(request).await?;
        Ok(Reports::new(ours))
    }
}

/// Both ends of a command's standard streams.
struct Ends {
    output: Output,
    input: Option<Input>,
    terminal: Option<Terminal>,
    theirs: [OwnedFd; 3],
}

impl Ends {
    fn open(streams: Streams) -> io::Result<Self> {
        match streams {
            Streams::Output => {
                let nothing = std::fs::File::open("/dev/null")?;
                Self::pipes(None, nothing.into())
            }
            Streams::InputAndOutput => {
                let (theirs, ours) = std::io::pipe()?;
                let ours = pipe::Sender::from_owned_fd(ours.into())?;
                Self::pipes(Some(Input::piped(ours)), theirs.into())
            }
            Streams::Terminal(size) => {
                let (ours, theirs) = Terminal::open(size)?;
                Ok(Self {
                    output: Output::new(vec![(Stream::Stdout, ours.output()?)]),
                    input: Some(Input::typed(ours.input()?)),
                    terminal: Some(ours),
                    theirs: [theirs.try_clone()?, theirs.try_clone()?, theirs],
                })
            }
        }
    }

    fn pipes(input: Option<Input>, their_input: OwnedFd) -> io::Result<Self> {
        let (our_output, their_output) = std::io::pipe()?;
        let (our_error, their_error) = std::io::pipe()?;
        let output = pipe::Receiver::from_owned_fd(our_output.into())?;
        let error = pipe::Receiver::from_owned_fd(our_error.into())?;
        Ok(Self {
            output: Output::new(vec![(Stream::Stdout, output), (Stream::Stderr, error)]),
            input,
            terminal: None,
            theirs: [their_input, their_output.into(), their_error.into()],
        })
    }
}
