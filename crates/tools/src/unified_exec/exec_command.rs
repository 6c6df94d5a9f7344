//! `exec_command`: starts a command and returns when it ends or the wait is over.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{NetworkLog, StreamSetup, TerminalSize};
use codex_gate::{CommandEffect, Effect, Permit, check_arguments};
use codex_model_client::ToolSpec;
use codex_protocol::ExecCommandSource;
use codex_session_base::gate::Denied;
use codex_session_base::input::Input;
use codex_session_base::machines::RemotePlace;
use codex_session_base::ports::RunningProcess;
use codex_session_base::turn_rights::TurnRights;
use codex_shell_command::{is_shell, shell_call};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use super::output::{read, wait};
use crate::apply_patch;
use crate::arguments::{arguments, function};
use crate::command::{
    ApprovalArguments, AskablePermissions, DECLINED_MESSAGE, approval_properties, command_item,
    effect, launch, spawn_problem,
};
use crate::command_format::OutputLayout;
use crate::command_item::CommandItem;
use crate::places::{CallPlace, ToolEnvironments};
use crate::remote_command::{RemoteCall, start_there};
use crate::shell_command::login;
use crate::terminals::WARN_AT;
use crate::terminals::{DeniedCommand, StartedCommand, Terminal};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};
use crate::turn_checkpoints::WatchedCommand;

/// The shortest and the longest wait in milliseconds.
const MIN_WAIT_MS: u64 = 250;
const MAX_WAIT_MS: u64 = 30_000;
const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// Variables for commands that have no real terminal.
const VARIABLES: [(&str, &str); 10] = [
    ("CODEX_CI", "1"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("LANG", "C.UTF-8"),
    ("LC_CTYPE", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("COLORTERM", ""),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
];

#[derive(Clone, Debug)]
pub(crate) struct ExecCommandTool {
    /// Whether a command may ask for additional permissions.
    pub askable: AskablePermissions,
    /// Whether the model may choose a login shell.
    pub login: bool,
    pub environments: ToolEnvironments,
}

#[derive(Deserialize)]
struct ExecCommandArguments {
    cmd: String,
    #[serde(default)]
    workdir: Option<String>,
    #[serde(default)]
    environment_id: Option<String>,
    #[serde(default)]
    shell: Option<String>,
    #[serde(default)]
    login: Option<bool>,
    #[serde(default)]
    tty: bool,
    #[serde(default)]
    yield_time_ms: Option<u64>,
    #[serde(default)]
    max_output_tokens: Option<u64>,
    #[serde(flatten)]
    approval: ApprovalArguments,
}

impl Tool for ExecCommandTool {
    fn spec(&self) -> ToolSpec {
        let mut properties = json!({
            "cmd": { "type": "string", "description": "The script." },
            "workdir": { "type": "string", "description": "The working folder." },
            "shell": { "type": "string", "description": "The shell, if not the user's." },
            "tty": {
                "type": "boolean",
                "description": "Whether it gets a terminal, which takes input. Default: false.",
            },
            "yield_time_ms": {
                "type": "number",
                "description": "The wait for its end. Default: 10000.",
            },
            "max_output_tokens": {
                "type": "number",
                "description": "Default: 10000.",
            },
        });
        if self.login {
            properties["login"] = json!({
                "type": "boolean",
                "description": "Whether in a login shell. Default: true.",
            });
        }
        self.environments.add_property(&mut properties);
        function(
            "exec_command",
            "Runs a script. If it outlasts the wait it goes on, and its session ID for write_stdin is \
             answered.",
            approval_properties(properties, self.askable),
            &["cmd"],
        )
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let login = self.login;
        Box::pin(async move { exec(&context, login).await })
    }
}

async fn exec(context: &ToolContext, login_allowed: bool) -> ToolResult {
    let arguments: ExecCommandArguments = arguments(context)?;
    let login = login(arguments.login, login_allowed)?;
    let place = context.place(arguments.environment_id.as_deref())?;
    let own = context.shell(&place).await?;
    let shell = arguments
        .shell
        .clone()
        .filter(|shell| is_shell(shell))
        .unwrap_or(own);
    let argv = shell_call(&shell, &arguments.cmd, login);
    let cwd = context.folder(&place, arguments.workdir.as_deref().unwrap_or_default());
    if let Some(patch) = apply_patch::intercept(&argv, &cwd) {
        return apply_patch::run_intercepted(context, &place, patch, OutputLayout::Json).await;
    }
    // The model knows the command.
    let failed = |why: &str| ToolFailure::Model(format!("exec_command failed: {why}"));
    let effect = effect(
        context,
        &argv,
        cwd.clone(),
        &arguments.approval,
        &place,
        Some(arguments.tty),
    )?;
    let turn_policy = context.settings.turn_policy(&context.session.config);
    check_arguments(&effect, &turn_policy).map_err(|refused| ToolFailure::Model(refused.0))?;
    // Until it is approved, nothing is emitted but that it was declined.
    let waiting = never_begun(context, &argv, &cwd, &place);
    let permit = match context.gate().permit(Effect::Command(effect.clone())).await {
        Ok(permit) => {
            waiting.discard();
            permit
        }
        Err(Denied::Refused(reason)) => {
            waiting.discard();
            return Err(failed(&reason));
        }
        Err(Denied::Reviewed(reason)) => {
            waiting.decline(&reason);
            return Err(failed(&reason));
        }
        Err(Denied::Declined | Denied::Cancelled) => {
            waiting.decline(DECLINED_MESSAGE);
            return Err(failed("rejected by user"));
        }
        Err(Denied::Aborted) => return Err(ToolFailure::Aborted),
    };
    let wait_limit = arguments
        .yield_time_ms
        .unwrap_or(10_000)
        .clamp(MIN_WAIT_MS, MAX_WAIT_MS);
    let run = ExecCommandCall {
        context,
        argv,
        cwd,
        place,
        tty: arguments.tty,
        wait_limit: Duration::from_millis(wait_limit),
        max_tokens: arguments.max_output_tokens,
    };
    match run.through(effect, permit).await {
        Ok(output) => text(output),
        Err(ExecFailure::Reason(why)) => Err(failed(&why)),
        Err(ExecFailure::Aborted) => Err(ToolFailure::Aborted),
    }
}

/// A call of the tool.
struct ExecCommandCall<'a> {
    context: &'a ToolContext,
    argv: Vec<String>,
    cwd: PathBuf,
    place: CallPlace,
    tty: bool,
    wait_limit: Duration,
    max_tokens: Option<u64>,
}

enum ExecFailure {
    Reason(String),
    Aborted,
}

impl ExecCommandCall<'_> {
    /// Runs the command. If the sandbox seems to have stopped it during the wait, runs it again without
    /// sandbox, if that is permitted.
    async fn through(&self, effect: CommandEffect, permit: Permit) -> Result<String, ExecFailure> {
        let id = self.context.services.terminals.fresh_id();
        let (tell, mut denied) = oneshot::channel();
        let confined = permit.is_confined();
        let begin = || item(self.context, &self.argv, &self.cwd, &self.place, id);
        let tell = confined.then_some(tell);
        let first = self.start(id, &effect, &permit, tell, begin).await?;
        let elapsed = self.wait_for(&first).await;
        denied.close();
        let Ok(DeniedCommand { item, end }) = denied.try_recv() else {
            return Ok(self.read(&first, elapsed));
        };
        match self
            .context
            .gate()
            .permit_retry(effect.clone(), permit)
            .await
        {
            Ok(Some(permit)) => {
                self.context.services.terminals.remove(id);
                let second = self.start(id, &effect, &permit, None, || item).await?;
                let elapsed = self.wait_for(&second).await;
                Ok(self.read(&second, elapsed))
            }
            Ok(None) => {
                item.end(end);
                Ok(self.read(&first, elapsed))
            }
            Err(stopped) => {
                self.context.services.terminals.remove(id);
                match stopped {
                    Denied::Refused(reason) | Denied::Reviewed(reason) => {
                        item.decline(&reason);
                        Err(ExecFailure::Reason(reason))
                    }
                    Denied::Declined | Denied::Cancelled => {
                        item.decline(DECLINED_MESSAGE);
                        Err(ExecFailure::Reason("rejected by user".to_owned()))
                    }
                    Denied::Aborted => {
                        item.decline("");
                        Err(ExecFailure::Aborted)
                    }
                }
            }
        }
    }

    /// Waits for the end of the command or of the wait, and records what has changed.
    async fn wait_for(&self, terminal: &Terminal) -> Duration {
        let elapsed = wait(self.context, terminal.until_reported(), self.wait_limit).await;
        if !terminal.roots.is_empty() {
            let call = &self.context.call;
            self.context.checkpoint.after_command(&call.id).await;
        }
        elapsed
    }

    fn read(&self, terminal: &Terminal, elapsed: Duration) -> String {
        read(self.context, terminal, elapsed, self.max_tokens)
    }

    async fn start(
        &self,
        id: i32,
        effect: &CommandEffect,
        permit: &Permit,
        denied: Option<oneshot::Sender<DeniedCommand>>,
        begin: impl FnOnce() -> CommandItem,
    ) -> Result<Arc<Terminal>, ExecFailure> {
        let context = self.context;
        let BegunCommand {
            process,
            item,
            watched,
            network,
        } = match &self.place {
            CallPlace::There(place) => self.start_there(place, id, permit, begin()).await?,
            CallPlace::Here => self.start_here(effect, permit, begin).await?,
        };
        let started = StartedCommand {
            process,
            item,
            rights: TurnRights::for_turn(&context.settings),
            denied,
            watched,
            network,
        };
        let (argv, clock) = (self.argv.clone(), context.session.clock.clone());
        let cwd = self.cwd.clone();
        let terminal = Terminal::watch(id, argv, cwd, self.tty, &context.call.id, started, clock);
        let open = context.services.terminals.add(Arc::clone(&terminal));
        warn_of_many(context, open);
        Ok(terminal)
    }

    /// Begun before it starts, so that it is seen while it waits for a connection.
    async fn start_there(
        &self,
        place: &RemotePlace,
        id: i32,
        permit: &Permit,
        mut item: CommandItem,
    ) -> Result<BegunCommand, ExecFailure> {
        item.set_running();
        let command = RemoteCall {
            number: id,
            argv: &self.argv,
            cwd: &self.cwd,
            has_terminal: self.tty,
            variables: &VARIABLES,
        };
        match start_there(self.context, place, permit, command).await {
            Ok(process) => Ok(BegunCommand {
                process,
                item,
                watched: None,
                network: NetworkLog::default(),
            }),
            Err(why) => Err(not_started(item, why)),
        }
    }

    async fn start_here(
        &self,
        effect: &CommandEffect,
        permit: &Permit,
        begin: impl FnOnce() -> CommandItem,
    ) -> Result<BegunCommand, ExecFailure> {
        let context = self.context;
        let size = TerminalSize::new(ROWS, COLUMNS).filter(|_| self.tty);
        let streams = size.map_or(StreamSetup::OutputOnly, StreamSetup::Terminal);
        let cwd = self.cwd.clone();
        let launch = match launch(context, &self.argv, cwd, permit, streams, &VARIABLES) {
            Ok(launch) => launch,
            Err(why) => return Err(not_started(begin(), why)),
        };
        let network = launch.network.log.clone();
        let turn_policy = context.settings.turn_policy(&context.session.config);
        let checkpoint = &context.checkpoint;
        let watched = checkpoint
            .before_command(effect, &turn_policy, permit)
            .await;
        // Begun before it starts, so that it has an end also if the turn is stopped in between.
        let mut item = begin();
        item.set_running();
        let process = match context.session.processes.start(launch).await {
            Ok(process) => process,
            Err(error) => return Err(not_started(item, spawn_problem(&error))),
        };
        Ok(BegunCommand {
            process,
            item,
            watched,
            network,
        })
    }
}

/// A command that has begun and runs.
struct BegunCommand {
    process: RunningProcess,
    item: CommandItem,
    watched: Option<WatchedCommand>,
    network: NetworkLog,
}

/// The command was allowed, and could not be started: it has an end, as one that ran.
fn not_started(item: CommandItem, why: String) -> ExecFailure {
    item.fail(&why);
    ExecFailure::Reason(why)
}

fn warn_of_many(context: &ToolContext, open: usize) {
    if open < WARN_AT {
        return;
    }
    let warning = format!(
        "Warning: The maximum number of unified exec processes you can keep open is {WARN_AT} \
         and you currently have {open} processes open. Reuse older processes or close them to \
         prevent automatic pruning of old processes"
    );
    let item = codex_session_base::history::user_message([warning]);
    let _ = context.input_queue.put(Input::Note(Box::new(item)));
}

fn item(
    context: &ToolContext,
    argv: &[String],
    cwd: &Path,
    place: &CallPlace,
    id: i32,
) -> CommandItem {
    command_item(
        context,
        argv,
        cwd,
        place,
        ExecCommandSource::UnifiedExecStartup,
        Some(id.to_string()),
    )
    .begin()
}

/// A command that has not begun: only its end is emitted, if it is declined.
fn never_begun(
    context: &ToolContext,
    argv: &[String],
    cwd: &Path,
    place: &CallPlace,
) -> CommandItem {
    command_item(context, argv, cwd, place, ExecCommandSource::Agent, None)
}
