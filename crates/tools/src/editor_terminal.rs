//! The tool of an editor that runs a command in one of its terminals.
//!
//! The terminal is only where the command runs. Whether it may run is decided here, as about any command that leaves the
//! sandbox: by rules, policy and people, and hooks see it as a command. A limit that holds without the sandbox too cannot be
//! enforced there, so it closes the tool.

use codex_gate::{CommandEffect, Effect, SandboxPermissions};
use codex_sandbox::LaunchPlan;
use codex_session_base::gate::Denied;
use codex_system::facts::TERMINAL_SHELL;
use serde_json::Value;

use super::command::DECLINED_MESSAGE;
use super::tool::{ToolContext, ToolFailure};

/// Waits until the command of a call may run.
pub(super) async fn permit(context: &ToolContext, arguments: &Value) -> Result<(), ToolFailure> {
    let Some(command) = arguments["command"].as_str() else {
        let problem = "the arguments have no `command`";
        return Err(ToolFailure::Model(problem.to_owned()));
    };
    let effect = CommandEffect {
        argv: (TERMINAL_SHELL.iter().copied())
            .chain([command])
            .map(str::to_owned)
            .collect(),
        machine: None,
        cwd: context.settings.cwd.clone(),
        permissions: SandboxPermissions::RequireEscalated,
        additional: None,
        justification: None,
        prefix_rule: None,
        tty: None,
        in_editor: true,
    };
    let permit = context.gate().permit(Effect::Command(effect)).await;
    let permit = permit.map_err(|denied| match denied {
        Denied::Refused(reason) | Denied::Reviewed(reason) => ToolFailure::Model(reason),
        Denied::Declined | Denied::Cancelled => ToolFailure::Model(DECLINED_MESSAGE.to_owned()),
        Denied::Aborted => ToolFailure::Aborted,
    })?;
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let levels = context.session.processes.levels();
    match turn_policy.plan(&permit, levels) {
        Ok(LaunchPlan::Unconfined) => Ok(()),
        Ok(_) | Err(_) => Err(ToolFailure::Model(
            "the command was not run, because what limits it cannot be enforced in a terminal of the editor; \
             use another tool"
                .to_owned(),
        )),
    }
}
