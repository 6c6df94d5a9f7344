//! Checks of the arguments of a command, before the command itself is checked.

use codex_protocol::AskForApproval;

use super::effect::{CommandEffect, SandboxPermissions};
use super::turn_policy::TurnPolicy;

/// Why the arguments of a command are refused, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgumentsRefused(pub String);

/// Refuses requests for permissions that the policies do not allow.
///
/// # Errors
/// They do not.
pub fn check_arguments(
    command: &CommandEffect,
    turn_policy: &TurnPolicy,
) -> Result<(), ArgumentsRefused> {
    refusal(command, turn_policy).map_err(ArgumentsRefused)
}

fn refusal(command: &CommandEffect, turn_policy: &TurnPolicy) -> Result<(), String> {
    if command.permissions == SandboxPermissions::UseDefault {
        return Ok(());
    }
    let policy = policy_name(turn_policy.approval);
    let on_request = turn_policy.approval == AskForApproval::OnRequest;
    if command.permissions == SandboxPermissions::RequireEscalated {
        let word = if command.tty.is_some() {
            "cannot"
        } else {
            "should not"
        };
        return on_request.then_some(()).ok_or_else(|| {
            format!(
                "approval policy is {policy}; reject command — you {word} ask for escalated \
                 permissions if the approval policy is {policy}"
            )
        });
    }
    if !turn_policy.inline_permissions {
        return Err("additional permissions are disabled; enable \
                    `features.exec_permission_approvals` before using `with_additional_permissions`"
            .to_owned());
    }
    if !on_request {
        return Err(format!(
            "approval policy is {policy}; reject command — you cannot request additional \
             permissions unless the approval policy is OnRequest"
        ));
    }
    let Some(additional) = &command.additional else {
        return Err(
            "missing `additional_permissions`; provide at least one of `network`, \
                    `file_system`, or `macos` when using `with_additional_permissions`"
                .to_owned(),
        );
    };
    let wants_network = additional
        .network
        .is_some_and(|network| network.enabled == Some(true));
    if wants_network && let Some(problem) = turn_policy.network_problem() {
        return Err(format!(
            "`additional_permissions.network` cannot be given. {problem}"
        ));
    }
    let asks = |paths: &Option<Vec<_>>| paths.as_ref().is_some_and(|paths| !paths.is_empty());
    let files = additional.file_system.as_ref();
    let any = wants_network || files.is_some_and(|files| asks(&files.read) || asks(&files.write));
    if !any {
        return Err(
            "`additional_permissions` must include at least one requested permission in \
                    `network`, `file_system`, or `macos`"
                .to_owned(),
        );
    }
    Ok(())
}

/// The name of a policy in error messages.
fn policy_name(policy: AskForApproval) -> String {
    match policy {
        AskForApproval::UnlessTrusted => "UnlessTrusted".to_owned(),
        AskForApproval::OnFailure => "OnFailure".to_owned(),
        AskForApproval::OnRequest => "OnRequest".to_owned(),
        AskForApproval::Never => "Never".to_owned(),
        AskForApproval::Granular(granular) => format!(
            "Granular(GranularApprovalConfig {{ sandbox_approval: {}, rules: {}, skill_approval: \
             {}, request_permissions: {}, mcp_elicitations: {} }})",
            granular.sandbox_approval,
            granular.rules,
            granular.skill_approval,
            granular.request_permissions,
            granular.mcp_elicitations
        ),
    }
}
