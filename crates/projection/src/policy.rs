//! Converts policies and thread sources between the engine and the wire.

use codex_app_server_protocol::v2;
use codex_protocol as v1;

pub fn engine_approval(policy: v2::AskForApproval) -> v1::AskForApproval {
    match policy {
        v2::AskForApproval::Untrusted => v1::AskForApproval::UnlessTrusted,
        v2::AskForApproval::OnFailure => v1::AskForApproval::OnFailure,
        v2::AskForApproval::OnRequest => v1::AskForApproval::OnRequest,
        v2::AskForApproval::Never => v1::AskForApproval::Never,
        v2::AskForApproval::Granular {
            sandbox_approval,
            rules,
            skill_approval,
            request_permissions,
            mcp_elicitations,
        } => v1::AskForApproval::Granular(v1::GranularApproval {
            sandbox_approval,
            rules,
            skill_approval,
            request_permissions,
            mcp_elicitations,
        }),
    }
}

pub fn wire_approval(policy: v1::AskForApproval) -> v2::AskForApproval {
    match policy {
        v1::AskForApproval::UnlessTrusted => v2::AskForApproval::Untrusted,
        v1::AskForApproval::OnFailure => v2::AskForApproval::OnFailure,
        v1::AskForApproval::OnRequest => v2::AskForApproval::OnRequest,
        v1::AskForApproval::Never => v2::AskForApproval::Never,
        v1::AskForApproval::Granular(granular) => v2::AskForApproval::Granular {
            sandbox_approval: granular.sandbox_approval,
            rules: granular.rules,
            skill_approval: granular.skill_approval,
            request_permissions: granular.request_permissions,
            mcp_elicitations: granular.mcp_elicitations,
        },
    }
}

pub fn engine_reviewer(reviewer: v2::ApprovalsReviewer) -> v1::ApprovalsReviewer {
    match reviewer {
        v2::ApprovalsReviewer::User => v1::ApprovalsReviewer::User,
        v2::ApprovalsReviewer::GuardianSubagent | v2::ApprovalsReviewer::AutoReview => {
            v1::ApprovalsReviewer::GuardianSubagent
        }
    }
}

pub fn wire_reviewer(reviewer: v1::ApprovalsReviewer) -> v2::ApprovalsReviewer {
    match reviewer {
        v1::ApprovalsReviewer::User => v2::ApprovalsReviewer::User,
        v1::ApprovalsReviewer::GuardianSubagent => v2::ApprovalsReviewer::GuardianSubagent,
    }
}

pub fn engine_sandbox(policy: v2::SandboxPolicy) -> v1::SandboxPolicy {
    match policy {
        v2::SandboxPolicy::DangerFullAccess => v1::SandboxPolicy::DangerFullAccess,
        v2::SandboxPolicy::ReadOnly {
            access,
            network_access,
        } => v1::SandboxPolicy::ReadOnly {
            access: engine_access(access),
            network_access,
        },
        v2::SandboxPolicy::ExternalSandbox { network_access } => {
            v1::SandboxPolicy::ExternalSandbox { network_access }
        }
        v2::SandboxPolicy::WorkspaceWrite {
            writable_roots,
            read_only_access,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        } => v1::SandboxPolicy::WorkspaceWrite {
            writable_roots,
            read_only_access: engine_access(read_only_access),
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            read_only_paths: Vec::new(),
        },
    }
}

pub fn wire_sandbox(policy: v1::SandboxPolicy) -> v2::SandboxPolicy {
    match policy {
        v1::SandboxPolicy::DangerFullAccess => v2::SandboxPolicy::DangerFullAccess,
        v1::SandboxPolicy::ReadOnly {
            access,
            network_access,
        } => v2::SandboxPolicy::ReadOnly {
            access: wire_access(access),
            network_access,
        },
        v1::SandboxPolicy::ExternalSandbox { network_access } => {
            v2::SandboxPolicy::ExternalSandbox { network_access }
        }
        v1::SandboxPolicy::WorkspaceWrite {
            writable_roots,
            read_only_access,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            read_only_paths: _,
        } => v2::SandboxPolicy::WorkspaceWrite {
            writable_roots,
            read_only_access: wire_access(read_only_access),
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        },
    }
}

/// The policy without its limits on reading, which not every client accepts. Those describe such a policy by the name of
/// its permissions.
pub fn without_read_limits(mut policy: v2::SandboxPolicy) -> v2::SandboxPolicy {
    match &mut policy {
        v2::SandboxPolicy::ReadOnly { access, .. }
        | v2::SandboxPolicy::WorkspaceWrite {
            read_only_access: access,
            ..
        } => *access = v2::ReadOnlyAccess::FullAccess,
        v2::SandboxPolicy::DangerFullAccess | v2::SandboxPolicy::ExternalSandbox { .. } => {}
    }
    policy
}

/// Whether a policy is what clients are shown of the policy in force, and would lift limits that it does not show.
pub fn is_shown_of(policy: &v1::SandboxPolicy, in_force: &v1::SandboxPolicy) -> bool {
    let shown = |policy: &v1::SandboxPolicy| without_read_limits(wire_sandbox(policy.clone()));
    policy != in_force && shown(policy) == shown(in_force) && is_full_access(policy)
}

fn is_full_access(policy: &v1::SandboxPolicy) -> bool {
    match policy {
        v1::SandboxPolicy::ReadOnly { access, .. }
        | v1::SandboxPolicy::WorkspaceWrite {
            read_only_access: access,
            ..
        } => access.is_full(),
        v1::SandboxPolicy::DangerFullAccess | v1::SandboxPolicy::ExternalSandbox { .. } => true,
    }
}

fn engine_access(access: v2::ReadOnlyAccess) -> v1::ReadOnlyAccess {
    match access {
        v2::ReadOnlyAccess::FullAccess => v1::ReadOnlyAccess::FullAccess,
        v2::ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
        } => v1::ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
            denied_paths: Vec::new(),
        },
    }
}

fn wire_access(access: v1::ReadOnlyAccess) -> v2::ReadOnlyAccess {
    match access {
        v1::ReadOnlyAccess::FullAccess => v2::ReadOnlyAccess::FullAccess,
        v1::ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
            denied_paths: _,
        } => v2::ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
        },
    }
}

pub fn wire_source(source: v1::SessionSource) -> v2::SessionSource {
    match source {
        v1::SessionSource::Cli => v2::SessionSource::Cli,
        v1::SessionSource::VSCode => v2::SessionSource::Vscode,
        v1::SessionSource::Exec => v2::SessionSource::Exec,
        v1::SessionSource::Mcp => v2::SessionSource::AppServer,
        v1::SessionSource::Custom(name) => v2::SessionSource::Custom(name),
        v1::SessionSource::SubAgent(origin) => v2::SessionSource::SubAgent(origin),
        _ => v2::SessionSource::Unknown,
    }
}
