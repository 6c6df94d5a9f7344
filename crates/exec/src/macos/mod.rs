//! Commands on macOS: a supervisor for each of them, which this program starts under another name.
//!
//! The sandbox is part of the command line: the system's launcher applies the profile and becomes the command.

mod process_list;
mod supervise;
mod sys;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use codex_sandbox::{Decoder, Encoder, LaunchPlan, MalformedMessage};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::OpenptFlags;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use crate::launch::{Launch, SpawnError, StreamSetup};
use crate::process::SpawnedProcess;
use crate::running::RunningCommands;
use crate::supervised::reports::{self, ReportReader};
use crate::supervised::streams::OurEnds;
use crate::unix::message::{CommandRequest, REQUEST_LIMIT};
use crate::unix::start_request::StartRequest;
pub(crate) use crate::unix::{END_OF_TERMINAL_INPUT, InputPipe, OutputPipe, as_typed};
use crate::unix::{HELPER_NAME, serve_if_asked};
pub use crate::unix::{Terminal, has_program};

/// Sends descriptors. Helpers and this program ignore the signal of a closed socket.
pub(crate) const SEND_DESCRIPTORS: rustix::net::SendFlags = rustix::net::SendFlags::DONTWAIT;

pub(crate) const RECEIVE_DESCRIPTORS: rustix::net::RecvFlags = rustix::net::RecvFlags::empty();

/// Supervisors apply no sandbox: there is no value of this type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HelperConfinement {}

impl HelperConfinement {
    pub(crate) fn encode(&self, _: &mut Encoder) {
        match *self {}
    }

    pub(crate) fn decode(_: &mut Decoder<'_>) -> Result<Self, MalformedMessage> {
        Err(MalformedMessage)
    }
}

/// Runs a supervisor and never returns, if this program was started as one. Must be called first in `main`, before any
/// thread is started.
pub fn run_helper_if_asked() {
    serve_if_asked(supervise::serve);
}

pub(crate) use MacosBackend as Backend;

/// Starts commands.
#[derive(Debug)]
pub(crate) struct MacosBackend {
    /// Not known if the system does not tell where this program is.
    helper: Option<PathBuf>,
    running: RunningCommands,
}

impl MacosBackend {
    pub(crate) fn of_this_program() -> Self {
        Self {
            helper: std::env::current_exe().ok(),
            running: RunningCommands::new(),
        }
    }

    pub(crate) fn with_helper(program: PathBuf) -> Self {
        Self {
            helper: Some(program),
            running: RunningCommands::new(),
        }
    }

    pub(crate) async fn spawn(&self, launch: Launch) -> Result<SpawnedProcess, SpawnError> {
        let command = match &launch.plan {
            LaunchPlan::Unconfined => launch.command,
            LaunchPlan::Confined(profile) => profile.wrap(launch.command),
        };
        let request = CommandRequest {
            command,
            cwd: launch.cwd,
            inherited: launch.inherited,
            environment: launch.environment,
            terminal: matches!(launch.streams, StreamSetup::Terminal(_)),
            confinement: None,
        };
        let request = request.encode();
        if request.len() > REQUEST_LIMIT {
            return Err(SpawnError::TooLong);
        }
        let (ours, theirs) = OurEnds::open(launch.streams).map_err(SpawnError::Supervisor)?;
        let running = self.running.add();
        let (reports, mut supervisor) = self
            .start_supervisor(&request, theirs)
            .await
            .map_err(SpawnError::Supervisor)?;
        let reaped = async move {
            // An error means that it is no longer a child of this process.
            supervisor.wait().await.ok();
            drop(running);
        };
        reports::started(reports, ours, reaped).await
    }

    pub(crate) async fn close(&self) {
        self.running.all_ended().await;
    }

    async fn start_supervisor(
        &self,
        request: &[u8],
        streams: [OwnedFd; 3],
    ) -> io::Result<(ReportReader, Child)> {
        let program = self.helper.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let (starts, their_starts) = std::os::unix::net::UnixStream::pair()?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let mut command = std::process::Command::new(program);
        command
            .arg0(HELPER_NAME)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(their_starts)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let supervisor = Command::from(command).spawn()?;
        let start = StartRequest {
            clone_flags: 0,
            control: theirs.into(),
            streams,
            network: None,
        };
        start.send(&starts.into())?;
        drop(start);
        ours.set_nonblocking(true)?;
        let mut ours = UnixStream::from_std(ours)?;
        ours.write_all(request).await?;
        Ok((ReportReader::new(ours), supervisor))
    }
}

/// The capacity of pipes grows by itself.
pub(crate) fn widen(_: &OutputPipe) {}

/// Both sides of a new terminal, ours first.
pub(crate) fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
    Ok((ours, theirs))
}
