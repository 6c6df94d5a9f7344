//! Converts approvals of the engine to permission requests: the options, and the decision for each. Pure.

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, ToolCall, ToolCallStatus,
    ToolKind,
};
use codex_app_server_protocol::v2::{
    CommandExecutionApprovalDecision as Decision, CommandExecutionRequestApprovalParams,
    FileChangeRequestApprovalParams, PermissionsRequestApprovalParams,
};
use codex_client::question_texts;
use codex_protocol::NetworkPolicyRuleAction;
use codex_shell_command::quote_command;
use codex_visible_text::visible_line;
use serde_json::{Value, json};

use crate::call_content::text;
use crate::command_calls;

/// The options of a permission request, with the reply to the engine for each.
#[derive(Debug)]
pub(crate) struct PermissionChoices {
    options: Vec<(PermissionOption, Value)>,
    /// For an unknown option or an error.
    refusal: Value,
    /// For a cancelled prompt.
    cancel: Value,
}

impl PermissionChoices {
    pub(crate) fn options(&self) -> Vec<PermissionOption> {
        self.options
            .iter()
            .map(|(option, _)| option.clone())
            .collect()
    }

    /// The reply to the engine. It depends on the id of the option, not on its kind.
    pub(crate) fn answer(&self, outcome: Option<&RequestPermissionOutcome>) -> Value {
        let chosen = match outcome {
            Some(RequestPermissionOutcome::Cancelled) => return self.cancel.clone(),
            Some(RequestPermissionOutcome::Selected(chosen)) => &chosen.option_id,
            _ => return self.refusal.clone(),
        };
        let found = self
            .options
            .iter()
            .find(|(option, _)| option.option_id == *chosen);
        found.map_or_else(|| self.refusal.clone(), |(_, answer)| answer.clone())
    }
}

fn option(
    id: impl Into<String>,
    name: impl Into<String>,
    kind: PermissionOptionKind,
) -> PermissionOption {
    PermissionOption::new(id.into(), name, kind)
}

fn decided(decision: impl serde::Serialize) -> Value {
    json!({ "decision": decision })
}

/// The command or network connection as a pending tool call.
pub(crate) fn command_call(params: &CommandExecutionRequestApprovalParams) -> ToolCall {
    let call = match (&params.command, &params.network_approval_context) {
        (Some(command), _) => {
            let cwd = params.cwd.as_deref().unwrap_or_default();
            command_calls::question(&params.item_id, command, cwd)
        }
        (None, Some(connection)) => {
            let title = format!("Connect to {}", visible_line(&connection.host));
            ToolCall::new(params.item_id.clone(), title)
                .kind(ToolKind::Execute)
                .raw_input(json!(connection))
        }
        (None, None) => {
            ToolCall::new(params.item_id.clone(), "Run a command").kind(ToolKind::Execute)
        }
    };
    let notice = params.engine_notice.as_deref();
    let justification = params.justification.as_deref();
    pending(call, notice, params.reason.as_deref(), justification)
}

/// Adds what is said about the question.
fn pending(
    call: ToolCall,
    notice: Option<&str>,
    reason: Option<&str>,
    justification: Option<&str>,
) -> ToolCall {
    let texts = question_texts(notice, reason, justification);
    call.status(ToolCallStatus::Pending)
        .content(texts.into_iter().map(text).collect())
}

pub(crate) fn command_choices(params: &CommandExecutionRequestApprovalParams) -> PermissionChoices {
    let mut decisions = match &params.available_decisions {
        Some(decisions) => decisions.clone(),
        None => usual_decisions(params),
    };
    // The engine accepts both refusals for every approval.
    decisions.retain(|decision| !matches!(decision, Decision::Decline | Decision::Cancel));
    decisions.extend([Decision::Decline, Decision::Cancel]);
    let options = decisions.into_iter().enumerate();
    let options =
        options.map(|(index, decision)| (command_option(index, &decision), decided(&decision)));
    PermissionChoices {
        options: options.collect(),
        refusal: decided(Decision::Decline),
        cancel: decided(Decision::Cancel),
    }
}

fn usual_decisions(params: &CommandExecutionRequestApprovalParams) -> Vec<Decision> {
    let mut decisions = vec![Decision::Accept, Decision::AcceptForSession];
    let rule = params.proposed_execpolicy_amendment.iter();
    decisions.extend(rule.map(|rule| Decision::AcceptWithExecpolicyAmendment {
        execpolicy_amendment: rule.clone(),
    }));
    let hosts = params.proposed_network_policy_amendments.iter().flatten();
    decisions.extend(hosts.map(|rule| Decision::ApplyNetworkPolicyAmendment {
        network_policy_amendment: rule.clone(),
    }));
    decisions
}

fn command_option(index: usize, decision: &Decision) -> PermissionOption {
    use PermissionOptionKind as Kind;
    match decision {
        Decision::Accept => option("allow_once", "Yes, once", Kind::AllowOnce),
        Decision::AcceptForSession => option(
            "allow_for_session",
            "Yes, and don't ask again in this session",
            Kind::AllowAlways,
        ),
        Decision::AcceptWithExecpolicyAmendment {
            execpolicy_amendment,
        } => {
            let words = json!(execpolicy_amendment);
            let words = words.as_array().into_iter().flatten();
            let words: Vec<_> = words.filter_map(Value::as_str).collect();
            let prefix = visible_line(&quote_command(&words));
            let name = format!("Yes, and don't ask again for commands that start with `{prefix}`");
            option("accept_execpolicy_amendment", name, Kind::AllowAlways)
        }
        Decision::ApplyNetworkPolicyAmendment {
            network_policy_amendment: rule,
        } => {
            let (name, kind) = match rule.action {
                NetworkPolicyRuleAction::Allow => ("Always allow", Kind::AllowAlways),
                NetworkPolicyRuleAction::Deny => ("Never allow", Kind::RejectAlways),
            };
            option(
                format!("host_rule_{index}"),
                format!("{name} {}", visible_line(&rule.host)),
                kind,
            )
        }
        Decision::Decline => option("reject_once", "No, go on without it", Kind::RejectOnce),
        Decision::Cancel => option(
            "cancel",
            "No, and tell it what to do differently",
            Kind::RejectOnce,
        ),
    }
}

/// A patch that was not sent to the client yet.
pub(crate) fn patch_call(params: &FileChangeRequestApprovalParams) -> ToolCall {
    let call = ToolCall::new(params.item_id.clone(), "Edit files").kind(ToolKind::Edit);
    let notice = params.engine_notice.as_deref();
    pending(call, notice, params.reason.as_deref(), None)
}

pub(crate) fn patch_choices(params: &FileChangeRequestApprovalParams) -> PermissionChoices {
    use PermissionOptionKind as Kind;
    let always = match &params.grant_root {
        Some(root) => format!("Yes, and don't ask again below {}", visible_line(root)),
        None => "Yes, and don't ask again for these files".to_owned(),
    };
    PermissionChoices {
        options: vec![
            (
                option("allow_once", "Yes", Kind::AllowOnce),
                decided("accept"),
            ),
            (
                option("allow_for_session", always, Kind::AllowAlways),
                decided("acceptForSession"),
            ),
            (
                option("reject_once", "No, go on without it", Kind::RejectOnce),
                decided("decline"),
            ),
            (
                option(
                    "cancel",
                    "No, and tell it what to do differently",
                    Kind::RejectOnce,
                ),
                decided("cancel"),
            ),
        ],
        refusal: decided("decline"),
        cancel: decided("cancel"),
    }
}

pub(crate) fn access_call(params: &PermissionsRequestApprovalParams) -> ToolCall {
    let call = ToolCall::new(params.item_id.clone(), "More permissions")
        .kind(ToolKind::Other)
        .raw_input(json!(params.permissions));
    let notice = params.engine_notice.as_deref();
    let justification = params.justification.as_deref();
    pending(call, notice, params.reason.as_deref(), justification)
}

pub(crate) fn access_choices(params: &PermissionsRequestApprovalParams) -> PermissionChoices {
    use PermissionOptionKind as Kind;
    let granted = |scope: &str| json!({ "permissions": params.permissions, "scope": scope });
    let denied = json!({ "permissions": {}, "scope": "turn" });
    PermissionChoices {
        options: vec![
            (
                option("allow_once", "Yes, for this turn", Kind::AllowOnce),
                granted("turn"),
            ),
            (
                option(
                    "allow_for_session",
                    "Yes, for this session",
                    Kind::AllowAlways,
                ),
                granted("session"),
            ),
            (
                option("reject_once", "No", Kind::RejectOnce),
                denied.clone(),
            ),
        ],
        refusal: denied.clone(),
        cancel: denied,
    }
}

/// Options for a call of an MCP tool. `about` says which approvals may be remembered.
pub(crate) fn tool_choices(about: &Value) -> PermissionChoices {
    use PermissionOptionKind as Kind;
    let accepted = |persist: Option<&str>| match persist {
        Some(persist) => {
            json!({ "action": "accept", "content": {}, "_meta": { "persist": persist } })
        }
        None => json!({ "action": "accept", "content": {} }),
    };
    let mut options = vec![(
        option("allow_once", "Yes, once", Kind::AllowOnce),
        accepted(None),
    )];
    let lasting = [
        (
            "session",
            "allow_for_session",
            "Yes, and don't ask again in this session",
        ),
        ("always", "allow_always", "Yes, always"),
    ];
    for (persist, id, name) in lasting {
        let offered = about["persist"].as_array().into_iter().flatten();
        if offered.into_iter().any(|offered| offered == persist) || about["persist"] == persist {
            options.push((option(id, name, Kind::AllowAlways), accepted(Some(persist))));
        }
    }
    let declined = json!({ "action": "decline", "content": null });
    options.push((
        option("reject_once", "No", Kind::RejectOnce),
        declined.clone(),
    ));
    PermissionChoices {
        options,
        refusal: declined,
        cancel: json!({ "action": "cancel", "content": null }),
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
