//! Layer: engine. The gate: the one place that decides whether an effect happens, and how it is confined.
//!
//! [`decide`] and [`decide_retry`] are pure: they depend on the effect, the policy of the turn and what was approved before.
//! A [`Permit`] comes from a decision to run, from [`ApprovalRequest::approved`], or from [`Permit::for_typed_command`], and tools
//! launch nothing without one: see [`TurnPolicy::plan`]. Whoever uses this asks people and stores what they approve.
//!
//! Code map: `effect` (what is decided about), `command`, `patch` and `mcp` (the decisions), `decision` (their form),
//! `restrictions` and `programs` (what a command line is), `guards` (arguments that make no sense), `turn_policy` and
//! `approval_store` (what decisions depend on), `missing_sandbox` (systems without one), `question` and `summary` (what people are
//! asked), `hidden` (hidden files in words), `written_roots` (where a command can write).

mod approval_store;
mod command;
mod decision;
mod effect;
mod guards;
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

pub use approval_store::{ApprovalKey, ApprovalStore};
pub use command::decide_retry;
pub use decision::{ApprovalReason, ApprovalRequest, Confinement, GateDecision, Permit};
pub use effect::{
    CommandEffect, Effect, McpEffect, PatchEffect, PatchElsewhere, PermissionsRequest,
    SandboxPermissions, ToolApproval,
};
pub use guards::{ArgumentsRefused, check_arguments};
pub use missing_sandbox::without_sandbox;
pub use question::{QuestionTexts, command_texts, patch_texts, permissions_texts};
pub use summary::command_summary;
pub use turn_policy::{TurnPolicy, grants_of};
pub use written_roots::written_roots;

#[cfg(test)]
mod tests;

/// Decides about an effect.
pub fn decide(effect: &Effect, policy: &TurnPolicy, approvals: &ApprovalStore) -> GateDecision {
    match effect {
        Effect::Command(command) => command::decide(command, policy, approvals),
        Effect::Patch(patch) => patch::decide(patch, policy, approvals),
        Effect::Mcp(call) => mcp::decide(call, policy, approvals),
    }
}
