//! Commands of other machines as the engine sees processes.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use codex_environments::wire::{OutputOrigin, Sandbox};
use codex_environments::{
    MachineError, ProcessControl, ProcessWriter, RemoteCommand, RemoteExit, RemoteOutput,
    RemotePath, RemoteProcess,
};
use codex_exec::{ExitStatus, OutputChunk, OutputStream};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use tokio::sync::watch;

use super::place::RemotePlace;
use crate::ports::{ProcessInput, ProcessOwner, RunningProcess};

/// How long the end of a command is awaited that was asked to end.
const END_WAIT: Duration = Duration::from_secs(2);

/// The exit code of a command about whose end nothing is known.
const LOST_EXIT_CODE: i32 = -1;

/// What is started on another machine.
#[derive(Debug)]
pub struct RemoteStart {
    /// A number that people and models know the command by; it begins the id there.
    pub number: i32,
    pub argv: Vec<String>,
    pub cwd: RemotePath,
    pub variables: BTreeMap<String, String>,
    pub has_terminal: bool,
    pub takes_input: bool,
    pub sandbox: Option<Sandbox<RemotePath>>,
}

/// Starts a command there.
pub async fn start(
    place: &RemotePlace,
    start: RemoteStart,
) -> Result<RunningProcess, MachineError> {
    let unique = uuid::Uuid::new_v4();
    let mut env = (*place.variables).clone();
    env.extend(start.variables);
    let command = RemoteCommand {
        id: format!("{}-{unique}", start.number),
        argv: start.argv,
        cwd: start.cwd,
        env,
        env_policy: place.variable_policy.clone(),
        has_terminal: start.has_terminal,
        takes_input: start.takes_input,
        sandbox: start.sandbox,
    };
    let takes_input = start.has_terminal || start.takes_input;
    let RemoteProcess { control, output } = place.machine.start(command).await?;
    let exit = control.exit_watch();
    let input = takes_input.then(|| Box::new(RemoteInput(control.writer())) as _);
    Ok(RunningProcess {
        owner: Box::new(RemoteOwner(control)),
        output: stream::unfold(OutputState::Running(output, exit), next_chunk).boxed(),
        input,
    })
}

enum OutputState {
    Running(RemoteOutput, watch::Receiver<Option<RemoteExit>>),
    Ended,
}

/// The next part of the output; at the end of a lost command, why it was lost.
async fn next_chunk(state: OutputState) -> Option<(OutputChunk, OutputState)> {
    let OutputState::Running(mut output, exit) = state else {
        return None;
    };
    if let Some(piece) = output.next().await {
        let chunk = OutputChunk {
            stream: match piece.origin {
                OutputOrigin::Stderr => OutputStream::Stderr,
                OutputOrigin::Stdout | OutputOrigin::Pty => OutputStream::Stdout,
            },
            bytes: piece.bytes.clone(),
        };
        return Some((chunk, OutputState::Running(output, exit)));
    }
    let lost = match &*exit.borrow() {
        Some(RemoteExit::Lost(reason)) => format!("[{reason}]\n"),
        _ => return None,
    };
    let chunk = OutputChunk {
        stream: OutputStream::Stderr,
        bytes: lost.into_bytes().into(),
    };
    Some((chunk, OutputState::Ended))
}

#[derive(Debug)]
struct RemoteOwner(ProcessControl);

impl ProcessOwner for RemoteOwner {
    fn ended(&self) -> BoxFuture<'_, ExitStatus> {
        Box::pin(async {
            match self.0.exited().await {
                RemoteExit::Code(code) => ExitStatus::Code(code),
                RemoteExit::Lost(_) => ExitStatus::Code(LOST_EXIT_CODE),
            }
        })
    }

    fn kill(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.0.terminate();
            // Without a connection it is ended when there is one again.
            let _ = tokio::time::timeout(END_WAIT, self.0.exited()).await;
        })
    }
}

#[derive(Debug)]
struct RemoteInput(ProcessWriter);

impl ProcessInput for RemoteInput {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        self.0.write(bytes);
        Box::pin(std::future::ready(Ok(())))
    }
}
