//! The gate: the one place that decides about effects.
//!
//! [`decide`] and [`decide_retry`] are pure: they depend on the effect, the policy of the turn and what was
//! approved before. The session asks people and stores what they approve (`session::approvals`). A tool calls
//! [`Gate::permit`] and nothing else, and its effect is decided about once.

mod approval_store;
mod assessment;
mod command;
mod connection;
mod decision;
mod effect;
mod guards;
mod handle;
mod hidden;
mod mcp;
mod missing_sandbox;
mod patch;
mod programs;
mod question;
mod restrictions;
mod summary;
mod turn_policy;
mod written_roots;

pub(crate) use approval_store::{ApprovalKey, ApprovalStore};
pub(crate) use assessment::{Assessment, StartedReview};
pub(crate) use command::decide_retry;
pub(crate) use connection::{ConnectionGate, ConnectionRequest};
pub(crate) use decision::{ApprovalRequest, Confinement, GateDecision, Permit};
pub(crate) use effect::{
    CommandEffect, Effect, McpEffect, PatchEffect, PatchElsewhere, PermissionsRequest,
    SandboxPermissions,
};
pub(crate) use guards::check_arguments;
pub(crate) use handle::{Denied, EffectCall, Gate, GateRequest, ReviewSubject, verdict};
pub(crate) use missing_sandbox::without_sandbox;
pub(crate) use question::{QuestionTexts, command_texts, patch_texts, permissions_texts};
pub(crate) use summary::command_summary;
pub(crate) use turn_policy::{TurnPolicy, grants_of, prepare_folders};
pub(crate) use written_roots::written_roots;

#[cfg(test)]
mod tests;

/// Decides about an effect.
pub(crate) fn decide(
    effect: &Effect,
    policy: &TurnPolicy,
    approvals: &ApprovalStore,
) -> GateDecision {
    match effect {
        Effect::Command(command) => command::decide(command, policy, approvals),
        Effect::Patch(patch) => patch::decide(patch, policy, approvals),
        Effect::Mcp(call) => mcp::decide(call, policy, approvals),
    }
}
