//! What the limits of the network leave of a sandbox policy.

use std::fmt::Write as _;
use std::sync::Arc;

use codex_protocol::{NetworkAccess, SandboxPolicy};
use codex_sandbox::{LimitedCommands, NetworkLimits, PolicyContext, host_policy};

/// The policy as the limits leave it, for those who are told what commands may do.
pub fn within_limits(policy: &SandboxPolicy, limits: &NetworkLimits) -> SandboxPolicy {
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
pub fn closed_network(policy: &SandboxPolicy, limits: &NetworkLimits) -> Option<String> {
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

/// The most hosts that the model is told of.
const MOST_HOSTS: usize = 40;

/// Which hosts commands reach, if their network is limited to hosts. `asks` says whether a person is asked about others.
pub fn listed_hosts(policy: &SandboxPolicy, limits: &NetworkLimits, asks: bool) -> Option<String> {
    let policy = super::policy_of(policy);
    let policy_context = PolicyContext {
        network_limits: Arc::new(limits.clone()),
        ..PolicyContext::in_folder("/")
    };
    let hosts = host_policy(
        &policy,
        &policy_context,
        codex_sandbox::probe().limits_hosts(),
    )?;
    let allowed = hosts.allowed();
    let mut listed = allowed.iter().take(MOST_HOSTS);
    let mut text = match listed.next() {
        Some(first) => {
            let mut names = format!("`{first}`");
            for name in listed {
                let _ = write!(names, ", `{name}`");
            }
            if allowed.len() > MOST_HOSTS {
                names.push_str(" and others");
            }
            format!("Commands reach only hosts that are allowed: {names}.")
        }
        None => "Commands reach only hosts that are allowed; none is listed.".to_owned(),
    };
    text.push_str(if asks {
        " The user is asked about other hosts when a command connects to them."
    } else {
        " Connections to others are refused."
    });
    text.push_str(" The output of a command ends with the connections that were refused, and why.");
    Some(text)
}
