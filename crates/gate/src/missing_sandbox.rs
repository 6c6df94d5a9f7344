//! Commands on a system that can enforce no sandbox.
//!
//! A confined command would be refused when it is launched. If people may be asked, they are asked to let it run without
//! sandbox instead.

use codex_sandbox::EnforcementLevels;

use super::approval_store::ApprovalStore;
use super::command::{approval_key, offered, refused_prompt};
use super::decision::{ApprovalReason, ApprovalRequest, Confinement, GateDecision, Permit};
use super::effect::Effect;
use super::turn_policy::TurnPolicy;

const REASON: &str =
    "this system has no sandbox for the policy in force; run the command without one?";

/// Changes the decision about a command if the system cannot confine it.
pub fn without_sandbox(
    decision: GateDecision,
    effect: &Effect,
    policy: &TurnPolicy,
    approvals: &ApprovalStore,
    levels: impl FnOnce() -> EnforcementLevels,
) -> GateDecision {
    let Effect::Command(command) = effect else {
        return decision;
    };
    // Another machine refuses what it cannot confine.
    if command.machine.is_some() {
        return decision;
    }
    let permit = match &decision {
        GateDecision::Run(permit) => permit,
        GateDecision::Ask(request) => &request.then,
        GateDecision::Refuse(_) => return decision,
    };
    let Confinement::Policy(grants) = &permit.confinement else {
        return decision;
    };
    if refused_prompt(policy, false).is_some() || policy.can_confine(grants, levels()) {
        return decision;
    }
    let free = |approved| Permit {
        confinement: Confinement::None,
        approved,
    };
    match decision {
        GateDecision::Run(_) => {
            let keys = vec![approval_key(command)];
            if approvals.is_approved(&keys) {
                return GateDecision::Run(free(false));
            }
            GateDecision::Ask(ApprovalRequest {
                reason: ApprovalReason::Engine(REASON),
                amendment: None,
                lifts_sandbox: true,
                offered: offered(command, None),
                keys,
                then: free(true),
            })
        }
        GateDecision::Ask(request) => GateDecision::Ask(ApprovalRequest {
            lifts_sandbox: true,
            then: free(true),
            ..request
        }),
        GateDecision::Refuse(reason) => GateDecision::Refuse(reason),
    }
}
