//! What the limits of the network leave of a sandbox policy.

use codex_protocol::{NetworkAccess, SandboxPolicy};
use codex_sandbox::{LimitedCommands, NetworkLimits};

/// The policy as the limits leave it, for those who are told what commands may do.
pub(crate) fn within_limits(policy: &SandboxPolicy, limits: &NetworkLimits) -> SandboxPolicy {
    if closed_network(policy, limits).is_none() {
        return policy.clone();
    }
    let mut policy = policy.clone();
    match &mut policy {
        SandboxPolicy::ReadOnly { network_access, .. }
        | SandboxPolicy::WorkspaceWrite { network_access, .. } => *network_access = false,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. } => {
            policy = SandboxPolicy::ExternalSandbox {
                network_access: NetworkAccess::Restricted,
            };
        }
    }
    policy
}

/// Why commands have no network although the policy allows it; none if they have what it allows.
pub(crate) fn closed_network(policy: &SandboxPolicy, limits: &NetworkLimits) -> Option<String> {
    let (allows, commands) = match policy {
        SandboxPolicy::DangerFullAccess => (true, LimitedCommands::OfModel),
        SandboxPolicy::ExternalSandbox { network_access } => (
            *network_access == NetworkAccess::Enabled,
            LimitedCommands::OfModel,
        ),
        SandboxPolicy::ReadOnly { network_access, .. }
        | SandboxPolicy::WorkspaceWrite { network_access, .. } => {
            (*network_access, LimitedCommands::Confined)
        }
    };
    limits.explanation(commands).filter(|_| allows)
}
