use codex_protocol::{AbsolutePathBuf, AskForApproval, GranularApproval, SandboxPolicy};
use codex_sandbox::{LimitedCommands, NetworkLimits, NetworkMode};

use super::{TurnRights, common_sandbox, stricter_approval};

fn read_only(network_access: bool) -> SandboxPolicy {
    SandboxPolicy::ReadOnly {
        access: codex_protocol::ReadOnlyAccess::FullAccess,
        network_access,
    }
}

fn workspace(roots: &[&str], network_access: bool) -> SandboxPolicy {
    let root = |path: &&str| AbsolutePathBuf((*path).to_owned());
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().map(root).collect(),
        read_only_access: codex_protocol::ReadOnlyAccess::FullAccess,
        network_access,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
        read_only_paths: Vec::new(),
    }
}

fn external(network_access: codex_protocol::NetworkAccess) -> SandboxPolicy {
    SandboxPolicy::ExternalSandbox { network_access }
}

fn rights(cwd: &str, sandbox_policy: SandboxPolicy) -> TurnRights {
    TurnRights {
        cwd: cwd.into(),
        has_environment: true,
        environments: Vec::new(),
        approval_policy: AskForApproval::Never,
        is_reviewed: false,
        sandbox_policy,
        network_limits: std::sync::Arc::default(),
    }
}

#[test]
fn common_sandbox_is_the_intersection() {
    use codex_protocol::NetworkAccess::{Enabled, Restricted};
    let full = SandboxPolicy::DangerFullAccess;
    let cases = [
        (full.clone(), full.clone(), full.clone()),
        (full.clone(), read_only(false), read_only(false)),
        (
            full.clone(),
            workspace(&["/a"], true),
            workspace(&["/a"], true),
        ),
        (full.clone(), external(Restricted), external(Restricted)),
        (
            external(Enabled),
            external(Restricted),
            external(Restricted),
        ),
        (
            external(Restricted),
            workspace(&[], true),
            workspace(&[], false),
        ),
        (
            external(Enabled),
            workspace(&[], true),
            workspace(&[], true),
        ),
        (read_only(true), workspace(&["/a"], false), read_only(false)),
        (
            workspace(&["/a", "/b"], true),
            workspace(&["/b", "/c", "/a/below"], true),
            workspace(&["/b"], true),
        ),
    ];
    for (left, right, expected) in cases {
        assert_eq!(
            common_sandbox(&left, &right),
            expected,
            "{left:?} {right:?}"
        );
        assert_eq!(
            common_sandbox(&right, &left),
            expected,
            "{right:?} {left:?}"
        );
    }
}

#[test]
fn host_limits_of_either_turn_hold() {
    let plain = || rights("/a", workspace(&[], true));
    let limited = TurnRights {
        network_limits: std::sync::Arc::new(
            NetworkLimits::default().with_settings(&["a setting".to_owned()]),
        ),
        ..plain()
    };
    for limits in [
        plain().all_network_limits(&limited),
        limited.all_network_limits(&plain()),
    ] {
        let network = limits.network(NetworkMode::Enabled, LimitedCommands::Confined, true);
        assert_eq!(network, NetworkMode::Restricted);
    }
}

#[test]
fn rights_in_another_folder_are_only_to_read() {
    let begun = rights("/a", workspace(&[], false));
    for now in [SandboxPolicy::DangerFullAccess, workspace(&[], false)] {
        let common = rights("/b", now).common_sandbox(&begun);
        assert_eq!(common, read_only(false));
    }
    let open = rights("/a", SandboxPolicy::DangerFullAccess);
    let common = rights("/b", workspace(&[], false)).common_sandbox(&open);
    assert_eq!(common, workspace(&[], false));
}

#[test]
fn input_needs_the_rights_that_the_command_has() {
    let full = || rights("/a", SandboxPolicy::DangerFullAccess);
    let writes = |cwd| rights(cwd, workspace(&[], false));
    let reads = || rights("/a", read_only(false));
    assert!(full().covers_sandbox_of(&writes("/b")));
    assert!(writes("/a").covers_sandbox_of(&writes("/a")));
    assert!(writes("/b").covers_sandbox_of(&reads()));
    assert!(!writes("/b").covers_sandbox_of(&writes("/a")));
    assert!(!writes("/a").covers_sandbox_of(&full()));
    assert!(!reads().covers_sandbox_of(&writes("/a")));
    assert!(!reads().covers_sandbox_of(&rights("/a", read_only(true))));
}

#[test]
fn stricter_approval_combines_both_policies() {
    use AskForApproval::{Granular, Never, OnFailure, OnRequest, UnlessTrusted};
    let granular = |sandbox_approval, rules| {
        Granular(GranularApproval {
            sandbox_approval,
            rules,
            skill_approval: true,
            request_permissions: true,
            mcp_elicitations: true,
        })
    };
    let cases = [
        (OnRequest, OnFailure, Some(OnRequest)),
        (OnRequest, UnlessTrusted, Some(UnlessTrusted)),
        (OnFailure, UnlessTrusted, Some(UnlessTrusted)),
        (Never, OnRequest, Some(Never)),
        (Never, granular(true, true), Some(Never)),
        (Never, UnlessTrusted, None),
        (granular(false, true), UnlessTrusted, None),
        (
            granular(false, true),
            OnRequest,
            Some(granular(false, true)),
        ),
        (
            granular(false, true),
            granular(true, false),
            Some(granular(false, false)),
        ),
    ];
    for (left, right, expected) in cases {
        assert_eq!(
            stricter_approval(left, right, false),
            expected,
            "{left:?} {right:?}"
        );
        assert_eq!(
            stricter_approval(right, left, false),
            expected,
            "{right:?} {left:?}"
        );
    }
    assert_eq!(stricter_approval(Never, OnRequest, true), None);
    assert_eq!(stricter_approval(Never, Never, true), Some(Never));
}
