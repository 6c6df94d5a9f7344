//! What a turn may do, and what is left of it for work that an earlier turn began.
//!
//! A script of the model goes on while later turns run, and those carry its calls out. What it may do never grows: a call has
//! the rights that both turns have in common. Where two policies cannot be compared, the call is refused or may only read.

use std::path::PathBuf;
use std::sync::Arc;

use codex_protocol::{
    ApprovalsReviewer, AskForApproval, EnvironmentChoice, GranularApproval, NetworkAccess,
    ReadOnlyAccess, SandboxPolicy,
};
use codex_sandbox::NetworkLimits;

use crate::turn_settings::TurnSettings;

/// What a turn may do without asking, and what it may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRights {
    cwd: PathBuf,
    has_environment: bool,
    environments: Vec<EnvironmentChoice>,
    approval_policy: AskForApproval,
    is_reviewed: bool,
    sandbox_policy: SandboxPolicy,
    network_limits: Arc<NetworkLimits>,
}

/// The approval policies of two turns allow different things, and neither allows less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this script was begun under other permissions, which cannot be combined with those of the turn: begin it again"
)]
pub struct IncomparableRights;

impl TurnRights {
    pub fn for_turn(turn: &TurnSettings) -> Self {
        Self {
            cwd: turn.cwd.clone(),
            has_environment: turn.has_environment,
            environments: turn.environments.clone(),
            approval_policy: turn.approval_policy,
            is_reviewed: turn.reviews.is_some(),
            sandbox_policy: turn.sandbox_policy.clone(),
            network_limits: Arc::clone(&turn.network_limits),
        }
    }

    /// Whether a command that was confined by the policy of the other turn could be started by this one as well.
    pub fn covers_sandbox_of(&self, other: &Self) -> bool {
        let (own, others) = (&self.sandbox_policy, &other.sandbox_policy);
        let is_fixed = !matches!(others, SandboxPolicy::WorkspaceWrite { .. });
        *own == SandboxPolicy::DangerFullAccess
            || ((is_fixed || self.has_folders_of(other)) && common_sandbox(own, others) == *others)
    }

    fn has_folders_of(&self, other: &Self) -> bool {
        self.cwd == other.cwd && self.environments == other.environments
    }

    /// The limits of both: what one of the two keeps closed stays closed.
    fn all_network_limits(&self, other: &Self) -> Arc<NetworkLimits> {
        if self.network_limits == other.network_limits {
            return Arc::clone(&self.network_limits);
        }
        Arc::new((*self.network_limits).clone().and(&other.network_limits))
    }

    /// What both allow to a call that has the working folder of this turn.
    fn common_sandbox(&self, other: &Self) -> SandboxPolicy {
        if self.cwd == other.cwd {
            return common_sandbox(&self.sandbox_policy, &other.sandbox_policy);
        }
        // The folder that the other policy lets be written is another one.
        let others = other.sandbox_policy.clone().moved_from(&other.cwd);
        common_sandbox(&self.sandbox_policy, &read_only(&others))
    }
}

impl TurnSettings {
    /// The settings of this turn for the call of a script that another turn began.
    pub fn limited_to(
        self: &Arc<Self>,
        begun_in: &Arc<str>,
        rights: &TurnRights,
    ) -> Result<Arc<Self>, IncomparableRights> {
        let own = TurnRights::for_turn(self);
        if *begun_in == self.id && *rights == own {
            return Ok(Arc::clone(self));
        }
        if self.has_environment && !rights.has_environment
            || self.environments != rights.environments
        {
            return Err(IncomparableRights);
        }
        let sandbox_policy = own.common_sandbox(rights);
        let is_open = !confines(&sandbox_policy);
        let approval_policy =
            stricter_approval(self.approval_policy, rights.approval_policy, is_open)
                .ok_or(IncomparableRights)?;
        let mut limited = (**self).clone();
        if !rights.is_reviewed {
            limited.reviews = None;
            limited.approvals_reviewer = ApprovalsReviewer::User;
        }
        limited.is_of_earlier_turn = true;
        limited.is_narrowed =
            sandbox_policy != self.sandbox_policy || approval_policy != self.approval_policy;
        if limited.is_narrowed {
            limited.permission_profile = None;
        }
        limited.network_limits = own.all_network_limits(rights);
        limited.sandbox_policy = sandbox_policy;
        limited.approval_policy = approval_policy;
        Ok(Arc::new(limited))
    }
}

fn confines(policy: &SandboxPolicy) -> bool {
    !matches!(
        policy,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. }
    )
}

/// The policy under which nothing is allowed or asked about that one of the two would refuse, and nothing runs unasked that
/// one of them would ask about. None if neither is such a policy.
fn stricter_approval(
    left: AskForApproval,
    right: AskForApproval,
    is_open: bool,
) -> Option<AskForApproval> {
    use AskForApproval::{Granular, Never, OnFailure, OnRequest, UnlessTrusted};
    if left == right {
        return Some(left);
    }
    match (left, right) {
        // Without a sandbox it runs what others ask about.
        (Never, UnlessTrusted) | (UnlessTrusted, Never) => None,
        (Never, _) | (_, Never) => (!is_open).then_some(Never),
        (Granular(left), Granular(right)) => Some(Granular(both(left, right))),
        (Granular(_), UnlessTrusted) | (UnlessTrusted, Granular(_)) => None,
        (Granular(granular), _) | (_, Granular(granular)) => Some(Granular(granular)),
        (UnlessTrusted, _) | (_, UnlessTrusted) => Some(UnlessTrusted),
        (OnRequest | OnFailure, OnRequest | OnFailure) => Some(OnRequest),
    }
}

fn both(left: GranularApproval, right: GranularApproval) -> GranularApproval {
    GranularApproval {
        sandbox_approval: left.sandbox_approval && right.sandbox_approval,
        rules: left.rules && right.rules,
        skill_approval: left.skill_approval && right.skill_approval,
        request_permissions: left.request_permissions && right.request_permissions,
        mcp_elicitations: left.mcp_elicitations && right.mcp_elicitations,
    }
}

/// A policy that allows only what both allow in the same working folder. Roots are compared as they are written: what is below a root of the other
/// policy is not known to be so, because a link may lead elsewhere.
fn common_sandbox(left: &SandboxPolicy, right: &SandboxPolicy) -> SandboxPolicy {
    use SandboxPolicy::{DangerFullAccess, ExternalSandbox, ReadOnly, WorkspaceWrite};
    match (left, right) {
        (DangerFullAccess, other) | (other, DangerFullAccess) => other.clone(),
        (ExternalSandbox { network_access }, other)
        | (other, ExternalSandbox { network_access }) => {
            let mut policy = other.clone();
            if *network_access == NetworkAccess::Restricted {
                close_network(&mut policy);
            }
            policy
        }
        (
            WorkspaceWrite {
                writable_roots: left_roots,
                read_only_access: left_access,
                network_access: left_network,
                exclude_tmpdir_env_var: left_without_tmpdir,
                exclude_slash_tmp: left_without_tmp,
                read_only_paths: left_read_only,
            },
            WorkspaceWrite {
                writable_roots: right_roots,
                read_only_access: right_access,
                network_access: right_network,
                exclude_tmpdir_env_var: right_without_tmpdir,
                exclude_slash_tmp: right_without_tmp,
                read_only_paths: right_read_only,
            },
        ) => WorkspaceWrite {
            writable_roots: (left_roots.iter())
                .filter(|root| right_roots.contains(root))
                .cloned()
                .collect(),
            read_only_access: common_access(left_access, right_access),
            network_access: *left_network && *right_network,
            exclude_tmpdir_env_var: *left_without_tmpdir || *right_without_tmpdir,
            exclude_slash_tmp: *left_without_tmp || *right_without_tmp,
            read_only_paths: all_paths(left_read_only, right_read_only),
        },
        (
            ReadOnly {
                access: left_access,
                network_access: left_network,
            }
            | WorkspaceWrite {
                read_only_access: left_access,
                network_access: left_network,
                ..
            },
            ReadOnly {
                access: right_access,
                network_access: right_network,
            }
            | WorkspaceWrite {
                read_only_access: right_access,
                network_access: right_network,
                ..
            },
        ) => ReadOnly {
            access: common_access(left_access, right_access),
            network_access: *left_network && *right_network,
        },
    }
}

/// The policy without a folder to write in, if it confines files.
fn read_only(policy: &SandboxPolicy) -> SandboxPolicy {
    match policy {
        SandboxPolicy::WorkspaceWrite {
            read_only_access,
            network_access,
            ..
        } => SandboxPolicy::ReadOnly {
            access: read_only_access.clone(),
            network_access: *network_access,
        },
        other => other.clone(),
    }
}

fn close_network(policy: &mut SandboxPolicy) {
    match policy {
        SandboxPolicy::DangerFullAccess => {}
        SandboxPolicy::ExternalSandbox { network_access } => {
            *network_access = NetworkAccess::Restricted;
        }
        SandboxPolicy::ReadOnly { network_access, .. }
        | SandboxPolicy::WorkspaceWrite { network_access, .. } => *network_access = false,
    }
}

fn common_access(left: &ReadOnlyAccess, right: &ReadOnlyAccess) -> ReadOnlyAccess {
    use ReadOnlyAccess::{FullAccess, Restricted};
    match (left, right) {
        (FullAccess, other) | (other, FullAccess) => other.clone(),
        (
            Restricted {
                include_platform_defaults: left_defaults,
                readable_roots: left_roots,
                denied_paths: left_denied,
            },
            Restricted {
                include_platform_defaults: right_defaults,
                readable_roots: right_roots,
                denied_paths: right_denied,
            },
        ) => Restricted {
            include_platform_defaults: *left_defaults && *right_defaults,
            readable_roots: (left_roots.iter())
                .filter(|root| right_roots.contains(root))
                .cloned()
                .collect(),
            denied_paths: all_paths(left_denied, right_denied),
        },
    }
}

fn all_paths(left: &[PathBuf], right: &[PathBuf]) -> Vec<PathBuf> {
    let more = right.iter().filter(|path| !left.contains(path));
    left.iter().chain(more).cloned().collect()
}

#[cfg(test)]
mod tests;
