//! A network that an administrator limits, where the system can close it.
#![cfg(target_os = "linux")]

use super::*;

#[test]
fn approvals_do_not_open_an_administrator_limited_network() {
    use codex_sandbox::{
        HostLimit, LaunchPlan, LimitedCommands, Namespaces, NetworkLimits, PolicyContext, plan,
    };
    let levels = EnforcementLevels {
        landlock: 7,
        seccomp: true,
        namespaces: Namespaces::MountsAndProcesses,
        ..EnforcementLevels::default()
    };
    let mut limits = NetworkLimits::default();
    limits.add(HostLimit::closing(
        "`experimental_network`",
        LimitedCommands::All,
    ));
    let limited = TurnPolicy {
        network_limits: std::sync::Arc::new(limits),
        ..turn_policy(AskForApproval::OnRequest, workspace())
    };
    let closed = plan(
        &workspace(),
        &PolicyContext::in_folder(&limited.cwd),
        levels,
    )
    .unwrap();
    let permit = |confinement| Permit {
        confinement,
        approved: true,
    };
    let online = permit(Confinement::Policy(codex_sandbox::Grants {
        network: true,
        ..Default::default()
    }));
    let granted = limited.plan(&online, levels).unwrap();
    assert_eq!(granted, closed, "a grant changes nothing");
    for free in [Confinement::None, Confinement::OfPerson] {
        let plan = limited.plan(&permit(free.clone()), levels).unwrap();
        assert!(matches!(plan, LaunchPlan::Confined(_)), "{free:?}");
    }
    let mut wanting = command("ls", SandboxPermissions::WithAdditionalPermissions);
    wanting.additional = Some(codex_protocol::PermissionProfile {
        network: Some(codex_protocol::NetworkPermissions {
            enabled: Some(true),
        }),
        ..Default::default()
    });
    let limited = TurnPolicy {
        inline_permissions: true,
        ..limited
    };
    let refusal = check_arguments(&wanting, &limited).unwrap_err();
    assert!(refusal.0.contains("`experimental_network`"), "{refusal}");
}
