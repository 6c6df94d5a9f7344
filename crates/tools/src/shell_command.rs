//! `shell_command`: a script for the user's shell, run to its end.

use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_shell_command::shell_call;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::command::{
    ApprovalArguments, AskablePermissions, CommandRequest, approval_properties, run_command,
};
use super::command_format::OutputLayout;
use super::places::ToolEnvironments;
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};

#[derive(Clone, Debug)]
pub(crate) struct ShellCommandTool {
    /// Whether a command may ask for additional permissions.
    pub askable: AskablePermissions,
    /// Whether the model may choose a login shell.
    pub login: bool,
    pub environments: ToolEnvironments,
}

#[derive(Deserialize)]
struct ShellCommandArguments {
    command: String,
    #[serde(default)]
    workdir: Option<String>,
    #[serde(default)]
    environment_id: Option<String>,
    #[serde(default, alias = "timeout")]
    timeout_ms: Option<u64>,
    #[serde(default)]
    login: Option<bool>,
    #[serde(flatten)]
    approval: ApprovalArguments,
}

impl Tool for ShellCommandTool {
    fn spec(&self) -> ToolSpec {
        let mut properties = json!({
            "command": { "type": "string", "description": "The script, for the user's shell." },
            "workdir": { "type": "string", "description": "The working folder." },
            "timeout_ms": { "type": "number", "description": "When to kill it. Default: 10000." },
        });
        if self.login {
            properties["login"] = json!({
                "type": "boolean",
                "description": "Whether to run it in a login shell. Default: true.",
            });
        }
        self.environments.add_property(&mut properties);
        function(
            "shell_command",
            "Runs a script in the user's shell and answers what it printed. Give workdir rather \
             than using cd.",
            approval_properties(properties, self.askable),
            &["command"],
        )
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let allowed = self.login;
        Box::pin(async move {
            let arguments: ShellCommandArguments = arguments(&context)?;
            let login = login(arguments.login, allowed)?;
            let place = context.place(arguments.environment_id.as_deref())?;
            let shell = context.shell(&place).await?;
            let request = CommandRequest {
                argv: shell_call(&shell, &arguments.command, login),
                cwd: context.folder(&place, &arguments.workdir.unwrap_or_default()),
                place,
                timeout: arguments.timeout_ms.map(Duration::from_millis),
                approval: arguments.approval,
                layout: OutputLayout::Plain,
            };
            run_command(&context, request).await
        })
    }
}

/// Whether to use a login shell: as asked, if that is allowed.
pub(crate) fn login(asked: Option<bool>, allowed: bool) -> Result<bool, ToolFailure> {
    match asked {
        Some(true) if !allowed => Err(ToolFailure::Model(
            "login shell is disabled by config; omit `login` or set it to false.".to_owned(),
        )),
        asked => Ok(asked.unwrap_or(allowed)),
    }
}
