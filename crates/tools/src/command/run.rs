//! Runs one command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use codex_exec::{Launch, NetworkLog, OutputChunk, SpawnError, StreamSetup};
use codex_gate::{CommandEffect, Effect, Permit, SandboxPermissions, check_arguments};
use codex_protocol::{EventMsg, ExecCommandSource, WarningEvent};
use codex_session_base::config::{WritableFiles, is_sandboxed};
use codex_session_base::gate::{ConnectionGate, Denied};
use codex_session_base::ports::RunningProcess;
use codex_session_base::startup_files::{
    without_writable_startup_files, writable_startup_variables,
};
use codex_shell_command::with_utf8_output;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::begin::command_item;
use super::request::ApprovalArguments;
use crate::apply_patch;
use crate::command_format::{CapturedStreams, CommandOutcome, ExitReason, OutputLayout};
use crate::command_item::CommandItem;
use crate::command_variables::own_variables;
use crate::places::CallPlace;
use crate::remote_command::{RemoteCall, start_there};
use crate::tool::{ToolContext, ToolFailure, ToolResult, text};

/// The default time limit of a command.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long output is awaited after the command has ended.
const OUTPUT_DRAIN_TIME: Duration = Duration::from_secs(2);
/// The same after the process tree was killed.
const DRAIN_AFTER_KILL: Duration = Duration::from_millis(100);

/// The text for the model if a person declined.
pub(crate) const DECLINED_MESSAGE: &str = "exec command rejected by user";

/// A command as a tool requests it.
#[derive(Debug)]
pub(crate) struct CommandRequest {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub timeout: Option<Duration>,
    pub approval: ApprovalArguments,
    pub layout: OutputLayout,
    pub place: CallPlace,
}

/// Runs a command, if it is permitted.
pub(crate) async fn run_command(context: &ToolContext, request: CommandRequest) -> ToolResult {
    if request.argv.is_empty() {
        return Err(ToolFailure::Model("command args are empty".to_owned()));
    }
    if let Some(patch) = apply_patch::intercept(&request.argv, &request.cwd) {
        return apply_patch::run_intercepted(context, &request.place, patch, request.layout).await;
    }
    let effect = effect(
        context,
        &request.argv,
        request.cwd.clone(),
        &request.approval,
        &request.place,
        None,
    )?;
    let turn_policy = context.settings.turn_policy(&context.session.config);
    check_arguments(&effect, &turn_policy).map_err(|refused| ToolFailure::Model(refused.0))?;
    let mut item = command_item(
        context,
        &request.argv,
        &request.cwd,
        &request.place,
        ExecCommandSource::Agent,
        None,
    );
    let begins_late = context.session.config.options.serves_queue;
    if !begins_late {
        item = item.begin();
    }
    let permit = match context.gate().permit(Effect::Command(effect.clone())).await {
        Ok(permit) => permit,
        Err(stopped) => return Err(decline(item, stopped)),
    };
    if begins_late {
        item = item.begin();
    }
    item.set_running();
    let first = match watched_attempt(context, &request, &effect, &permit, &mut item).await {
        Ok(outcome) => outcome,
        Err(problem) => {
            item.fail(&problem);
            return Err(ToolFailure::Model(problem));
        }
    };
    let retried = retry_unconfined(context, &request, effect, permit, &first, &mut item);
    let outcome = match retried.await {
        Ok(second) => second.unwrap_or(first),
        Err(stopped) => return Err(decline(item, stopped)),
    };
    let policy = context.settings.model.truncation();
    if outcome.is_success() {
        context.command_ended(|| outcome.output());
    }
    item.end(outcome.end(policy));
    text(outcome.for_model(request.layout, policy))
}

/// The effect that the gate decides about.
pub(crate) fn effect(
    context: &ToolContext,
    argv: &[String],
    cwd: PathBuf,
    approval: &ApprovalArguments,
    place: &CallPlace,
    tty: Option<bool>,
) -> Result<CommandEffect, ToolFailure> {
    if place.elsewhere().is_some() && approval.additional_permissions.is_some() {
        let problem = "additional_permissions are for this machine alone; on another one ask for require_escalated";
        return Err(ToolFailure::Model(problem.to_owned()));
    }
    let additional = approval.additional_permissions.clone();
    let inline = context.session.config.options.features.exec_permissions;
    let permissions = match (approval.sandbox_permissions, &additional) {
        (SandboxPermissions::UseDefault, Some(_)) if inline => {
            SandboxPermissions::WithAdditionalPermissions
        }
        (permissions, _) => permissions,
    };
    Ok(CommandEffect {
        argv: argv.to_vec(),
        machine: place.machine(),
        cwd,
        permissions,
        additional: additional
            .filter(|_| inline)
            .map(|asked| asked.resolve(context)),
        justification: approval.justification.clone(),
        prefix_rule: approval.prefix_rule.clone(),
        tty,
        in_editor: false,
    })
}

/// Ends a command that does not run, or not again.
fn decline(item: CommandItem, stopped: Denied) -> ToolFailure {
    match stopped {
        Denied::Refused(reason) | Denied::Reviewed(reason) => {
            item.decline(&reason);
            ToolFailure::Model(reason)
        }
        Denied::Declined | Denied::Cancelled => {
            item.decline(DECLINED_MESSAGE);
            ToolFailure::Model(DECLINED_MESSAGE.to_owned())
        }
        Denied::Aborted => {
            item.decline("");
            ToolFailure::Aborted
        }
    }
}

/// Runs the command without sandbox if the sandbox seems to have stopped it and that is permitted.
async fn retry_unconfined(
    context: &ToolContext,
    request: &CommandRequest,
    effect: CommandEffect,
    permit: Permit,
    first: &CommandOutcome,
    item: &mut CommandItem,
) -> Result<Option<CommandOutcome>, Denied> {
    let confined = permit.is_confined();
    let text = [first.stdout.as_bytes(), first.stderr.as_bytes()].concat();
    let denied = confined
        && !first.timed_out
        && !first.by_signal
        && codex_sandbox::looks_denied(first.exit_code, &text);
    if !denied {
        return Ok(None);
    }
    let Some(permit) = context.gate().permit_retry(effect.clone(), permit).await? else {
        return Ok(None);
    };
    let second = watched_attempt(context, request, &effect, &permit, item).await;
    second.map(Some).map_err(Denied::Refused)
}

/// Runs the command once. What it changes is recorded.
async fn watched_attempt(
    context: &ToolContext,
    request: &CommandRequest,
    effect: &CommandEffect,
    permit: &Permit,
    item: &mut CommandItem,
) -> Result<CommandOutcome, String> {
    if request.place.elsewhere().is_some() {
        return attempt(context, request, permit, item).await;
    }
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let checkpoint = &context.checkpoint;
    let watched = checkpoint
        .before_command(effect, &turn_policy, permit)
        .await;
    let outcome = attempt(context, request, permit, item).await;
    if let Some(watched) = watched {
        drop(watched);
        checkpoint.after_command(&context.call.id).await;
    }
    outcome
}

/// Runs the command once.
pub(crate) async fn attempt(
    context: &ToolContext,
    request: &CommandRequest,
    permit: &Permit,
    item: &mut CommandItem,
) -> Result<CommandOutcome, String> {
    let (process, network) = match &request.place {
        CallPlace::There(place) => {
            let command = RemoteCall {
                number: context.services.terminals.fresh_id(),
                argv: &request.argv,
                cwd: &request.cwd,
                has_terminal: false,
                variables: &[],
            };
            let started = start_there(context, place, permit, command);
            (started.await?, NetworkLog::default())
        }
        CallPlace::Here => {
            let launch = launch(
                context,
                &request.argv,
                request.cwd.clone(),
                permit,
                StreamSetup::OutputOnly,
                &[],
            )?;
            let network = launch.network.log.clone();
            let process = context.session.processes.start(launch).await;
            (process.map_err(|error| spawn_problem(&error))?, network)
        }
    };
    let clock = context.session.clock.as_ref();
    let started = clock.elapsed();
    let RunningProcess {
        mut owner,
        mut output,
        ..
    } = process;
    let mut kept = CapturedStreams::default();
    let exit_reason = {
        let mut forward_output = pin!(forward_output(&mut output, &mut kept, item));
        let mut forwarded = false;
        let exit_reason = {
            let mut ended = owner.ended();
            let limit = request.timeout.unwrap_or(TIMEOUT);
            let mut time_is_up = pin!(context.services.timeout_pauses.limit(clock, limit));
            loop {
                tokio::select! {
                    biased;
                    () = &mut time_is_up => break ExitReason::TimedOut,
                    status = &mut ended => break ExitReason::Exited(status),
                    () = &mut forward_output, if !forwarded => forwarded = true,
                }
            }
        };
        let wait_limit = match exit_reason {
            ExitReason::Exited(_) => OUTPUT_DRAIN_TIME,
            ExitReason::TimedOut => {
                owner.kill().await;
                DRAIN_AFTER_KILL
            }
        };
        if !forwarded {
            tokio::select! {
                biased;
                () = forward_output => {}
                () = clock.sleep(wait_limit) => {}
            }
        }
        exit_reason
    };
    let elapsed = clock.elapsed().saturating_sub(started);
    let outcome = CommandOutcome::new(exit_reason, kept, elapsed);
    let outcome = outcome.with_network(&network);
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let note = turn_policy.hidden_note(&request.argv, &outcome.output());
    Ok(outcome.with_note(note.filter(|_| request.place.elsewhere().is_none())))
}

async fn forward_output(
    output: &mut BoxStream<'static, OutputChunk>,
    kept: &mut CapturedStreams,
    item: &mut CommandItem,
) {
    while let Some(chunk) = output.next().await {
        kept.push(&chunk);
        item.output(chunk).await;
    }
}

/// The launch of a command.
pub(crate) fn launch(
    context: &ToolContext,
    argv: &[String],
    cwd: PathBuf,
    permit: &Permit,
    streams: StreamSetup,
    variables: &[(&str, &str)],
) -> Result<Launch, String> {
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let plan = turn_policy
        .plan(permit, context.session.processes.levels())
        .map_err(|refusal| {
            format!("the command was not run, because its sandbox cannot be enforced: {refusal}")
        })?;
    let network = ConnectionGate {
        requests: context.services.requests.gate.clone(),
        command: argv.to_vec(),
        settings: Arc::clone(&context.settings),
        timeout_pauses: context.services.timeout_pauses.clone(),
    };
    let network = network.network();
    let mut environment = own_variables(context, &turn_policy, variables);
    let leaves_sandbox = !permit.is_confined();
    let checked = leaves_sandbox.then(|| without_startup_files(context, argv));
    let (argv, removed) = checked.unwrap_or_else(|| (argv.to_vec(), Vec::new()));
    environment.extend(removed.into_iter().map(|name| (name, OsString::new())));
    Ok(Launch {
        command: (with_utf8_output(argv).into_iter())
            .map(OsString::from)
            .collect(),
        cwd,
        inherited: Arc::clone(&context.session.config.services.environment),
        environment,
        streams,
        plan,
        network,
    })
}

/// A command outside of the sandbox, without the startup files of a shell if commands in the sandbox may have written them,
/// and the variables that name such files. The user is told once.
fn without_startup_files(context: &ToolContext, argv: &[String]) -> (Vec<String>, Vec<OsString>) {
    let config = &context.session.config;
    let (policy, engine) = (
        &context.settings.sandbox_policy,
        &config.services.engine_files,
    );
    if !is_sandboxed(policy) {
        return (argv.to_vec(), Vec::new());
    }
    let environment = &config.services.environment;
    let writable = WritableFiles::for_policy(policy, &context.settings.cwd, environment, engine);
    let may_write = |path: &Path| writable.may_write(path);
    let variables = writable_startup_variables(environment, &may_write);
    let call = without_writable_startup_files(argv, environment, &may_write);
    let Some((call, file)) = call else {
        return (argv.to_vec(), variables);
    };
    let warned = &context.session.warned_of_startup_files;
    if !warned.swap(true, Ordering::Relaxed) {
        let message = format!(
            "Commands outside of the sandbox run without the startup files of the shell, because commands in the sandbox \
             may write {}.",
            file.display()
        );
        let warning = EventMsg::Warning(WarningEvent { message });
        context.emitter.emit(warning);
    }
    (call, variables)
}

/// The text for the model about a command that did not start.
pub(crate) fn spawn_problem(error: &SpawnError) -> String {
    match error {
        SpawnError::EmptyCommand => error.to_string(),
        error => format!("execution error: {error}"),
    }
}
