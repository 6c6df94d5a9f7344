//! `command/exec` and its control requests: a command outside of threads.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codex_app_server_protocol::v2::{
    CommandExecParams, CommandExecResizeParams, CommandExecResizeResponse, CommandExecResponse,
    CommandExecTerminalSize, CommandExecTerminateParams, CommandExecTerminateResponse,
    CommandExecWriteParams, CommandExecWriteResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_config::ConfigWarning;
use codex_core::{StandaloneCommand, StandaloneError};
use codex_exec::{
    CaptureLimits, CapturedOutput, NetworkLog, RunEnd, RunLimits, RunOutcome, SpawnError,
    StreamSetup, TerminalSize,
};
use codex_projection::wire_warning;
use codex_protocol::SandboxPolicy;

use super::call::{EarlyReply, RequestContext};
use crate::background_notifier::NotificationSink;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::run_output::RunOutput;
use crate::runs::{Reservation, Run, RunEnded};
use crate::server::AppServer;
use crate::thread::{named_sandbox, requested_sandbox};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_OUTPUT_CAP: u64 = 1024 * 1024;

/// How long descendants may continue to print after the command has ended.
const OUTPUT_GRACE_TIME: Duration = Duration::from_secs(2);

const TIMED_OUT: i32 = 124;
/// The exit code of a command on a terminal that the client ended.
const KILLED_EXIT_CODE: i32 = 137;

/// Runs a command. Its id is registered before the first wait, so that later requests find it.
pub(super) async fn start(
    RequestContext { server, connection }: RequestContext,
    params: CommandExecParams,
) -> Result<CommandExecResponse, Failure> {
    // Dropped before the reply: the id is then free again.
    CommandExecRequest::read(&server, params, &connection)?
        .carry_out(&server, connection)
        .await
}

pub(super) async fn write(
    RequestContext { connection, .. }: RequestContext,
    params: CommandExecWriteParams,
) -> Result<EarlyReply<method::CommandExecWrite>, Failure> {
    let bytes = typed(&params)?;
    let run = find(&connection, &params.process_id)?;
    if !run.takes_input {
        let message = "stdin streaming is not enabled for this command/exec";
        return Err(Failure::invalid(message));
    }
    Ok(EarlyReply::sent_by(move |reply| async move {
        match run.keyboard().await {
            Err(RunEnded) => reply.refuse(ended(&params.process_id)),
            Ok(keyboard) if !keyboard.is_open() => {
                reply.refuse(Failure::invalid("stdin is already closed"));
            }
            Ok(keyboard) => {
                reply.accept(&CommandExecWriteResponse {});
                keyboard.write(&bytes, params.close_stdin).await;
            }
        }
    }))
}

fn typed(params: &CommandExecWriteParams) -> Result<Vec<u8>, Failure> {
    match &params.delta_base64 {
        Some(delta) => STANDARD
            .decode(delta)
            .map_err(|error| Failure::invalid_params(format!("invalid deltaBase64: {error}"))),
        None if params.close_stdin => Ok(Vec::new()),
        None => {
            let message = "command/exec/write requires deltaBase64 or closeStdin";
            Err(Failure::invalid_params(message))
        }
    }
}

pub(super) async fn resize(
    RequestContext { connection, .. }: RequestContext,
    params: CommandExecResizeParams,
) -> Result<CommandExecResizeResponse, Failure> {
    let size = terminal_size(&params.size)?;
    let run = find(&connection, &params.process_id)?;
    let terminal = run.terminal().await;
    let terminal = terminal.map_err(|RunEnded| ended(&params.process_id))?;
    let resized = match terminal {
        Some(terminal) => terminal.resize(size).map_err(|error| error.to_string()),
        None => Err("process is not attached to a PTY".to_owned()),
    };
    resized.map_err(|why| Failure::invalid(format!("failed to resize PTY: {why}")))?;
    Ok(CommandExecResizeResponse {})
}

pub(super) async fn terminate(
    RequestContext { connection, .. }: RequestContext,
    params: CommandExecTerminateParams,
) -> Result<EarlyReply<method::CommandExecTerminate>, Failure> {
    let run = find(&connection, &params.process_id)?;
    Ok(EarlyReply::then(
        CommandExecTerminateResponse {},
        move || run.stop(),
    ))
}

fn find(connection: &Connection, id: &str) -> Result<Arc<Run>, Failure> {
    connection
        .runs()
        .find(id)
        .ok_or_else(|| Failure::invalid(format!("no active command/exec for process id {id:?}")))
}

fn ended(id: &str) -> Failure {
    Failure::invalid(format!("command/exec {id:?} is no longer running"))
}

fn terminal_size(size: &CommandExecTerminalSize) -> Result<TerminalSize, Failure> {
    TerminalSize::new(size.rows, size.cols).ok_or_else(|| {
        Failure::invalid_params("command/exec size rows and cols must be greater than 0")
    })
}

/// The restrictions of a run, and the settings that limit its network to hosts.
type RequestedPolicy = (SandboxPolicy, Vec<String>);

/// The restrictions of a run, given as they are or by the name of permissions.
fn policy_of(
    server: &AppServer,
    params: &mut CommandExecParams,
    connection: &Connection,
) -> Result<Option<RequestedPolicy>, Failure> {
    match (params.sandbox_policy.take(), &params.permission_profile) {
        (Some(_), Some(_)) => Err(Failure::invalid(
            "`permissionProfile` cannot be combined with `sandboxPolicy`",
        )),
        (policy, None) => {
            let policy = policy.map(requested_sandbox).transpose()?;
            Ok(policy.map(|policy| (policy, Vec::new())))
        }
        (None, Some(name)) => {
            let configuration = server.host().configuration();
            let cwd = configuration.folder(params.cwd.as_deref().unwrap_or_default());
            let named = named_sandbox(server, name, &cwd)?;
            if let Some(problem) = named.network_problem {
                warn_once(connection, problem);
            }
            Ok(Some((named.policy, named.host_limits)))
        }
    }
}

/// Tells the client of a problem, the first time that it occurs.
fn warn_once(connection: &Connection, problem: String) {
    if connection.is_new_problem(&problem) {
        let warning = wire_warning(ConfigWarning::new(problem));
        connection.notify(&ServerNotification::ConfigWarning(warning));
    }
}

/// A valid request.
struct CommandExecRequest {
    command: StandaloneCommand,
    reservation: Reservation,
    /// The id of the run, if its output is streamed.
    streamed: Option<String>,
    takes_input: bool,
    timeout: Option<Duration>,
    cap: Option<u64>,
}

impl CommandExecRequest {
    fn read(
        server: &AppServer,
        mut params: CommandExecParams,
        connection: &Connection,
    ) -> Result<Self, Failure> {
        check(&params)?;
        let timeout = timeout(&params)?;
        let size = params.size.as_ref().map(terminal_size).transpose()?;
        let policy = policy_of(server, &mut params, connection)?;
        let (policy, host_limits) = policy.unzip();
        let takes_input = params.tty || params.stream_stdin;
        let is_streamed = params.tty || params.stream_stdout_stderr;
        let reservation = match &params.process_id {
            Some(id) => connection.runs().enter(id, takes_input).ok_or_else(|| {
                let message = format!("duplicate active command/exec process id: {id:?}");
                Failure::invalid(message)
            })?,
            None if takes_input || is_streamed => {
                let message = "command/exec tty or streaming requires a client-supplied processId";
                return Err(Failure::invalid(message));
            }
            None => Reservation::unnamed(),
        };
        let streams = match size {
            _ if params.tty => StreamSetup::Terminal(size.unwrap_or_default()),
            _ if takes_input => StreamSetup::InputAndOutput,
            _ => StreamSetup::OutputOnly,
        };
        let cap = params.output_bytes_cap.unwrap_or(DEFAULT_OUTPUT_CAP);
        Ok(Self {
            command: StandaloneCommand {
                command: params.command,
                cwd: params.cwd.map(Into::into),
                environment: params.env.unwrap_or_default(),
                sandbox_policy: policy,
                host_limits: host_limits.unwrap_or_default(),
                streams,
                network_log: NetworkLog::default(),
            },
            reservation,
            streamed: params.process_id.filter(|_| is_streamed),
            takes_input,
            timeout,
            cap: (!params.disable_output_cap).then_some(cap),
        })
    }

    async fn carry_out(
        self,
        server: &AppServer,
        connection: Arc<Connection>,
    ) -> Result<CommandExecResponse, Failure> {
        let commands = server.host().commands();
        let commands = commands.map_err(|error| Failure::internal(error.to_string()))?;
        if let Some(policy) = &self.command.sandbox_policy {
            let checked = server.host().check_sandbox_policy(policy);
            checked.map_err(|why| Failure::invalid(format!("invalid sandbox policy: {why}")))?;
        }
        if let Some(problem) = commands.network_problem(&self.command) {
            warn_once(&connection, problem);
        }
        let mut spawned = commands.start(self.command).await.map_err(not_started)?;
        let input = spawned.input.take();
        let terminal = spawned.process.terminal();
        let stopped = match &terminal {
            Some(_) => KILLED_EXIT_CODE,
            None => connection.dialect().exit_code_of_stopped(),
        };
        let input = if self.takes_input { input } else { None };
        self.reservation.started(input, terminal).await;
        let reservation = &self.reservation;
        let stop = async {
            tokio::select! {
                () = reservation.stopped() => {}
                () = connection.outbox().closed() => {}
            }
        };
        let finished = match &self.streamed {
            Some(id) => {
                let limits = limits(self.timeout, 0);
                let output = RunOutput::new(Arc::clone(&connection), id, self.cap);
                codex_exec::run(spawned, limits, stop, output).await
            }
            None => {
                let kept = self.cap.and_then(|cap| usize::try_from(cap).ok());
                let limits = limits(self.timeout, kept.unwrap_or(usize::MAX));
                codex_exec::run(spawned, limits, stop, ()).await
            }
        };
        Ok(response(finished, stopped))
    }
}

fn limits(timeout: Option<Duration>, kept: usize) -> RunLimits {
    RunLimits {
        timeout,
        keep: CaptureLimits::first(kept),
        linger: OUTPUT_GRACE_TIME,
    }
}

/// `stopped` is the exit code of a command that the client ended.
fn response(finished: RunOutcome, stopped: i32) -> CommandExecResponse {
    CommandExecResponse {
        exit_code: match finished.ending {
            RunEnd::Exited(status) => status.code(),
            RunEnd::TimedOut => TIMED_OUT,
            RunEnd::Stopped => stopped,
        },
        stdout: text(finished.stdout),
        stderr: text(finished.stderr),
    }
}

fn text(captured: CapturedOutput) -> String {
    let text = String::from_utf8(captured.into_bytes());
    text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn check(params: &CommandExecParams) -> Result<(), Failure> {
    if params.command.is_empty() {
        return Err(Failure::invalid("command must not be empty"));
    }
    let contradiction = if params.size.is_some() && !params.tty {
        "command/exec size requires tty: true"
    } else if params.disable_output_cap && params.output_bytes_cap.is_some() {
        "command/exec cannot set both outputBytesCap and disableOutputCap"
    } else if params.disable_timeout && params.timeout_ms.is_some() {
        "command/exec cannot set both timeoutMs and disableTimeout"
    } else {
        return Ok(());
    };
    Err(Failure::invalid_params(contradiction))
}

fn timeout(params: &CommandExecParams) -> Result<Option<Duration>, Failure> {
    if params.disable_timeout {
        return Ok(None);
    }
    let Some(given) = params.timeout_ms else {
        return Ok(Some(DEFAULT_TIMEOUT));
    };
    let milliseconds = u64::try_from(given).map_err(|_| {
        let message = format!("command/exec timeoutMs must be non-negative, got {given}");
        Failure::invalid_params(message)
    })?;
    Ok(Some(Duration::from_millis(milliseconds)))
}

fn not_started(error: StandaloneError) -> Failure {
    match error {
        StandaloneError::Spawn(SpawnError::Command(error)) => {
            Failure::internal(format!("failed to spawn command: {error}"))
        }
        other => Failure::internal(format!("exec failed: {other}")),
    }
}
