//! The gate: the one place that decides whether something with an effect may happen.
//!
//! It takes a value that describes the effect and answers run, ask or refuse, with the confinement
//! to use. [`decide`] and [`decide_retry`] are pure: they look at the effect, at the posture of the
//! turn and at what was granted before, and nowhere else. Asking and remembering is the session's
//! part (`session::gatekeeper`); a tool only ever calls [`Gate::permit`].

mod approval_store;
mod command;
mod guards;
mod handle;
mod mcp;
mod patch;
mod programs;
mod restrictions;
mod turn_policy;

use std::collections::BTreeMap;
use std::path::PathBuf;

use codex_protocol::{FileChange, PermissionProfile, RequestPermissionProfile, ReviewDecision};

use serde_json::Value;

use crate::mcp::ToolApproval;

pub(crate) use approval_store::{ApprovalKey, ApprovalStore};
pub(crate) use command::decide_retry;
pub(crate) use guards::check_arguments;
pub(crate) use handle::{Denied, Gate, verdict};
pub(crate) use turn_policy::{TurnPolicy, grants_of, policy_of, prepare_folders};

#[cfg(test)]
mod tests;

/// Something that would change the world.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// A command.
    Command(CommandEffect),
    /// Files changed by a patch.
    Patch(PatchEffect),
    /// Permissions for what comes later.
    Permissions(PermissionsEffect),
    /// A call of a tool of an MCP server.
    Mcp(McpEffect),
}

/// A command that the model wants to run.
#[derive(Clone, Debug)]
pub(crate) struct CommandEffect {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) permissions: SandboxPermissions,
    /// What it asks for beyond the sandbox.
    pub(crate) additional: Option<PermissionProfile>,
    pub(crate) justification: Option<String>,
    pub(crate) prefix_rule: Option<Vec<String>>,
    /// Whether it gets a terminal, for tools that can give one.
    pub(crate) tty: Option<bool>,
}

/// Which sandbox a command asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxPermissions {
    /// That of the turn.
    #[default]
    UseDefault,
    /// None.
    RequireEscalated,
    /// That of the turn, wider.
    WithAdditionalPermissions,
}

/// A patch that was verified.
#[derive(Clone, Debug)]
pub(crate) struct PatchEffect {
    /// What people are shown.
    pub(crate) changes: BTreeMap<String, FileChange>,
    /// Every path that is written, links followed.
    pub(crate) touched: Vec<PathBuf>,
}

/// Permissions that the model asks for.
#[derive(Clone, Debug)]
pub(crate) struct PermissionsEffect {
    pub(crate) permissions: RequestPermissionProfile,
    pub(crate) reason: Option<String>,
}

/// A call of a tool of an MCP server.
#[derive(Clone, Debug)]
pub(crate) struct McpEffect {
    pub(crate) server: String,
    /// The server's name for it.
    pub(crate) tool: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Option<Value>,
    /// What the server says of the tool.
    pub(crate) annotations: Value,
    pub(crate) approval: ToolApproval,
}

/// How something that may happen is to be confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// Not at all.
    None,
    /// By the policy of the turn, widened by what was granted.
    Policy(codex_sandbox::Grants),
}

/// The word of the gate.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    /// It may happen.
    Run(Permit),
    /// People are asked first.
    Ask(ApprovalRequest),
    /// It must not happen, for this reason.
    Refuse(String),
}

/// Leave to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) confinement: Confinement,
    /// Whether people have said so of this very call, rather than a rule or a policy.
    pub(crate) approved: bool,
}

/// What to ask people, and what follows if they agree.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalRequest {
    pub(crate) reason: Option<String>,
    /// The words that a new rule could allow.
    pub(crate) amendment: Option<Vec<String>>,
    /// Whether people are asked to let it run without sandbox. If not, a new rule keeps the sandbox.
    pub(crate) lifts_sandbox: bool,
    pub(crate) offered: Vec<ReviewDecision>,
    /// What to remember if they agree for the whole session.
    pub(crate) keys: Vec<ApprovalKey>,
    pub(crate) then: Permit,
}

/// Decides about an effect.
pub(crate) fn decide(
    effect: &Effect,
    turn_policy: &TurnPolicy,
    approvals: &ApprovalStore,
) -> Decision {
    match effect {
        Effect::Command(command) => command::decide(command, turn_policy, approvals),
        Effect::Patch(patch) => patch::decide(patch, turn_policy, approvals),
        Effect::Mcp(call) => mcp::decide(call, turn_policy, approvals),
        Effect::Permissions(_) => match turn_policy.may_ask_for_permissions() {
            true => Decision::Ask(ApprovalRequest {
                reason: None,
                amendment: None,
                lifts_sandbox: false,
                offered: Vec::new(),
                keys: Vec::new(),
                then: Permit {
                    confinement: Confinement::None,
                    approved: true,
                },
            }),
            false => Decision::Refuse(String::new()),
        },
    }
}
