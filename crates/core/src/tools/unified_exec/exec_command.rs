//! `exec_command`: starts a command and answers when it ends or the wait is over.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{Streams, TerminalSize};
use codex_model_client::ToolSpec;
use codex_protocol::ExecCommandSource;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use super::output::{read, wait};
use super::terminal::{Denial, Started, Terminal};
use super::terminals::WARN_AT;
use crate::gate::{CommandEffect, Confinement, Effect, Pass, Stopped, check_arguments};
use crate::tools::arguments::{arguments, function};
use crate::tools::command::{
    ApprovalArguments, CommandItem, DECLINED, Layout, approval_properties, effect, launch,
    shell_argv, spawn_problem,
};
use crate::tools::shell_command::login;
use crate::tools::{Tool, ToolContext, ToolFailure, ToolResult, apply_patch, text};
use crate::turn::Input;

/// The shortest and the longest wait.
const SHORTEST: u64 = 250;
const LONGEST: u64 = 30_000;
const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// What commands are told about the terminal that is none.
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecCommandTool {
    /// Whether commands may bring a wish for permissions along.
    pub(crate) inline_permissions: bool,
    /// Whether the model may choose a login shell.
    pub(crate) login: bool,
}

#[derive(Deserialize)]
struct Arguments {
    cmd: String,
    #[serde(default)]
    workdir: Option<String>,
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
                "description": "Whether to give it a terminal, which takes input. Default: false.",
            },
            "yield_time_ms": {
                "type": "number",
                "description": "How long to wait for its end. Default: 10000.",
            },
            "max_output_tokens": {
                "type": "number",
                "description": "How much output to answer. Default: 10000.",
            },
        });
        if self.login {
            properties["login"] = json!({
                "type": "boolean",
                "description": "Whether to run it in a login shell. Default: true.",
            });
        }
        function(
            "exec_command",
            "Runs a script. If it has not ended when the wait is over it goes on, and its session ID \
             is answered for write_stdin.",
            approval_properties(properties, self.inline_permissions),
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
    let arguments: Arguments = arguments(context)?;
    let login = login(arguments.login, login_allowed)?;
    let own = context.settings.shell.display().to_string();
    let shell = arguments
        .shell
        .clone()
        .filter(|shell| is_shell(shell))
        .unwrap_or(own);
    let argv = shell_argv(&shell, &arguments.cmd, login);
    let cwd = context
        .settings
        .resolve(arguments.workdir.as_deref().unwrap_or_default());
    if let Some(patch) = apply_patch::intercept(&argv, &cwd) {
        return apply_patch::run_intercepted(context, patch, Layout::Json).await;
    }
    let failed = |why: &str| {
        ToolFailure::Model(format!(
            "exec_command failed for `{}`: {why}",
            arguments.cmd
        ))
    };
    let effect = effect(
        context,
        &argv,
        cwd.clone(),
        &arguments.approval,
        Some(arguments.tty),
    );
    let posture = context.services.posture(&context.settings);
    check_arguments(&effect, &posture).map_err(ToolFailure::Model)?;
    // Until people have agreed there is nothing to tell but that they did not.
    let waiting = never_begun(context, &argv, &cwd);
    let pass = match context.gate().pass(Effect::Command(effect.clone())).await {
        Ok(pass) => {
            waiting.untold();
            pass
        }
        Err(Stopped::Refused(reason)) => {
            waiting.untold();
            return Err(failed(&reason));
        }
        Err(Stopped::Declined | Stopped::Cancelled) => {
            waiting.decline(DECLINED);
            return Err(failed("rejected by user"));
        }
        Err(Stopped::Aborted) => return Err(ToolFailure::Aborted),
    };
    let patience = arguments
        .yield_time_ms
        .unwrap_or(10_000)
        .clamp(SHORTEST, LONGEST);
    let run = Run {
        context,
        argv,
        cwd,
        tty: arguments.tty,
        patience: Duration::from_millis(patience),
        max_tokens: arguments.max_output_tokens,
    };
    match run.through(effect, pass).await {
        Ok(said) => text(said),
        Err(Failed::Because(why)) => Err(failed(&why)),
        Err(Failed::Aborted) => Err(ToolFailure::Aborted),
    }
}

/// One call.
struct Run<'a> {
    context: &'a ToolContext,
    argv: Vec<String>,
    cwd: PathBuf,
    tty: bool,
    patience: Duration,
    max_tokens: Option<u64>,
}

enum Failed {
    Because(String),
    Aborted,
}

impl Run<'_> {
    /// Runs the command, and once more without sandbox if the sandbox seems to have stopped it while
    /// the model waited and that is allowed.
    async fn through(&self, effect: CommandEffect, pass: Pass) -> Result<String, Failed> {
        let id = self.context.services.terminals.fresh_id();
        let (tell, mut denied) = oneshot::channel();
        let confined = matches!(pass.confinement, Confinement::Policy(_));
        let begin = || {
            item(
                self.context,
                &self.argv,
                &self.cwd.display().to_string(),
                id,
            )
        };
        let tell = confined.then_some(tell);
        let first = self.start(id, &pass, tell, begin).await?;
        let elapsed = wait(self.context, first.until_told(), self.patience).await;
        denied.close();
        let Ok(Denial { item, end }) = denied.try_recv() else {
            return Ok(self.read(&first, elapsed));
        };
        match self.context.gate().pass_again(effect, pass).await {
            Ok(Some(pass)) => {
                self.context.services.terminals.remove(id);
                let second = self.start(id, &pass, None, || item).await?;
                let elapsed = wait(self.context, second.until_told(), self.patience).await;
                Ok(self.read(&second, elapsed))
            }
            Ok(None) => {
                item.end(end);
                Ok(self.read(&first, elapsed))
            }
            Err(stopped) => {
                self.context.services.terminals.remove(id);
                match stopped {
                    Stopped::Refused(reason) => {
                        item.decline(&reason);
                        Err(Failed::Because(reason))
                    }
                    Stopped::Declined | Stopped::Cancelled => {
                        item.decline(DECLINED);
                        Err(Failed::Because("rejected by user".to_owned()))
                    }
                    Stopped::Aborted => {
                        item.decline("");
                        Err(Failed::Aborted)
                    }
                }
            }
        }
    }

    fn read(&self, terminal: &Terminal, elapsed: Duration) -> String {
        read(self.context, terminal, elapsed, self.max_tokens)
    }

    async fn start(
        &self,
        id: i32,
        pass: &Pass,
        denied: Option<oneshot::Sender<Denial>>,
        begin: impl FnOnce() -> CommandItem,
    ) -> Result<Arc<Terminal>, Failed> {
        let context = self.context;
        let size = TerminalSize::new(ROWS, COLUMNS).filter(|_| self.tty);
        let streams = size.map_or(Streams::Output, Streams::Terminal);
        let cwd = self.cwd.clone();
        let launch = launch(context, &self.argv, cwd.clone(), pass, streams, &VARIABLES);
        let launch = launch.map_err(Failed::Because)?;
        let process = context.services.processes.start(launch).await;
        let process = process.map_err(|error| Failed::Because(spawn_problem(&error)))?;
        let mut item = begin();
        item.runs();
        let started = Started {
            process,
            item,
            denied,
        };
        let (argv, clock) = (self.argv.clone(), context.services.clock.clone());
        let terminal = Terminal::watch(id, argv, cwd, self.tty, &context.call.id, started, clock);
        let open = context.services.terminals.add(Arc::clone(&terminal));
        warn_of_many(context, open);
        Ok(terminal)
    }
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
    let item = crate::context::user_message([warning]);
    let _ = context.inbox.put(Input::Silent(Box::new(item)));
}

fn item(context: &ToolContext, argv: &[String], cwd: &str, id: i32) -> CommandItem {
    CommandItem::new(
        context.voice.clone(),
        context.services.clock.clone(),
        &context.call.id,
        argv,
        cwd.to_owned(),
        ExecCommandSource::UnifiedExecStartup,
        Some(id.to_string()),
    )
    .begins()
}

/// A command that has not begun: all that is told of it is its end, if people do not let it.
fn never_begun(context: &ToolContext, argv: &[String], cwd: &Path) -> CommandItem {
    CommandItem::new(
        context.voice.clone(),
        context.services.clock.clone(),
        &context.call.id,
        argv,
        cwd.display().to_string(),
        ExecCommandSource::Agent,
        None,
    )
}

/// Whether a program is a shell whose scripts can be read.
fn is_shell(program: &str) -> bool {
    let stem = std::path::Path::new(program)
        .file_stem()
        .and_then(|stem| stem.to_str());
    matches!(stem, Some("bash" | "zsh" | "sh"))
}
