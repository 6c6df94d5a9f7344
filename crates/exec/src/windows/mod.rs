//! Commands on Windows: each is in a job object, which kills all its processes when its last handle is closed.
//!
//! There is no helper process: the kernel closes the handle when this process ends for any reason. Terminals are not
//! implemented, and nothing is sandboxed.

mod job;
mod output_pipe;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use codex_sandbox::LaunchPlan;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use crate::input::StandardInput;
use crate::launch::{Launch, SpawnError, StreamSetup};
use crate::output::{OutputStream, ProcessOutput};
use crate::process::{Process, SpawnedProcess, StateReporter};
use crate::running::{RunningCommand, RunningCommands};
use crate::status::ExitStatus;
use crate::terminal_size::TerminalSize;
use job::Job;
pub(crate) use output_pipe::OutputPipe;

/// Where input of a command is written.
pub(crate) type InputPipe = tokio::process::ChildStdin;

/// Ends the current line and then the input of a terminal.
pub(crate) const END_OF_TERMINAL_INPUT: &[u8] = b"\r\x1a\r";

/// How often it is checked whether processes are left: those of an ended command, and those of a killed one.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
const CHECK_INTERVAL_OF_KILLED: Duration = Duration::from_millis(5);

/// How long to wait for a process that cannot be killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Flags of `CreateProcessW`.
const CREATE_SUSPENDED: u32 = 0x4;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

pub use NoTerminal as Terminal;

/// There are no helper processes on this system.
pub fn run_helper_if_asked() {}

/// Terminals are not implemented on this system: there is no value of this type.
#[derive(Debug)]
pub enum NoTerminal {}

impl NoTerminal {
    /// Changes the size.
    ///
    /// # Errors
    /// A system error.
    pub fn resize(&self, _: TerminalSize) -> io::Result<()> {
        match *self {}
    }
}

pub(crate) use JobBackend as Backend;

/// Starts commands.
#[derive(Debug)]
pub(crate) struct JobBackend {
    running: RunningCommands,
}

impl JobBackend {
    pub(crate) fn of_this_program() -> Self {
        Self {
            running: RunningCommands::new(),
        }
    }

    pub(crate) fn with_helper(_: PathBuf) -> Self {
        Self::of_this_program()
    }

    pub(crate) async fn spawn(&self, launch: Launch) -> Result<SpawnedProcess, SpawnError> {
        match launch.plan {
            LaunchPlan::Unconfined => {}
            LaunchPlan::Confined(confinement) => match *confinement {},
        }
        let input = match launch.streams {
            StreamSetup::OutputOnly => Stdio::null(),
            StreamSetup::InputAndOutput => Stdio::piped(),
            StreamSetup::Terminal(_) => {
                let message = "terminals are not available on Windows";
                let error = io::Error::new(io::ErrorKind::Unsupported, message);
                return Err(SpawnError::Command(error));
            }
        };
        let [program, arguments @ ..] = launch.command.as_slice() else {
            return Err(SpawnError::EmptyCommand);
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&launch.cwd)
            .env_clear()
            .envs(launch.inherited.iter())
            // Of duplicate names the last one is used.
            .envs(launch.environment)
            .creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let job = Job::new().map_err(SpawnError::Supervisor)?;
        let running = self.running.add();
        let mut child = command
            .kill_on_drop(true)
            .spawn()
            .map_err(SpawnError::Command)?;
        start_in_job(&job, &child).map_err(SpawnError::Supervisor)?;
        Ok(owned(child_parts(&mut child), child, job, running))
    }

    pub(crate) async fn close(&self) {
        self.running.all_ended().await;
    }
}

/// The process has not run yet, so all its descendants are in the job.
fn start_in_job(job: &Job, child: &Child) -> io::Result<()> {
    let process = child.raw_handle().ok_or(io::ErrorKind::NotFound)?;
    job.add(process)?;
    job::resume(child.id().ok_or(io::ErrorKind::NotFound)?)
}

fn child_parts(child: &mut Child) -> (ProcessOutput, Option<StandardInput>) {
    let out = child.stdout.take().map(OutputPipe::Stdout);
    let error = child.stderr.take().map(OutputPipe::Stderr);
    let sources = [(OutputStream::Stdout, out), (OutputStream::Stderr, error)];
    let sources = sources
        .into_iter()
        .filter_map(|(stream, pipe)| Some((stream, pipe?)));
    let output = ProcessOutput::new(sources.collect());
    (output, child.stdin.take().map(StandardInput::piped))
}

fn owned(
    (output, input): (ProcessOutput, Option<StandardInput>),
    child: Child,
    job: Job,
    running: RunningCommand,
) -> SpawnedProcess {
    let id = child.id().unwrap_or_default();
    SpawnedProcess {
        process: Process::own(id, None, |killed, state| {
            follow(child, job, killed, state, running)
        }),
        output,
        input,
    }
}

/// Follows a command until no process of it is left. Dropping the future closes the job, which kills them.
async fn follow(
    mut child: Child,
    job: Job,
    mut killed: oneshot::Receiver<()>,
    mut state: StateReporter,
    running: RunningCommand,
) {
    let ended = tokio::select! {
        status = child.wait() => {
            state.ended(status.ok().and_then(|status| status.code()).map_or(ExitStatus::Code(-1), ExitStatus::Code));
            true
        }
        _ = &mut killed => false,
    };
    if ended {
        tokio::select! {
            () = empty(&job, CHECK_INTERVAL) => {}
            _ = &mut killed => {}
        }
    }
    job.terminate();
    tokio::time::timeout(PATIENCE, empty(&job, CHECK_INTERVAL_OF_KILLED))
        .await
        .ok();
    state.gone();
    drop(running);
}

/// Waits until no process is in the job.
async fn empty(job: &Job, interval: Duration) {
    while !job.is_empty() {
        tokio::time::sleep(interval).await;
    }
}

/// The capacity of pipes is fixed.
pub(crate) fn widen(_: &OutputPipe) {}
