//! The stdio transport to a program of another machine: its standard streams come here.

use std::sync::Arc;

use codex_environments::wire::OutputOrigin;
use codex_environments::{
    Environments, ProcessControl, RemoteCommand, RemoteExit, RemoteOutput, RemoteProcess,
};
use codex_exec::OutputStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::dispatcher::MessageDispatcher;
use crate::error::McpError;
use crate::stdio::{MAX_OUTGOING, OutputReader, StdioTransport};

/// A server that is a program of another machine.
#[derive(Debug)]
pub(crate) struct RemoteProgram {
    /// The name of the environment.
    pub(crate) environment: String,
    pub(crate) command: RemoteCommand,
}

impl StdioTransport {
    /// Starts the program there. Its messages are dispatched until the connection is closed.
    pub(crate) async fn start_elsewhere(
        environments: &Environments,
        program: RemoteProgram,
        server: String,
        dispatcher: &Arc<MessageDispatcher>,
        closed: CancellationToken,
    ) -> Result<Self, McpError> {
        let RemoteProgram {
            environment,
            command,
        } = program;
        let entry = environments.find(&environment);
        let entry = entry
            .ok_or_else(|| McpError::Launch(format!("there is no environment `{environment}`")))?;
        let started = entry.machine.start(command).await;
        let RemoteProcess { control, output } =
            started.map_err(|error| McpError::Launch(error.to_string()))?;
        let (outgoing, mut messages) = mpsc::channel::<String>(MAX_OUTGOING);
        let writer = control.writer();
        tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                writer.write(message.as_bytes());
            }
        });
        let reader = OutputReader::new(server, dispatcher);
        tokio::spawn(keep(reader, control, output, closed));
        Ok(Self { outgoing })
    }
}

/// Owns the program from its start to its end. Dropping the owner ends it.
async fn keep(
    mut reader: OutputReader,
    owner: ProcessControl,
    mut output: RemoteOutput,
    closed: CancellationToken,
) {
    let reading = async {
        while let Some(piece) = output.next().await {
            let stream = match piece.origin {
                OutputOrigin::Stderr => OutputStream::Stderr,
                OutputOrigin::Stdout | OutputOrigin::Pty => OutputStream::Stdout,
            };
            if let Err(error) = reader.take(stream, &piece.bytes) {
                return error;
            }
        }
        let exit = owner.exit_watch();
        match &*exit.borrow() {
            Some(RemoteExit::Lost(reason)) => McpError::Launch(reason.clone()),
            _ => McpError::Closed,
        }
    };
    let reason = tokio::select! {
        reason = reading => reason,
        () = closed.cancelled() => McpError::Closed,
    };
    reader.lose(reason);
    drop(owner);
}
