//! The stdio transport: the server is a program, and each message is one line.
//!
//! A task owns the program. When the connection is closed, the program's input ends; if the program does not exit
//! soon after, its whole process tree is killed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{
    Launch, OutputChunk, OutputStream, ProcessInput, ProcessOwner, Processes, RunningProcess,
    StreamSetup,
};
use codex_sandbox::LaunchPlan;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::dispatcher::MessageDispatcher;
use crate::error::McpError;

/// The maximum size of a message.
pub(crate) const LARGEST_MESSAGE: usize = 64 * 1024 * 1024;
/// The maximum length of a logged line of the server's standard error.
const LONGEST_LOG_LINE: usize = 4096;
/// The capacity of the queue of messages to the program.
pub(crate) const MAX_OUTGOING: usize = 64;
/// How long a program may take to exit after its input has ended, and how long its remaining output is read.
const GRACE_TIME: Duration = Duration::from_millis(500);

/// The command line and environment of a server.
#[derive(Debug)]
pub(crate) struct ServerProgram {
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
}

/// A server that runs as a program.
#[derive(Debug)]
pub(crate) struct StdioTransport {
    pub(crate) outgoing: mpsc::Sender<String>,
}

impl StdioTransport {
    /// Starts the program. Its messages are dispatched until the connection is closed.
    pub(crate) async fn start(
        processes: &dyn Processes,
        program: ServerProgram,
        server: String,
        dispatcher: &Arc<MessageDispatcher>,
        closed: CancellationToken,
    ) -> Result<Self, McpError> {
        let started = processes.start(Launch {
            command: program.command,
            cwd: program.cwd,
            inherited: Arc::default(),
            environment: program.environment,
            streams: StreamSetup::InputAndOutput,
            plan: LaunchPlan::Unconfined,
            network: codex_exec::CommandNetwork::default(),
        });
        let RunningProcess {
            owner,
            output,
            input,
        } = started.await?;
        let (outgoing, messages) = mpsc::channel(MAX_OUTGOING);
        if let Some(input) = input {
            tokio::spawn(write(input, messages));
        }
        let reader = OutputReader::new(server, dispatcher);
        tokio::spawn(reader.keep(owner, output, closed));
        Ok(Self { outgoing })
    }

    pub(crate) async fn send(&self, mut message: String) -> Result<(), McpError> {
        message.push('\n');
        let sent = self.outgoing.send(message).await;
        sent.map_err(|_| McpError::Closed)
    }
}

/// Writes messages until the transport is dropped, which ends the program's input.
async fn write(mut input: Box<dyn ProcessInput>, mut messages: mpsc::Receiver<String>) {
    while let Some(message) = messages.recv().await {
        if input.write(message.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads the output of a program.
pub(crate) struct OutputReader {
    server: String,
    dispatcher: Arc<MessageDispatcher>,
    line: Vec<u8>,
    log: Vec<u8>,
}

impl OutputReader {
    pub(crate) fn new(server: String, dispatcher: &Arc<MessageDispatcher>) -> Self {
        Self {
            server,
            dispatcher: Arc::clone(dispatcher),
            line: Vec::new(),
            log: Vec::new(),
        }
    }

    /// The connection is lost, for this reason.
    pub(crate) fn lose(&self, reason: McpError) {
        self.dispatcher.lose(reason);
    }

    /// Owns the program from its start to its end.
    async fn keep(
        mut self,
        mut owner: Box<dyn ProcessOwner>,
        mut output: BoxStream<'static, OutputChunk>,
        closed: CancellationToken,
    ) {
        let reason = tokio::select! {
            reason = self.read(&mut output) => reason,
            _ = owner.ended() => {
                // Its last output may not have been read yet. Other processes may hold the output open, hence the
                // time limit.
                let _ = tokio::time::timeout(GRACE_TIME, self.read(&mut output)).await;
                McpError::Closed
            }
            () = closed.cancelled() => McpError::Closed,
        };
        self.dispatcher.lose(reason);
        if closed.is_cancelled() {
            let ends = async {
                tokio::join!(owner.ended(), self.read(&mut output));
            };
            let _ = tokio::time::timeout(GRACE_TIME, ends).await;
        }
        owner.kill().await;
    }

    /// Reads until the output ends or cannot be read.
    async fn read(&mut self, output: &mut BoxStream<'static, OutputChunk>) -> McpError {
        while let Some(OutputChunk { stream, bytes }) = output.next().await {
            if let Err(error) = self.take(stream, &bytes) {
                return error;
            }
        }
        McpError::Closed
    }

    /// Takes a part of the output.
    pub(crate) fn take(&mut self, stream: OutputStream, bytes: &[u8]) -> Result<(), McpError> {
        match stream {
            OutputStream::Stdout => {
                for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                    self.line.extend_from_slice(part);
                    if part.ends_with(b"\n") {
                        self.message();
                    }
                }
                if self.line.len() > LARGEST_MESSAGE {
                    return Err(McpError::TooLarge(LARGEST_MESSAGE));
                }
            }
            OutputStream::Stderr => self.log(bytes),
        }
        Ok(())
    }

    fn message(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if !line.is_empty() {
            self.dispatcher.deliver(line);
        }
    }

    fn log(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_LOG_LINE.saturating_sub(self.log.len());
            self.log.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let line = String::from_utf8_lossy(self.log.trim_ascii_end());
                tracing::info!(server = self.server, "MCP server stderr: {line}");
                self.log.clear();
            }
        }
    }
}
