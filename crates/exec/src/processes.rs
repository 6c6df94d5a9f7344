//! The port to processes: those of this system, or simulated ones.

use std::fmt::{self, Debug};
use std::io;

use codex_sandbox::EnforcementLevels;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};

use crate::input::StandardInput;
use crate::launch::{Launch, SpawnError};
use crate::launcher::Launcher;
use crate::output::{OutputChunk, ProcessOutput};
use crate::process::{Process, SpawnedProcess};
use crate::status::ExitStatus;

/// Starts commands.
pub trait Processes: Debug + Send + Sync {
    /// What the system offers for sandboxes.
    fn levels(&self) -> EnforcementLevels;

    /// Starts a command.
    fn start(&self, launch: Launch) -> BoxFuture<'static, Result<RunningProcess, SpawnError>>;
}

/// A command that runs.
pub struct RunningProcess {
    /// The owner. Dropping it kills the whole tree.
    pub owner: Box<dyn ProcessOwner>,
    /// The output; ends when all writers have closed it.
    pub output: BoxStream<'static, OutputChunk>,
    /// The input, if the streams include one.
    pub input: Option<Box<dyn ProcessInput>>,
}

impl Debug for RunningProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunningProcess")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

/// The owner of a command and all that it started.
pub trait ProcessOwner: Debug + Send + Sync {
    /// Waits until the command has ended.
    fn ended(&self) -> BoxFuture<'_, ExitStatus>;

    /// Kills the whole tree and waits until nothing of it is left.
    fn kill(&mut self) -> BoxFuture<'_, ()>;
}

/// The input of a command.
pub trait ProcessInput: Debug + Send {
    /// Writes input.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;
}

/// The processes of this system.
#[derive(Clone, Debug)]
pub struct SystemProcesses {
    launcher: Launcher,
}

impl SystemProcesses {
    /// Started by `launcher`.
    #[must_use]
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }
}

impl Processes for SystemProcesses {
    fn levels(&self) -> EnforcementLevels {
        codex_sandbox::probe()
    }

    fn start(&self, launch: Launch) -> BoxFuture<'static, Result<RunningProcess, SpawnError>> {
        let launcher = self.launcher.clone();
        Box::pin(async move {
            let SpawnedProcess {
                process,
                output,
                input,
                ..
            } = launcher.spawn(launch).await?;
            Ok(RunningProcess {
                owner: Box::new(process),
                output: stream::unfold(output, next_chunk).boxed(),
                input: input.map(|input| Box::new(input) as Box<dyn ProcessInput>),
            })
        })
    }
}

async fn next_chunk(mut output: ProcessOutput) -> Option<(OutputChunk, ProcessOutput)> {
    let chunk = output.next().await?;
    Some((chunk, output))
}

impl ProcessOwner for Process {
    fn ended(&self) -> BoxFuture<'_, ExitStatus> {
        Box::pin(self.wait())
    }

    fn kill(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            Process::kill(self).await;
        })
    }
}

impl ProcessInput for StandardInput {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(StandardInput::write(self, bytes))
    }
}
