//! Commands on Windows: each is in a job object, which kills all its processes when its last handle is closed.
//!
//! There is no helper process: the kernel closes the handle when this process ends for any reason. Terminals are pseudo
//! consoles. A confined command gets a token of the crate `codex-sandbox`, and its job keeps it away from windows, the
//! clipboard and settings of the desktop.

mod handles;
mod job;
mod native_process;
mod pipes;
mod pseudo_console;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_sandbox::{AppliedConfinement, LaunchPlan};
use tokio::net::windows::named_pipe::NamedPipeServer;
use tokio::sync::oneshot;

use crate::command_line::{cmd_script, is_batch_file, of_batch_file, of_program, of_script};
use crate::environment_block::environment_block;
use crate::input::StandardInput;
use crate::launch::{Launch, SpawnError, StreamSetup};
use crate::output::{OutputStream, ProcessOutput};
use crate::process::{Process, SpawnedProcess, StateReporter};
use crate::program_file::find_program;
use crate::running::{RunningCommand, RunningCommands};
use crate::status::ExitStatus;
pub(crate) use crate::typed_input::as_typed;
use job::Job;
use native_process::{NativeCommand, NativeProcess, NativeStreams};
pub use pseudo_console::PseudoConsole as Terminal;

/// Where output of a command is read.
pub(crate) type OutputPipe = NamedPipeServer;
/// Where input of a command is written.
pub(crate) type InputPipe = NamedPipeServer;

/// Ends the current line and then the input of a terminal.
pub(crate) const END_OF_TERMINAL_INPUT: &[u8] = b"\r\x1a\r";

/// How often it is checked whether processes are left: soon, then less often.
const FIRST_CHECK: Duration = Duration::from_millis(1);
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
const CHECK_INTERVAL_OF_KILLED: Duration = Duration::from_millis(5);

/// How long to wait for a process that cannot be killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// There are no helper processes on this system.
pub fn run_helper_if_asked() {}

/// Whether a path exists, or a name in a folder of the search path. An extension may be left out.
#[must_use]
pub fn has_program(program: &str, search_path: &OsStr) -> bool {
    let folders = std::env::split_paths(search_path);
    find_program(program, Path::new("."), folders, Path::is_file).is_some()
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
        let command = PreparedCommand::for_launch(&launch).map_err(SpawnError::Command)?;
        let confinement = applied(launch.plan).await?;
        let streams = Streams::open(launch.streams)
            .await
            .map_err(SpawnError::Supervisor)?;
        let job = Job::new().map_err(SpawnError::Supervisor)?;
        if confinement.is_some() {
            job.limit_desktop().map_err(SpawnError::Supervisor)?;
        }
        let running = self.running.add();
        let token = confinement.as_ref().map(AppliedConfinement::token);
        let native = command.native(streams.theirs(), token);
        let process = NativeProcess::start(&native, &job).map_err(SpawnError::Command)?;
        let owned = OwnedByCommand {
            job,
            confinement,
            running,
        };
        Ok(streams.owned_by(process, owned))
    }

    pub(crate) async fn close(&self) {
        self.running.all_ended().await;
    }
}

/// Applies a plan. May take long: access lists of a whole folder can change.
async fn applied(plan: LaunchPlan) -> Result<Option<AppliedConfinement>, SpawnError> {
    let LaunchPlan::Confined(confinement) = plan else {
        return Ok(None);
    };
    let applied = tokio::task::spawn_blocking(move || confinement.apply()).await;
    let problem = match applied {
        Ok(Ok(applied)) => return Ok(Some(applied)),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Err(SpawnError::Confinement(problem))
}

/// A command in the forms that the system takes.
struct PreparedCommand {
    program: String,
    command_line: String,
    environment: Vec<u16>,
    cwd: String,
}

impl PreparedCommand {
    fn for_launch(launch: &Launch) -> io::Result<Self> {
        let words: Vec<String> = launch.command.iter().map(text).collect::<io::Result<_>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [name, arguments @ ..] = words.as_slice() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let find = |name: &str| {
            let missing = || format!("there is no program `{name}`");
            found(name, launch).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, missing()))
        };
        let mut program = find(name)?;
        let command_line = if let Some(script) = cmd_script(&words) {
            of_script(&program, script)
        } else if is_batch_file(&program) {
            let file = std::mem::replace(&mut program, find("cmd.exe")?);
            of_batch_file(&program, &file, arguments)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?
        } else {
            of_program(&program, arguments)
        };
        if command_line.contains('\0') {
            let problem = "an argument has a zero byte";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let own = launch.environment.iter().map(|(name, value)| (name, value));
        let variables = launch.inherited.iter().chain(own);
        let variables =
            variables.filter_map(|(name, value)| Some((text(name).ok()?, text(value).ok()?)));
        Ok(Self {
            program,
            command_line,
            environment: environment_block(variables),
            cwd: text(launch.cwd.as_os_str())?,
        })
    }

    fn native<'a>(
        &'a self,
        streams: NativeStreams<'a>,
        token: Option<&'a OwnedHandle>,
    ) -> NativeCommand<'a> {
        NativeCommand {
            program: &self.program,
            command_line: &self.command_line,
            environment: &self.environment,
            cwd: &self.cwd,
            streams,
            token,
        }
    }
}

/// Finds the file of a program in the search path of the command, then in that of this process.
fn found(name: &str, launch: &Launch) -> Option<String> {
    let is_path = |(name, _): &(&OsString, &OsString)| name.eq_ignore_ascii_case("PATH");
    let own = launch
        .environment
        .iter()
        .rev()
        .map(|(name, value)| (name, value));
    let of_command = own.chain(&*launch.inherited).find(is_path);
    let of_command = of_command.map(|(_, value)| value.clone());
    let paths = [of_command, std::env::var_os("PATH")];
    let folders: Vec<PathBuf> = paths
        .iter()
        .flatten()
        .flat_map(std::env::split_paths)
        .collect();
    let file = find_program(name, &launch.cwd, folders, Path::is_file)?;
    file.into_os_string().into_string().ok()
}

fn text(text: impl AsRef<OsStr>) -> io::Result<String> {
    let text = text.as_ref().to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a text is not valid Unicode"))
}

/// The streams of a command: the ends of this process and those of the command.
struct Streams {
    output: ProcessOutput,
    input: Option<StandardInput>,
    theirs: TheirEnds,
}

enum TheirEnds {
    Pipes([OwnedHandle; 3]),
    Terminal(Terminal),
}

impl Streams {
    async fn open(setup: StreamSetup) -> io::Result<Self> {
        if let StreamSetup::Terminal(size) = setup {
            let (output, their_output) = pipes::from_command().await?;
            let (input, their_input) = pipes::to_command().await?;
            let terminal = Terminal::open(size, &their_input, &their_output)?;
            return Ok(Self {
                output: ProcessOutput::new(vec![(OutputStream::Stdout, output)]),
                input: Some(StandardInput::typed(input)),
                theirs: TheirEnds::Terminal(terminal),
            });
        }
        let (output, their_output) = pipes::from_command().await?;
        let (error, their_error) = pipes::from_command().await?;
        let (input, their_input) = if setup == StreamSetup::InputAndOutput {
            let (input, theirs) = pipes::to_command().await?;
            (Some(StandardInput::piped(input)), theirs)
        } else {
            (None, pipes::nothing()?)
        };
        let output = [
            (OutputStream::Stdout, output),
            (OutputStream::Stderr, error),
        ];
        Ok(Self {
            output: ProcessOutput::new(output.into()),
            input,
            theirs: TheirEnds::Pipes([their_input, their_output, their_error]),
        })
    }

    fn theirs(&self) -> NativeStreams<'_> {
        match &self.theirs {
            TheirEnds::Pipes(handles) => NativeStreams::Pipes(handles),
            TheirEnds::Terminal(terminal) => NativeStreams::Terminal(terminal),
        }
    }

    /// Gives the streams to the owner of the process. The ends of the command are closed here.
    fn owned_by(self, process: NativeProcess, owned: OwnedByCommand) -> SpawnedProcess {
        let terminal = match self.theirs {
            TheirEnds::Terminal(terminal) => Some(terminal),
            TheirEnds::Pipes(_) => None,
        };
        let followed = FollowedCommand {
            terminal: terminal.clone(),
            process,
            owned,
        };
        let id = followed.process.id;
        SpawnedProcess {
            process: Process::own(id, terminal, |killed, state| followed.follow(killed, state)),
            output: self.output,
            input: self.input,
        }
    }
}

/// A command that runs. Dropping it closes the job, which kills its processes.
struct FollowedCommand {
    terminal: Option<Terminal>,
    process: NativeProcess,
    owned: OwnedByCommand,
}

/// What exists as long as a process of a command.
struct OwnedByCommand {
    job: Job,
    confinement: Option<AppliedConfinement>,
    running: RunningCommand,
}

impl FollowedCommand {
    /// Follows a command until no process of it is left.
    async fn follow(self, mut killed: oneshot::Receiver<()>, mut state: StateReporter) {
        let job = &self.owned.job;
        let ended = tokio::select! {
            code = self.process.wait() => {
                let code = code.map_or(-1, u32::cast_signed);
                state.ended(ExitStatus::Code(code));
                true
            }
            _ = &mut killed => false,
        };
        if ended {
            tokio::select! {
                () = empty(job, CHECK_INTERVAL) => {}
                _ = &mut killed => {}
            }
        }
        job.terminate();
        let left = empty(job, CHECK_INTERVAL_OF_KILLED);
        tokio::time::timeout(KILL_TIMEOUT, left).await.ok();
        if let Some(terminal) = self.terminal {
            tokio::task::spawn_blocking(move || terminal.close());
        }
        drop(self.owned.confinement);
        state.gone();
        drop(self.owned.running);
    }
}

/// Waits until no process is in the job.
async fn empty(job: &Job, longest: Duration) {
    let mut interval = FIRST_CHECK;
    while !job.is_empty() {
        tokio::time::sleep(interval).await;
        interval = (2 * interval).min(longest);
    }
}

/// The capacity of pipes is fixed.
pub(crate) fn widen(_: &OutputPipe) {}
