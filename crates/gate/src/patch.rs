//! Whether a patch may be applied.

use std::path::PathBuf;

use codex_protocol::{AskForApproval, ReviewDecision};
use codex_sandbox::Grants;

use super::approval_store::{ApprovalKey, ApprovalStore};
use super::decision::{ApprovalReason, ApprovalRequest, Confinement, GateDecision, Permit};
use super::effect::PatchEffect;
use super::turn_policy::TurnPolicy;

/// Decides by the paths that are written, links resolved.
pub(crate) fn decide(
    patch: &PatchEffect,
    turn_policy: &TurnPolicy,
    approvals: &ApprovalStore,
) -> GateDecision {
    if patch.changes.is_empty() {
        return GateDecision::Refuse("patch rejected: empty patch".to_owned());
    }
    if patch.elsewhere.is_none() {
        let mut touched = patch.touched.iter();
        if let Some(problem) = touched.find_map(|path| turn_policy.hidden_problem(path)) {
            return GateDecision::Refuse(format!("patch rejected: {problem}"));
        }
    }
    // What was granted is about paths of this machine.
    let grants = match &patch.elsewhere {
        Some(_) => Grants::default(),
        None => approvals.grants(),
    };
    let permit = |approved| Permit {
        confinement: Confinement::Policy(grants.clone()),
        approved,
    };
    let granted = |path: &PathBuf| grants.write.iter().any(|root| within(path, root));
    if !grants.write.is_empty() && patch.touched.iter().all(granted) {
        return GateDecision::Run(permit(false));
    }
    let keys: Vec<ApprovalKey> = patch
        .touched
        .iter()
        .cloned()
        .map(|path| match &patch.elsewhere {
            Some(elsewhere) => ApprovalKey::PathElsewhere {
                machine: elsewhere.machine.clone(),
                path,
            },
            None => ApprovalKey::Path(path),
        })
        .collect();
    if approvals.is_approved(&keys) {
        return GateDecision::Run(permit(true));
    }
    let inside = match &patch.elsewhere {
        Some(elsewhere) => elsewhere.outside.is_empty(),
        None => turn_policy.may_write(&patch.touched, grants.clone()),
    };
    if inside && turn_policy.approval != AskForApproval::UnlessTrusted {
        return GateDecision::Run(permit(false));
    }
    if !turn_policy.may_ask_about_sandbox() {
        return GateDecision::Refuse(
            "patch rejected: writing outside of the project; rejected by user approval settings"
                .to_owned(),
        );
    }
    GateDecision::Ask(ApprovalRequest {
        reason: ApprovalReason::Model,
        amendment: None,
        lifts_sandbox: false,
        offered: vec![ReviewDecision::Approved, ReviewDecision::Abort],
        keys,
        then: permit(true),
    })
}

fn within(path: &std::path::Path, root: &std::path::Path) -> bool {
    path.starts_with(root)
}
