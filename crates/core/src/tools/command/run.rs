//! One command from the call to its output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{Chunk, Launch, SpawnError, Streams};
use codex_protocol::ExecCommandSource;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::format::{Ending, Kept, Layout, Outcome};
use super::item::CommandItem;
use super::request::ApprovalArguments;
use crate::gate::{
    CommandEffect, Confinement, Effect, Pass, Posture, SandboxPermissions, Stopped, check_arguments,
};
use crate::ports::RunningProcess;
use crate::tools::{ToolContext, ToolFailure, ToolResult, apply_patch, text};

/// How long a command may run unless told.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long streams may stay open after the command has ended.
const LINGER: Duration = Duration::from_secs(2);
/// The same after the whole tree was killed.
const AFTER_KILL: Duration = Duration::from_millis(100);

/// What people who say no make the model read.
pub(crate) const DECLINED: &str = "exec command rejected by user";

/// A command as a tool was asked for it.
#[derive(Debug)]
pub(crate) struct CommandRequest {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) timeout: Option<Duration>,
    pub(crate) approval: ApprovalArguments,
    pub(crate) layout: Layout,
}

/// Runs a command, through the gate.
pub(crate) async fn run_command(context: &ToolContext, request: CommandRequest) -> ToolResult {
    if request.argv.is_empty() {
        return Err(ToolFailure::Model("command args are empty".to_owned()));
    }
    if let Some(patch) = apply_patch::intercept(&request.argv, &request.cwd) {
        return apply_patch::run_intercepted(context, patch, request.layout).await;
    }
    let effect = effect(
        context,
        &request.argv,
        request.cwd.clone(),
        &request.approval,
        None,
    );
    let posture = context.services.posture(&context.settings);
    check_arguments(&effect, &posture).map_err(ToolFailure::Model)?;
    let mut item = CommandItem::new(
        context.voice.clone(),
        context.services.clock.clone(),
        &context.call.id,
        &request.argv,
        request.cwd.display().to_string(),
        ExecCommandSource::Agent,
        None,
    )
    .begins();
    let pass = match context.gate().pass(Effect::Command(effect.clone())).await {
        Ok(pass) => pass,
        Err(stopped) => return Err(decline(item, stopped)),
    };
    item.runs();
    let first = match attempt(context, &request, &pass, &mut item).await {
        Ok(outcome) => outcome,
        Err(problem) => {
            item.fail(&problem);
            return Err(ToolFailure::Model(problem));
        }
    };
    let outcome = match again(context, &request, effect, pass, &first, &mut item).await {
        Ok(second) => second.unwrap_or(first),
        Err(stopped) => return Err(decline(item, stopped)),
    };
    let policy = context.settings.model.truncation;
    item.end(outcome.end(policy));
    text(outcome.for_model(request.layout, policy))
}

/// The effect that the gate decides about.
pub(crate) fn effect(
    context: &ToolContext,
    argv: &[String],
    cwd: PathBuf,
    approval: &ApprovalArguments,
    tty: Option<bool>,
) -> CommandEffect {
    let additional = approval.additional_permissions.clone();
    let inline = context.services.config.features.exec_permissions;
    let permissions = match (approval.sandbox_permissions, &additional) {
        (SandboxPermissions::UseDefault, Some(_)) if inline => {
            SandboxPermissions::WithAdditionalPermissions
        }
        (permissions, _) => permissions,
    };
    CommandEffect {
        argv: argv.to_vec(),
        cwd,
        permissions,
        additional: additional
            .filter(|_| inline)
            .map(|asked| asked.resolve(context)),
        justification: approval.justification.clone(),
        prefix_rule: approval.prefix_rule.clone(),
        tty,
    }
}

/// Says that the command does not run, or not again.
fn decline(item: CommandItem, stopped: Stopped) -> ToolFailure {
    match stopped {
        Stopped::Refused(reason) => {
            item.decline(&reason);
            ToolFailure::Model(reason)
        }
        Stopped::Declined | Stopped::Cancelled => {
            item.decline(DECLINED);
            ToolFailure::Model(DECLINED.to_owned())
        }
        Stopped::Aborted => {
            item.decline("");
            ToolFailure::Aborted
        }
    }
}

/// Runs the command without sandbox if the sandbox seems to have stopped it and that is allowed.
async fn again(
    context: &ToolContext,
    request: &CommandRequest,
    effect: CommandEffect,
    pass: Pass,
    first: &Outcome,
    item: &mut CommandItem,
) -> Result<Option<Outcome>, Stopped> {
    let confined = matches!(pass.confinement, Confinement::Policy(_));
    let text = [first.stdout.as_bytes(), first.stderr.as_bytes()].concat();
    let denied = confined
        && !first.timed_out
        && !first.by_signal
        && codex_sandbox::looks_denied(first.exit_code, &text);
    if !denied {
        return Ok(None);
    }
    let Some(pass) = context.gate().pass_again(effect, pass).await? else {
        return Ok(None);
    };
    let second = attempt(context, request, &pass, item).await;
    second.map(Some).map_err(Stopped::Refused)
}

/// Runs the command once.
pub(crate) async fn attempt(
    context: &ToolContext,
    request: &CommandRequest,
    pass: &Pass,
    item: &mut CommandItem,
) -> Result<Outcome, String> {
    let launch = launch(
        context,
        &request.argv,
        request.cwd.clone(),
        pass,
        Streams::Output,
        &[],
    )?;
    let clock = context.services.clock.as_ref();
    let started = clock.elapsed();
    let process = context.services.processes.start(launch).await;
    let RunningProcess {
        mut owner,
        mut output,
        ..
    } = process.map_err(|error| spawn_problem(&error))?;
    let mut kept = Kept::default();
    let ending = {
        let mut pump = pin!(pump(&mut output, &mut kept, item));
        let mut pumped = false;
        let ending = {
            let mut ended = owner.ended();
            let limit = request.timeout.unwrap_or(TIMEOUT);
            let mut time_is_up = pin!(context.services.holds.limit(clock, limit));
            loop {
                tokio::select! {
                    biased;
                    () = &mut time_is_up => break Ending::TimedOut,
                    status = &mut ended => break Ending::Exited(status),
                    () = &mut pump, if !pumped => pumped = true,
                }
            }
        };
        let patience = match ending {
            Ending::Exited(_) => LINGER,
            Ending::TimedOut => {
                owner.kill().await;
                AFTER_KILL
            }
        };
        if !pumped {
            tokio::select! {
                biased;
                () = pump => {}
                () = clock.sleep(patience) => {}
            }
        }
        ending
    };
    let elapsed = clock.elapsed().saturating_sub(started);
    Ok(Outcome::of(ending, kept, elapsed))
}

async fn pump(output: &mut BoxStream<'static, Chunk>, kept: &mut Kept, item: &mut CommandItem) {
    while let Some(chunk) = output.next().await {
        kept.push(&chunk);
        item.output(chunk).await;
    }
}

/// How a command is to be launched.
pub(crate) fn launch(
    context: &ToolContext,
    argv: &[String],
    cwd: PathBuf,
    pass: &Pass,
    streams: Streams,
    variables: &[(&str, &str)],
) -> Result<Launch, String> {
    let posture = context.services.posture(&context.settings);
    let plan = posture
        .plan(&pass.confinement, context.services.processes.levels())
        .map_err(|refusal| {
            format!("the command was not run, because its sandbox cannot be enforced: {refusal}")
        })?;
    Ok(Launch {
        command: argv.iter().map(OsString::from).collect(),
        cwd,
        inherited: Arc::clone(&context.services.config.environment),
        environment: own_variables(context, &posture, variables),
        streams,
        plan,
    })
}

/// The variables that a command has from us.
fn own_variables(
    context: &ToolContext,
    posture: &Posture,
    more: &[(&str, &str)],
) -> Vec<(OsString, OsString)> {
    let thread = context.services.emitter.thread().as_str();
    let network = ("CODEX_SANDBOX_NETWORK_DISABLED", "1");
    let network = posture.network_is_restricted().then_some(network);
    let own = [("CODEX_THREAD_ID", thread)].into_iter().chain(network);
    own.chain(more.iter().copied())
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// What the model is told about a command that did not start.
pub(crate) fn spawn_problem(error: &SpawnError) -> String {
    match error {
        SpawnError::EmptyCommand => error.to_string(),
        error => format!("execution error: {error}"),
    }
}
