//! Decisions of the gate.

use codex_protocol::ReviewDecision;

use super::approval_store::ApprovalKey;

/// How an effect is confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Not confined.
    None,
    /// Not confined, because a person typed the command.
    OfPerson,
    /// By the policy of the turn, extended by the grants.
    Policy(codex_sandbox::Grants),
}

/// What the gate decides about an effect.
#[derive(Clone, Debug)]
pub enum GateDecision {
    /// Carry it out.
    Run(Permit),
    /// Ask for approval first.
    Ask(ApprovalRequest),
    /// Refuse it, for this reason.
    Refuse(String),
}

/// Permission to carry an effect out: what a decision of the gate runs, what somebody approved, or what a person typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    pub(crate) confinement: Confinement,
    pub(crate) approved: bool,
}

impl Permit {
    /// That of a command that a person typed.
    pub fn for_typed_command() -> Self {
        Self {
            confinement: Confinement::OfPerson,
            approved: true,
        }
    }

    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Whether the effect happens in the sandbox of the turn.
    pub fn is_confined(&self) -> bool {
        matches!(self.confinement, Confinement::Policy(_))
    }

    /// Whether a person approved this very call, rather than a rule or a policy.
    pub fn is_approved(&self) -> bool {
        self.approved
    }
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalReason {
    /// A reason of the engine, which says itself how the command would run.
    Engine(&'static str),
    /// The reason of a rule, with the command.
    Rule(String),
    /// That of the model, if it gives one.
    Model,
}

/// What a person is asked, and what follows from approval.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    pub reason: ApprovalReason,
    /// The words that a new rule could allow.
    pub amendment: Option<Vec<String>>,
    /// Whether the approval is for a run without sandbox. If not, a new rule keeps the sandbox.
    pub lifts_sandbox: bool,
    pub offered: Vec<ReviewDecision>,
    /// What to store if it is approved for the whole session.
    pub keys: Vec<ApprovalKey>,
    pub(crate) then: Permit,
}

impl ApprovalRequest {
    /// The permit, for whoever has the answer that approves: of a person, of a hook, or of a reviewer.
    pub fn approved(self) -> Permit {
        self.then
    }
}
