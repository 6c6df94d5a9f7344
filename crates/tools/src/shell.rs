//! `shell`: a program with its arguments, run to its end. Also under the older names
//! `container.exec` and `local_shell`.

use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_protocol::{LocalShellAction, LocalShellExecAction};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::call::ToolPayload;
use super::command::{
    ApprovalArguments, AskablePermissions, CommandRequest, approval_properties, run_command,
};
use super::places::ToolEnvironments;
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};

#[derive(Clone, Debug)]
pub(crate) struct ShellTool {
    /// Whether a command may ask for additional permissions.
    pub askable: AskablePermissions,
    pub environments: ToolEnvironments,
}

#[derive(Deserialize)]
struct ShellArguments {
    command: Vec<String>,
    #[serde(default)]
    workdir: Option<String>,
    #[serde(default)]
    environment_id: Option<String>,
    #[serde(default, alias = "timeout")]
    timeout_ms: Option<u64>,
    #[serde(flatten)]
    approval: ApprovalArguments,
}

impl Tool for ShellTool {
    fn spec(&self) -> ToolSpec {
        let mut properties = json!({
            "command": {
                "type": "array",
                "items": { "type": "string" },
                "description": "The program and its arguments, run as they are. For shell syntax \
                                use [\"bash\", \"-lc\", script].",
            },
            "workdir": { "type": "string", "description": "The working folder." },
            "timeout_ms": { "type": "number", "description": "When to kill it. Default: 10000." },
        });
        self.environments.add_property(&mut properties);
        function(
            "shell",
            "Runs a program and answers what it printed. Give workdir rather than using cd.",
            approval_properties(properties, self.askable),
            &["command"],
        )
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let arguments = read(&context)?;
            let place = context.place(arguments.environment_id.as_deref())?;
            let request = CommandRequest {
                cwd: context.folder(&place, &arguments.workdir.unwrap_or_default()),
                place,
                argv: arguments.command,
                timeout: arguments.timeout_ms.map(Duration::from_millis),
                approval: arguments.approval,
                layout: context.layout,
            };
            run_command(&context, request).await
        })
    }
}

fn read(context: &ToolContext) -> Result<ShellArguments, ToolFailure> {
    match &context.call.payload {
        ToolPayload::LocalShell(LocalShellAction::Exec(LocalShellExecAction {
            command,
            timeout_ms,
            working_directory,
            ..
        })) => Ok(ShellArguments {
            command: command.clone(),
            workdir: working_directory.clone(),
            environment_id: None,
            timeout_ms: *timeout_ms,
            approval: ApprovalArguments::default(),
        }),
        _ => arguments(context),
    }
}
