//! `process/*`: programs that a client runs outside of any sandbox. They end with their connection.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codex_app_server_protocol::v2::{
    ProcessExitedNotification, ProcessKillParams, ProcessKillResponse,
    ProcessOutputDeltaNotification, ProcessOutputStream, ProcessResizePtyParams,
    ProcessResizePtyResponse, ProcessSpawnParams, ProcessSpawnResponse, ProcessTerminalSize,
    ProcessWriteStdinParams, ProcessWriteStdinResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_core::{StandaloneCommand, StandaloneError};
use codex_exec::{
    CaptureLimits, CapturedOutput, NetworkLog, OutputChunk, OutputObserver, OutputStream, RunEnd,
    RunLimits, RunOutcome, SpawnError, SpawnedProcess, StreamSetup, TerminalSize,
};
use codex_protocol::{SandboxPolicy, Update};

use super::call::{EarlyReply, RequestContext};
use crate::background_notifier::NotificationSink;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::request_path::absolute;
use crate::runs::{Reservation, Run, RunEnded};

/// How long descendants may continue to print after the program has ended.
const OUTPUT_GRACE_TIME: Duration = Duration::from_secs(2);
/// The default limit for each output stream, in bytes.
const OUTPUT_CAP: usize = 1024 * 1024;

const TIMED_OUT: i32 = 124;
const KILLED_EXIT_CODE: i32 = 137;

pub(super) async fn spawn(
    RequestContext { server, connection }: RequestContext,
    params: ProcessSpawnParams,
) -> Result<EarlyReply<method::ProcessSpawn>, Failure> {
    check(&params)?;
    let timeout = timeout(&params)?;
    let size = params.size.as_ref().map(terminal_size).transpose()?;
    let policy = SandboxPolicy::DangerFullAccess;
    let checked = server.host().check_sandbox_policy(&policy);
    checked.map_err(|why| Failure::invalid(format!("invalid sandbox policy: {why}")))?;
    let takes_input = params.tty || params.stream_stdin;
    let handle = params.process_handle.clone();
    let reservation = connection.processes().enter(&handle, takes_input);
    let reservation = reservation
        .ok_or_else(|| Failure::invalid(format!("duplicate active process handle: {handle:?}")))?;
    let streams = match size {
        _ if params.tty => StreamSetup::Terminal(size.unwrap_or_default()),
        _ if takes_input => StreamSetup::InputAndOutput,
        _ => StreamSetup::OutputOnly,
    };
    let cap = match params.output_bytes_cap {
        Update::Leave => Some(OUTPUT_CAP),
        Update::Clear => None,
        Update::Set(cap) => Some(usize::try_from(cap).map_err(|_| {
            Failure::invalid("Invalid request: outputBytesCap must not be negative")
        })?),
    };
    let command = StandaloneCommand {
        command: params.command,
        cwd: Some(PathBuf::from(params.cwd)),
        environment: params.env.unwrap_or_default(),
        sandbox_policy: Some(policy),
        host_limits: Vec::new(),
        streams,
        network_log: NetworkLog::default(),
    };
    let commands = server.host().commands();
    let commands = commands.map_err(|error| Failure::internal(error.to_string()))?;
    let mut spawned = commands.start(command).await.map_err(not_started)?;
    let input = spawned.input.take().filter(|_| takes_input);
    let terminal = spawned.process.terminal();
    reservation.started(input, terminal).await;
    let is_streamed = params.tty || params.stream_stdout_stderr;
    Ok(EarlyReply::then(ProcessSpawnResponse {}, move || {
        let process = ClientProcess {
            handle,
            connection,
            reservation,
            is_streamed,
            timeout,
            cap,
        };
        tokio::spawn(process.run(spawned));
    }))
}

/// A running process, until its end is sent.
struct ClientProcess {
    handle: String,
    connection: Arc<Connection>,
    reservation: Reservation,
    is_streamed: bool,
    timeout: Option<Duration>,
    cap: Option<usize>,
}

impl ClientProcess {
    async fn run(self, spawned: SpawnedProcess) {
        let stop = async {
            tokio::select! {
                () = self.reservation.stopped() => {}
                () = self.connection.outbox().closed() => {}
            }
        };
        let kept = if self.is_streamed {
            0
        } else {
            self.cap.unwrap_or(usize::MAX)
        };
        let limits = RunLimits {
            timeout: self.timeout,
            keep: CaptureLimits::first(kept),
            linger: OUTPUT_GRACE_TIME,
        };
        let finished = if self.is_streamed {
            let output = OutputSender {
                connection: Arc::clone(&self.connection),
                handle: self.handle.clone(),
                left: [self.cap; 2],
            };
            codex_exec::run(spawned, limits, stop, output).await
        } else {
            codex_exec::run(spawned, limits, stop, ()).await
        };
        let ended = exited(&self.handle, finished, self.cap);
        // The handle is free before the client learns of the end.
        drop(self.reservation);
        self.connection
            .notify(&ServerNotification::ProcessExited(ended));
    }
}

fn exited(handle: &str, finished: RunOutcome, cap: Option<usize>) -> ProcessExitedNotification {
    let is_cut = |captured: &CapturedOutput| cap.is_some_and(|cap| captured.total > cap as u64);
    let (stdout_cap_reached, stderr_cap_reached) =
        (is_cut(&finished.stdout), is_cut(&finished.stderr));
    ProcessExitedNotification {
        process_handle: handle.to_owned(),
        exit_code: i64::from(match finished.ending {
            RunEnd::Exited(status) => status.code(),
            RunEnd::TimedOut => TIMED_OUT,
            RunEnd::Stopped => KILLED_EXIT_CODE,
        }),
        output_drain_timed_out: Some(false),
        stdout: text(finished.stdout),
        stdout_cap_reached,
        stderr: text(finished.stderr),
        stderr_cap_reached,
    }
}

fn text(captured: CapturedOutput) -> String {
    String::from_utf8_lossy(&captured.into_bytes()).into_owned()
}

/// Sends output when it is read. If the client reads slowly, the process waits.
struct OutputSender {
    connection: Arc<Connection>,
    handle: String,
    /// The remaining bytes of standard output and standard error.
    left: [Option<usize>; 2],
}

impl OutputObserver for OutputSender {
    async fn observe(&mut self, chunk: &OutputChunk) {
        let (left, stream) = match chunk.stream {
            OutputStream::Stdout => (&mut self.left[0], ProcessOutputStream::Stdout),
            OutputStream::Stderr => (&mut self.left[1], ProcessOutputStream::Stderr),
        };
        let mut bytes = &chunk.bytes[..];
        let mut cap_reached = false;
        if let Some(left) = left {
            if *left == 0 {
                return;
            }
            cap_reached = bytes.len() >= *left;
            bytes = &bytes[..bytes.len().min(*left)];
            *left -= bytes.len();
        }
        let delta = ProcessOutputDeltaNotification {
            process_handle: self.handle.clone(),
            stream,
            delta_base64: STANDARD.encode(bytes),
            cap_reached,
        };
        self.connection
            .notify(&ServerNotification::ProcessOutputDelta(delta));
        self.connection.outbox().room().await;
    }
}

pub(super) async fn write(
    RequestContext { connection, .. }: RequestContext,
    params: ProcessWriteStdinParams,
) -> Result<EarlyReply<method::ProcessWriteStdin>, Failure> {
    let bytes = match &params.delta_base64 {
        Some(delta) => STANDARD
            .decode(delta)
            .map_err(|error| Failure::invalid_params(format!("invalid deltaBase64: {error}")))?,
        None if params.close_stdin => Vec::new(),
        None => {
            let message = "process/writeStdin requires deltaBase64 or closeStdin";
            return Err(Failure::invalid_params(message));
        }
    };
    let run = find(&connection, &params.process_handle)?;
    if !run.takes_input {
        let message = "stdin streaming is not enabled for this process";
        return Err(Failure::invalid(message));
    }
    Ok(EarlyReply::sent_by(move |reply| async move {
        match run.keyboard().await {
            Err(RunEnded) => reply.refuse(missing(&params.process_handle)),
            Ok(keyboard) if !keyboard.is_open() => {
                reply.refuse(Failure::invalid("stdin is already closed"));
            }
            Ok(keyboard) => {
                reply.accept(&ProcessWriteStdinResponse {});
                keyboard.write(&bytes, params.close_stdin).await;
            }
        }
    }))
}

pub(super) async fn resize(
    RequestContext { connection, .. }: RequestContext,
    params: ProcessResizePtyParams,
) -> Result<ProcessResizePtyResponse, Failure> {
    let size = terminal_size(&params.size)?;
    let run = find(&connection, &params.process_handle)?;
    let terminal = run.terminal().await;
    let terminal = terminal.map_err(|RunEnded| missing(&params.process_handle))?;
    let resized = match terminal {
        Some(terminal) => terminal.resize(size).map_err(|error| error.to_string()),
        None => Err("process is not attached to a PTY".to_owned()),
    };
    resized.map_err(|why| Failure::invalid(format!("failed to resize PTY: {why}")))?;
    Ok(ProcessResizePtyResponse {})
}

pub(super) async fn kill(
    RequestContext { connection, .. }: RequestContext,
    params: ProcessKillParams,
) -> Result<EarlyReply<method::ProcessKill>, Failure> {
    let run = find(&connection, &params.process_handle)?;
    Ok(EarlyReply::then(ProcessKillResponse {}, move || run.stop()))
}

fn find(connection: &Connection, handle: &str) -> Result<Arc<Run>, Failure> {
    let found = connection.processes().find(handle);
    found.ok_or_else(|| missing(handle))
}

fn missing(handle: &str) -> Failure {
    Failure::invalid(format!("no active process for process handle {handle:?}"))
}

fn check(params: &ProcessSpawnParams) -> Result<(), Failure> {
    if params.command.is_empty() {
        return Err(Failure::invalid("command must not be empty"));
    }
    if params.process_handle.is_empty() {
        return Err(Failure::invalid("processHandle must not be empty"));
    }
    absolute(&params.cwd)?;
    if params.size.is_some() && !params.tty {
        return Err(Failure::invalid_params(
            "process/spawn size requires tty: true",
        ));
    }
    Ok(())
}

fn timeout(params: &ProcessSpawnParams) -> Result<Option<Duration>, Failure> {
    let Update::Set(given) = params.timeout_ms else {
        return Ok(None);
    };
    let milliseconds = u64::try_from(given).map_err(|_| {
        let message = format!("process/spawn timeoutMs must be non-negative, got {given}");
        Failure::invalid_params(message)
    })?;
    Ok(Some(Duration::from_millis(milliseconds)))
}

fn terminal_size(size: &ProcessTerminalSize) -> Result<TerminalSize, Failure> {
    let side = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
    TerminalSize::new(side(size.rows), side(size.cols))
        .ok_or_else(|| Failure::invalid_params("process size rows and cols must be greater than 0"))
}

fn not_started(error: StandaloneError) -> Failure {
    match error {
        StandaloneError::Spawn(SpawnError::Command(error)) => {
            Failure::internal(format!("failed to spawn process: {error}"))
        }
        other => Failure::internal(format!("failed to spawn process: {other}")),
    }
}
