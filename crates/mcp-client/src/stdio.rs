//! A server that is a program of its own: a message is a line.
//!
//! The program belongs to a task here. When the connection is closed its input ends; if it does not
//! end by itself soon after, it is killed with everything that it started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{
    Launch, Launcher, OutputChunk, OutputStream, Process, ProcessOutput, SpawnedProcess,
    StandardInput, StreamSetup,
};
use codex_sandbox::LaunchPlan;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::McpError;
use crate::inbox::Inbox;

/// The longest message that is read.
pub(crate) const LARGEST_MESSAGE: usize = 64 * 1024 * 1024;
/// The longest line of its log that is kept whole.
const LONGEST_LOG_LINE: usize = 4096;
/// How many messages may wait for a server that does not read.
const OUTGOING: usize = 64;
/// How long a program may take to end once its input has, and what it left behind to be read.
const GRACE: Duration = Duration::from_millis(500);

/// What to start.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
}

/// The way to a program.
#[derive(Debug)]
pub(crate) struct Stdio {
    outgoing: mpsc::Sender<String>,
}

impl Stdio {
    /// Starts the program; what it says goes into the inbox until the connection is closed.
    pub(crate) async fn start(
        launcher: &Launcher,
        program: Program,
        server: String,
        inbox: &Arc<Inbox>,
        closed: CancellationToken,
    ) -> Result<Self, McpError> {
        let spawned = launcher.spawn(Launch {
            command: program.command,
            cwd: program.cwd,
            inherited: Arc::default(),
            environment: program.environment,
            streams: StreamSetup::InputAndOutput,
            plan: LaunchPlan::Unconfined,
        });
        let SpawnedProcess {
            process,
            output,
            input,
        } = spawned.await?;
        let (outgoing, messages) = mpsc::channel(OUTGOING);
        if let Some(input) = input {
            tokio::spawn(write(input, messages));
        }
        let reader = Reader {
            server,
            inbox: Arc::clone(inbox),
            line: Vec::new(),
            log: Vec::new(),
        };
        tokio::spawn(reader.keep(process, output, closed));
        Ok(Self { outgoing })
    }

    pub(crate) async fn send(&self, mut message: String) -> Result<(), McpError> {
        message.push('\n');
        let sent = self.outgoing.send(message).await;
        sent.map_err(|_| McpError::Closed)
    }
}

/// Writes for as long as there is a way here. The program's input ends with this.
async fn write(mut input: StandardInput, mut messages: mpsc::Receiver<String>) {
    while let Some(message) = messages.recv().await {
        if input.write(message.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads what a program says.
struct Reader {
    server: String,
    inbox: Arc<Inbox>,
    line: Vec<u8>,
    log: Vec<u8>,
}

impl Reader {
    /// Owns the program from its start to its end.
    async fn keep(
        mut self,
        mut process: Process,
        mut output: ProcessOutput,
        closed: CancellationToken,
    ) {
        let reason = tokio::select! {
            reason = self.read(&mut output) => reason,
            _ = process.wait() => {
                // What it said last may still be on its way; others may hold its output open.
                let _ = tokio::time::timeout(GRACE, self.read(&mut output)).await;
                McpError::Closed
            }
            () = closed.cancelled() => McpError::Closed,
        };
        self.inbox.lose(reason);
        if closed.is_cancelled() {
            let ends = async {
                tokio::join!(process.wait(), self.read(&mut output));
            };
            let _ = tokio::time::timeout(GRACE, ends).await;
        }
        process.kill().await;
    }

    /// Reads to the end, or to something that cannot be read.
    async fn read(&mut self, output: &mut ProcessOutput) -> McpError {
        while let Some(OutputChunk { stream, bytes }) = output.next().await {
            match stream {
                OutputStream::Stdout => {
                    for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                        self.line.extend_from_slice(part);
                        if part.ends_with(b"\n") {
                            self.message();
                        }
                    }
                    if self.line.len() > LARGEST_MESSAGE {
                        return McpError::TooLarge(LARGEST_MESSAGE);
                    }
                }
                OutputStream::Stderr => self.log(&bytes),
            }
        }
        McpError::Closed
    }

    fn message(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if !line.is_empty() {
            self.inbox.deliver(line);
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
