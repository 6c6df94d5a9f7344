//! Whether a tool of an MCP server may be called.

use codex_protocol::AskForApproval;
use serde_json::Value;

use super::approval_store::{ApprovalKey, ApprovalStore};
use super::decision::{ApprovalReason, ApprovalRequest, Confinement, GateDecision, Permit};
use super::effect::{McpEffect, ToolApproval};
use super::turn_policy::TurnPolicy;

/// Decides by the annotations of the tool and by earlier approvals.
pub(crate) fn decide(
    call: &McpEffect,
    turn_policy: &TurnPolicy,
    approvals: &ApprovalStore,
) -> GateDecision {
    let permit = |approved| Permit {
        confinement: Confinement::None,
        approved,
    };
    let anything_goes = turn_policy.approval == AskForApproval::Never && turn_policy.is_open();
    if anything_goes || call.approval == ToolApproval::Approve {
        return GateDecision::Run(permit(false));
    }
    let mut keys = Vec::new();
    if call.approval == ToolApproval::Auto {
        if !needs_approval(&call.annotations) {
            return GateDecision::Run(permit(false));
        }
        keys.push(ApprovalKey::McpTool {
            server: call.server.clone(),
            app: call.app.as_ref().map(|app| app.id.clone()),
            tool: call.tool.clone(),
        });
        if approvals.is_approved(&keys) {
            return GateDecision::Run(permit(true));
        }
    }
    GateDecision::Ask(ApprovalRequest {
        reason: ApprovalReason::Model,
        amendment: None,
        lifts_sandbox: false,
        offered: Vec::new(),
        keys,
        then: permit(true),
    })
}

/// A missing annotation counts as the dangerous value.
fn needs_approval(annotations: &Value) -> bool {
    let hint = |name: &str| annotations[name].as_bool();
    match (hint("destructiveHint"), hint("readOnlyHint")) {
        (Some(true), _) => true,
        (_, Some(true)) => false,
        (destructive, _) => destructive.unwrap_or(true) || hint("openWorldHint").unwrap_or(true),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_decide_which_tools_need_approval() {
        let table = [
            (Value::Null, true),
            (json!({ "readOnlyHint": true }), false),
            (
                json!({ "readOnlyHint": true, "destructiveHint": true }),
                true,
            ),
            (json!({ "destructiveHint": false }), true),
            (
                json!({ "destructiveHint": false, "openWorldHint": false }),
                false,
            ),
            (
                json!({ "readOnlyHint": false, "openWorldHint": true }),
                true,
            ),
        ];
        for (annotations, expected) in table {
            assert_eq!(needs_approval(&annotations), expected, "{annotations}");
        }
    }
}
