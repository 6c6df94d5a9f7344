//! Decisions of the gate.

use codex_protocol::ReviewDecision;

use super::approval_store::ApprovalKey;

/// How an effect is confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// Not confined.
    None,
    /// Not confined, because a person typed the command.
    OfPerson,
    /// By the policy of the turn, extended by the grants.
    Policy(codex_sandbox::Grants),
}

/// What the gate decides about an effect.
#[derive(Clone, Debug)]
pub(crate) enum GateDecision {
    /// Carry it out.
    Run(Permit),
    /// Ask for approval first.
    Ask(ApprovalRequest),
    /// Refuse it, for this reason.
    Refuse(String),
}

/// Permission to carry an effect out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) confinement: Confinement,
    /// Whether a person approved this very call, rather than a rule or a policy.
    pub(crate) approved: bool,
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalReason {
    /// A reason of the engine, which says itself how the command would run.
    Engine(&'static str),
    /// The reason of a rule, with the command.
    Rule(String),
    /// That of the model, if it gives one.
    Model,
}

/// What a person is asked, and what follows from approval.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalRequest {
    pub(crate) reason: ApprovalReason,
    /// The words that a new rule could allow.
    pub(crate) amendment: Option<Vec<String>>,
    /// Whether the approval is for a run without sandbox. If not, a new rule keeps the sandbox.
    pub(crate) lifts_sandbox: bool,
    pub(crate) offered: Vec<ReviewDecision>,
    /// What to store if it is approved for the whole session.
    pub(crate) keys: Vec<ApprovalKey>,
    pub(crate) then: Permit,
}
