//! Sandbox policies in the terms of the sandbox.

use std::path::PathBuf;

use codex_protocol::{NetworkAccess, ReadOnlyAccess, SandboxPolicy};
use codex_sandbox::{ConfinementPolicy, NetworkMode, ReadAccess, WorkspaceWrite};

/// The policy, or one that allows writing: a later turn may be allowed to write.
pub fn writing(policy: ConfinementPolicy) -> ConfinementPolicy {
    match policy {
        ConfinementPolicy::WorkspaceWrite(_) => policy,
        _ => ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default()),
    }
}

/// Converts a policy to that of the sandbox.
pub fn policy_of(policy: &SandboxPolicy) -> ConfinementPolicy {
    match policy {
        SandboxPolicy::DangerFullAccess => ConfinementPolicy::DangerFullAccess,
        SandboxPolicy::ExternalSandbox { network_access } => ConfinementPolicy::External {
            network: network(*network_access == NetworkAccess::Enabled),
        },
        SandboxPolicy::ReadOnly {
            access,
            network_access,
        } => ConfinementPolicy::ReadOnly {
            read: read_access(access),
            network: network(*network_access),
        },
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            read_only_access,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            read_only_paths,
        } => ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: writable_roots
                .iter()
                .map(|root| PathBuf::from(&root.0))
                .collect(),
            read: read_access(read_only_access),
            network: network(*network_access),
            tmpdir: !exclude_tmpdir_env_var,
            slash_tmp: !exclude_slash_tmp,
            read_only: read_only_paths.clone(),
        }),
    }
}

fn network(enabled: bool) -> NetworkMode {
    if enabled {
        NetworkMode::Enabled
    } else {
        NetworkMode::Restricted
    }
}

fn read_access(access: &ReadOnlyAccess) -> ReadAccess {
    match access {
        ReadOnlyAccess::FullAccess => ReadAccess::Full,
        ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
            denied_paths,
        } => ReadAccess::Restricted {
            platform_defaults: *include_platform_defaults,
            roots: readable_roots
                .iter()
                .map(|root| PathBuf::from(&root.0))
                .collect(),
            denied: denied_paths.clone(),
        },
    }
}
