//! The decisions, as a table.

mod limited_network;

use std::collections::BTreeMap;
use std::path::PathBuf;

use codex_protocol::{AskForApproval, FileChange, GranularApproval};
use codex_sandbox::{ConfinementPolicy, EnforcementLevels, NetworkMode, WorkspaceWrite};

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedDecision {
    /// Runs in the sandbox.
    Confined,
    /// Runs without a sandbox.
    Free,
    /// Asks, then runs in the sandbox.
    AskConfined,
    /// Asks, then runs without a sandbox.
    AskFree,
    Refused,
}

use ExpectedDecision::{AskConfined, AskFree, Confined, Free, Refused};

const GRANULAR_POLICY: AskForApproval = AskForApproval::Granular(GranularApproval {
    sandbox_approval: false,
    rules: false,
    skill_approval: false,
    request_permissions: false,
    mcp_elicitations: false,
});

pub(crate) fn turn_policy(approval: AskForApproval, policy: ConfinementPolicy) -> TurnPolicy {
    let cwd = std::env::temp_dir();
    TurnPolicy {
        approval,
        policy,
        cwd,
        tmpdir: None,
        environment: std::sync::Arc::default(),
        shell: PathBuf::from("/bin/bash"),
        inline_permissions: false,
        restricted_token: false,
        network_limits: std::sync::Arc::default(),
        engine: Default::default(),
    }
}

fn workspace() -> ConfinementPolicy {
    ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default())
}

pub(crate) fn command(script: &str, permissions: SandboxPermissions) -> CommandEffect {
    CommandEffect {
        argv: ["/bin/bash", "-lc", script].map(str::to_owned).to_vec(),
        machine: None,
        cwd: std::env::temp_dir(),
        permissions,
        additional: None,
        justification: Some("because".to_owned()),
        prefix_rule: None,
        tty: None,
        in_editor: false,
    }
}

fn outcome(decision: &GateDecision) -> ExpectedDecision {
    let free = |permit: &Permit| permit.confinement == Confinement::None;
    match decision {
        GateDecision::Run(permit) if free(permit) => Free,
        GateDecision::Run(_) => Confined,
        GateDecision::Ask(ask) if free(&ask.then) => AskFree,
        GateDecision::Ask(_) => AskConfined,
        GateDecision::Refuse(_) => Refused,
    }
}

fn check(
    approval: AskForApproval,
    policy: ConfinementPolicy,
    script: &str,
    expected: ExpectedDecision,
) {
    let effect = Effect::Command(command(script, SandboxPermissions::UseDefault));
    let decision = decide(
        &effect,
        &turn_policy(approval, policy),
        &ApprovalStore::default(),
    );
    assert_eq!(
        outcome(&decision),
        expected,
        "{approval:?}: {script}: {decision:?}"
    );
}

#[test]
fn commands_without_rules() {
    use AskForApproval::{Never, OnFailure, OnRequest, UnlessTrusted};
    for (approval, safe, plain, dangerous) in [
        (UnlessTrusted, Confined, AskConfined, AskConfined),
        (OnFailure, Confined, Confined, AskConfined),
        (OnRequest, Confined, Confined, AskConfined),
        (GRANULAR_POLICY, Confined, Confined, Refused),
        (Never, Confined, Confined, Refused),
    ] {
        check(approval, workspace(), "ls | wc -l", safe);
        check(approval, workspace(), "touch x", plain);
        check(approval, workspace(), "rm -rf x", dangerous);
        check(
            approval,
            ConfinementPolicy::read_only(),
            "ls && rm -rf x",
            dangerous,
        );
    }
    for (approval, plain, dangerous) in [
        (UnlessTrusted, AskFree, AskFree),
        (OnRequest, Free, AskFree),
        (Never, Free, Free),
    ] {
        check(approval, ConfinementPolicy::DangerFullAccess, "ls", Free);
        check(
            approval,
            ConfinementPolicy::DangerFullAccess,
            "touch x",
            plain,
        );
        check(
            approval,
            ConfinementPolicy::DangerFullAccess,
            "rm -rf x",
            dangerous,
        );
    }
    // Unknown syntax is not safe.
    check(UnlessTrusted, workspace(), "ls > x", AskConfined);
    check(UnlessTrusted, workspace(), "ls $(touch x)", AskConfined);
}

#[test]
fn leaving_the_sandbox_is_asked_about() {
    let escalated = Effect::Command(command("touch x", SandboxPermissions::RequireEscalated));
    let on_request = turn_policy(AskForApproval::OnRequest, workspace());
    let decision = decide(&escalated, &on_request, &ApprovalStore::default());
    assert_eq!(outcome(&decision), AskFree);
    let GateDecision::Ask(ask) = decision else {
        panic!("asked")
    };
    assert_eq!(ask.reason, decision::ApprovalReason::Model);
    assert_eq!(
        ask.amendment,
        Some(vec!["touch".to_owned(), "x".to_owned()])
    );
    let Effect::Command(command) = escalated else {
        panic!("a command")
    };
    for approval in [
        AskForApproval::Never,
        AskForApproval::UnlessTrusted,
        GRANULAR_POLICY,
    ] {
        let refused = check_arguments(&command, &turn_policy(approval, workspace()));
        assert!(
            refused
                .unwrap_err()
                .0
                .contains("you should not ask for escalated permissions")
        );
    }
    assert_eq!(check_arguments(&command, &on_request), Ok(()));
}

fn with_rules(rules: &str) -> ApprovalStore {
    let mut policy = codex_exec_policy::RuleSet::default();
    policy.add_file("test.rules", rules).unwrap();
    ApprovalStore::with_rules(policy)
}

#[test]
fn rules_decide_first_and_the_strictest_counts() {
    let approvals = with_rules(
        "prefix_rule(pattern=[\"sleep\"], decision=\"allow\")\n\
         prefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\", justification=\"no\")\n\
         prefix_rule(pattern=[\"whoami\"], decision=\"prompt\")\n",
    );
    let decide = |approval, script: &str| {
        let effect = Effect::Command(command(script, SandboxPermissions::UseDefault));
        decide(&effect, &turn_policy(approval, workspace()), &approvals)
    };
    let on_request = AskForApproval::OnRequest;
    assert_eq!(outcome(&decide(on_request, "sleep 1")), Free);
    // Only a script of which every part is allowed by a rule leaves the sandbox.
    assert_eq!(
        outcome(&decide(on_request, "sleep 1 && touch /x")),
        Confined
    );
    assert_eq!(outcome(&decide(on_request, "whoami")), AskConfined);
    for script in [
        "git add . && git push",
        "echo $(git push)",
        "FOO=1 git push",
    ] {
        let decision = decide(on_request, script);
        let GateDecision::Refuse(reason) = decision else {
            panic!("{script}: {decision:?}")
        };
        assert!(reason.ends_with("rejected: no"), "{reason}");
    }
    let GateDecision::Refuse(reason) = decide(AskForApproval::Never, "whoami") else {
        panic!()
    };
    assert_eq!(
        reason,
        "approval required by policy, but AskForApproval is set to Never"
    );
    let GateDecision::Refuse(reason) = decide(GRANULAR_POLICY, "whoami") else {
        panic!()
    };
    assert!(reason.contains("Granular.rules is false"));
}

#[test]
fn a_second_run_without_sandbox_depends_on_the_policy() {
    let command = command("touch /x", SandboxPermissions::UseDefault);
    let confined = |approved| Permit {
        confinement: Confinement::Policy(Default::default()),
        approved,
    };
    let retry = |approval, approved| {
        decide_retry(
            &command,
            &turn_policy(approval, workspace()),
            &confined(approved),
        )
        .map(|decision| outcome(&decision))
    };
    assert_eq!(retry(AskForApproval::OnFailure, false), Some(AskFree));
    assert_eq!(retry(AskForApproval::UnlessTrusted, true), Some(Free));
    assert_eq!(retry(AskForApproval::OnRequest, false), None);
    assert_eq!(retry(AskForApproval::Never, false), None);
    assert_eq!(retry(GRANULAR_POLICY, false), None);
}

#[test]
fn without_any_sandbox_people_are_asked() {
    let nothing = EnforcementLevels::default();
    let judge = |levels, approval, policy, script: &str, approvals: &ApprovalStore| {
        let effect = Effect::Command(command(script, SandboxPermissions::UseDefault));
        let policy = turn_policy(approval, policy);
        let decision = decide(&effect, &policy, approvals);
        without_sandbox(decision, &effect, &policy, approvals, || levels)
    };
    let mut approvals = ApprovalStore::default();
    let on_request = AskForApproval::OnRequest;
    for (approval, expected) in [
        (on_request, AskFree),
        (AskForApproval::UnlessTrusted, AskFree),
        (GRANULAR_POLICY, Confined),
        (AskForApproval::Never, Confined),
    ] {
        let decision = judge(nothing, approval, workspace(), "ls", &approvals);
        assert_eq!(outcome(&decision), expected, "{approval:?}");
    }
    let open = ConfinementPolicy::DangerFullAccess;
    let decision = judge(nothing, on_request, open, "touch x", &approvals);
    assert_eq!(outcome(&decision), Free);
    let GateDecision::Ask(ask) = judge(nothing, on_request, workspace(), "touch x", &approvals)
    else {
        panic!("no question");
    };
    approvals.approve(ask.keys);
    let again = judge(nothing, on_request, workspace(), "touch x", &approvals);
    assert_eq!(outcome(&again), Free);
    let some = EnforcementLevels {
        seatbelt: true,
        ..nothing
    };
    let decision = judge(some, on_request, workspace(), "ls", &approvals);
    assert_eq!(outcome(&decision), Confined);
}

#[test]
fn chosen_restricted_token_confines_commands_with_network() {
    let levels = EnforcementLevels {
        restricted_token: true,
        ..EnforcementLevels::default()
    };
    let open = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        network: NetworkMode::Enabled,
        ..WorkspaceWrite::default()
    });
    for (policy, restricted_token, expected) in [
        (open.clone(), true, Confined),
        (open, false, AskFree),
        (workspace(), true, AskFree),
    ] {
        let effect = Effect::Command(command("ls", SandboxPermissions::UseDefault));
        let policy = TurnPolicy {
            restricted_token,
            ..turn_policy(AskForApproval::OnRequest, policy)
        };
        let approvals = ApprovalStore::default();
        let decision = decide(&effect, &policy, &approvals);
        let decision = without_sandbox(decision, &effect, &policy, &approvals, || levels);
        assert_eq!(outcome(&decision), expected, "{policy:?}");
    }
}

#[test]
fn patches_are_judged_by_the_paths_that_they_touch() {
    let folder = tempfile::tempdir().unwrap();
    let root = dunce::canonicalize(folder.path()).unwrap();
    std::fs::create_dir_all(root.join("work/.git")).unwrap();
    let inside = WorkspaceWrite {
        tmpdir: false,
        slash_tmp: false,
        ..WorkspaceWrite::default()
    };
    let decide = |approval, touched: PathBuf| {
        let cwd = root.join("work");
        let policy = ConfinementPolicy::WorkspaceWrite(inside.clone());
        let turn_policy = TurnPolicy {
            cwd,
            ..turn_policy(approval, policy)
        };
        let change = FileChange::Add {
            content: String::new(),
        };
        let changes = BTreeMap::from([(touched.display().to_string(), change)]);
        let effect = Effect::Patch(PatchEffect {
            changes,
            touched: vec![touched],
            elsewhere: None,
        });
        outcome(&super::decide(
            &effect,
            &turn_policy,
            &ApprovalStore::default(),
        ))
    };
    let (on_request, never) = (AskForApproval::OnRequest, AskForApproval::Never);
    assert_eq!(decide(on_request, root.join("work/a")), Confined);
    assert_eq!(
        decide(AskForApproval::UnlessTrusted, root.join("work/a")),
        AskConfined
    );
    for outside in ["b", "work/.git/config"] {
        assert_eq!(
            decide(on_request, root.join(outside)),
            AskConfined,
            "{outside}"
        );
        assert_eq!(
            decide(AskForApproval::OnFailure, root.join(outside)),
            AskConfined,
            "{outside}"
        );
        assert_eq!(decide(never, root.join(outside)), Refused, "{outside}");
        assert_eq!(
            decide(GRANULAR_POLICY, root.join(outside)),
            Refused,
            "{outside}"
        );
    }
}

#[test]
fn approvals_are_remembered_per_exact_effect() {
    let untrusted = turn_policy(AskForApproval::UnlessTrusted, workspace());
    let effect = |script| Effect::Command(command(script, SandboxPermissions::UseDefault));
    let mut approvals = ApprovalStore::default();
    let GateDecision::Ask(ask) = decide(&effect("touch x"), &untrusted, &approvals) else {
        panic!()
    };
    approvals.approve(ask.keys);
    assert_eq!(
        outcome(&decide(&effect("touch  x"), &untrusted, &approvals)),
        Confined
    );
    assert_eq!(
        outcome(&decide(&effect("touch y"), &untrusted, &approvals)),
        AskConfined
    );
}

#[test]
fn escalated_commands_always_need_approval() {
    for script in ["ls", "cat x", "pwd", "ls | wc -l", "touch x"] {
        let effect = Effect::Command(command(script, SandboxPermissions::RequireEscalated));
        let decision = |approval| {
            decide(
                &effect,
                &turn_policy(approval, workspace()),
                &ApprovalStore::default(),
            )
        };
        assert_eq!(
            outcome(&decision(AskForApproval::OnRequest)),
            AskFree,
            "{script}"
        );
        assert_eq!(
            outcome(&decision(AskForApproval::UnlessTrusted)),
            AskFree,
            "{script}"
        );
        assert_eq!(
            outcome(&decision(AskForApproval::Never)),
            Refused,
            "{script}"
        );
    }
    let additional = CommandEffect {
        additional: Some(codex_protocol::PermissionProfile {
            network: Some(codex_protocol::NetworkPermissions {
                enabled: Some(true),
            }),
            ..Default::default()
        }),
        ..command("ls", SandboxPermissions::WithAdditionalPermissions)
    };
    let decision = decide(
        &Effect::Command(additional),
        &turn_policy(AskForApproval::OnRequest, workspace()),
        &ApprovalStore::default(),
    );
    assert_eq!(outcome(&decision), AskConfined);
}

/// A folder that the model may write, with programs that have well-known names.
fn models_folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    for name in ["bash", "cat", "sleep"] {
        let file = folder.path().join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn in_folder(turn_policy: TurnPolicy, folder: &std::path::Path, path: &str) -> TurnPolicy {
    let environment = BTreeMap::from([("PATH".into(), path.into())]);
    TurnPolicy {
        cwd: folder.to_owned(),
        environment: std::sync::Arc::new(environment),
        ..turn_policy
    }
}

#[test]
fn programs_of_model_are_not_system_programs() {
    let folder = models_folder();
    let own = folder.path().display().to_string();
    let decide = |argv: &[&str], path: &str, approvals: &ApprovalStore| {
        let effect = Effect::Command(CommandEffect {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            cwd: folder.path().to_owned(),
            ..command("", SandboxPermissions::UseDefault)
        });
        let turn_policy = turn_policy(AskForApproval::UnlessTrusted, workspace());
        outcome(&super::decide(
            &effect,
            &in_folder(turn_policy, folder.path(), path),
            approvals,
        ))
    };
    let usual = "/usr/local/bin:/usr/bin:/bin";
    let nothing = ApprovalStore::default();
    let shell = format!("{own}/bash");
    assert_eq!(
        decide(&["/bin/bash", "-lc", "cat x"], usual, &nothing),
        Confined
    );
    assert_eq!(decide(&["cat", "x"], usual, &nothing), Confined);
    for argv in [
        &[shell.as_str(), "-lc", "cat x"][..],
        &["./bash", "-c", "cat x"],
        &["/bin/bash", "-lc", &format!("{own}/cat x")],
        &["/bin/bash", "-lc", &format!("{shell} -c ls")],
        &["/bin/bash", "-lc", "git status"],
        &["git", "status"],
        &["/bin/bash", "-c", "cat x | uniq - /any/file"],
    ] {
        assert_eq!(decide(argv, usual, &nothing), AskConfined, "{argv:?}");
    }
    for path in [
        format!("{own}:{usual}"),
        format!(".:{usual}"),
        format!("sub:{usual}"),
        format!(":{usual}"),
    ] {
        assert_eq!(
            decide(&["/bin/bash", "-c", "cat x"], &path, &nothing),
            AskConfined,
            "{path}"
        );
    }
    let approvals = with_rules("prefix_rule(pattern=[\"sleep\"], decision=\"allow\")");
    assert_eq!(
        decide(&["/bin/bash", "-lc", "sleep 1"], usual, &approvals),
        Free
    );
    assert_eq!(decide(&["/bin/sleep", "1"], usual, &approvals), Free);
    assert_eq!(
        decide(&[&format!("{own}/sleep"), "1"], usual, &approvals),
        AskConfined
    );
    assert_eq!(decide(&["./sleep", "1"], usual, &approvals), AskConfined);
    assert_eq!(
        decide(
            &["/bin/bash", "-c", "sleep 1"],
            &format!("{own}:{usual}"),
            &approvals
        ),
        AskConfined
    );
    assert_eq!(
        decide(&[&shell, "-c", "sleep 1"], usual, &approvals),
        AskConfined
    );
    // A rule about a file that the model may write lets it run, in the sandbox.
    let named = format!("prefix_rule(pattern=[\"{own}/sleep\"], decision=\"allow\")");
    assert_eq!(
        decide(&[&format!("{own}/sleep"), "1"], usual, &with_rules(&named)),
        Confined
    );
}

#[test]
fn login_file_of_model_makes_shell_unknown() {
    let folder = models_folder();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let environment = BTreeMap::from([("HOME".into(), home.clone().into())]);
    let turn_policy = TurnPolicy {
        cwd: folder.path().to_owned(),
        environment: std::sync::Arc::new(environment),
        ..turn_policy(AskForApproval::UnlessTrusted, workspace())
    };
    let effect = Effect::Command(command("ls", SandboxPermissions::UseDefault));
    let decide = || {
        outcome(&super::decide(
            &effect,
            &turn_policy,
            &ApprovalStore::default(),
        ))
    };
    assert_eq!(decide(), Confined);
    std::fs::write(home.join(".profile"), "touch x\n").unwrap();
    assert_eq!(decide(), AskConfined);
}

#[test]
fn sandboxed_approval_does_not_allow_escalation() {
    let mut approvals = ApprovalStore::default();
    let prefix = ["touch", "a"].map(str::to_owned);
    approvals.allow_prefix(&prefix, Some(codex_exec_policy::KEEPS_SANDBOX));
    let decide = |script, permissions, approval, approvals: &ApprovalStore| {
        let effect = Effect::Command(command(script, permissions));
        outcome(&super::decide(
            &effect,
            &turn_policy(approval, workspace()),
            approvals,
        ))
    };
    let usual = SandboxPermissions::UseDefault;
    let escalated = SandboxPermissions::RequireEscalated;
    let (untrusted, on_request) = (AskForApproval::UnlessTrusted, AskForApproval::OnRequest);
    assert_eq!(
        decide("touch a /outside", usual, untrusted, &approvals),
        Confined
    );
    assert_eq!(
        decide("touch a /outside", escalated, on_request, &approvals),
        AskFree
    );
    approvals.allow_prefix(&prefix, None);
    assert_eq!(
        decide("touch a /outside", escalated, on_request, &approvals),
        Free
    );

    // An approval for the session covers the run in the sandbox, not a second one without.
    let mut approvals = ApprovalStore::default();
    let effect = Effect::Command(command("touch x", usual));
    let turn_policy = turn_policy(untrusted, workspace());
    let GateDecision::Ask(ask) = super::decide(&effect, &turn_policy, &approvals) else {
        panic!("asked")
    };
    assert!(!ask.lifts_sandbox);
    approvals.approve(ask.keys);
    let GateDecision::Run(permit) = super::decide(&effect, &turn_policy, &approvals) else {
        panic!("remembered")
    };
    let Effect::Command(command) = &effect else {
        panic!("a command")
    };
    let again = decide_retry(command, &turn_policy, &permit).map(|decision| outcome(&decision));
    assert_eq!(again, Some(AskFree));
    // Another shell is another command.
    let mut argv = command.argv.clone();
    argv[0] = "/bin/sh".to_owned();
    let other = Effect::Command(CommandEffect {
        argv,
        ..command.clone()
    });
    assert_eq!(
        outcome(&super::decide(&other, &turn_policy, &approvals)),
        AskConfined
    );
}

#[test]
fn rules_that_forbid_are_no_matter_of_spelling() {
    let approvals = with_rules("prefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\")");
    let decide = |approval, script: &str| {
        let effect = Effect::Command(command(script, SandboxPermissions::UseDefault));
        outcome(&super::decide(
            &effect,
            &turn_policy(approval, workspace()),
            &approvals,
        ))
    };
    for script in [
        "env git push",
        "command git push",
        "eval git push",
        "xargs git push",
        "timeout 3 git push",
        "nice git push",
        "nohup git push",
        "time git push",
        "coproc git push",
        "git -C . push",
        "find . -exec git push \\;",
        "git --no-pager push",
        "git {push,}",
        "echo $(git push)",
        "/usr/bin/git push",
        "bash -c 'git push'",
        "git pu\\\nsh",
        "f() { git push; }; f",
    ] {
        assert_eq!(
            decide(AskForApproval::OnRequest, script),
            Refused,
            "{script}"
        );
    }
    for script in [
        "{git,push}",
        "x=push; git $x",
        "$(echo git) push",
        "g=git; $g push",
        "bash <<E\ngit push\nE",
        "sh x.sh",
        "python3 -c 'import os; os.system(\"git push\")'",
        "git p",
        "alias x=git; x push",
        "awk 'BEGIN { system(\"git push\") }'",
        "sed '1e git push' x",
        "make | sh",
    ] {
        assert_eq!(
            decide(AskForApproval::OnRequest, script),
            AskConfined,
            "{script}"
        );
        assert_eq!(decide(AskForApproval::Never, script), Refused, "{script}");
    }
    for script in [
        "ls -la",
        "cargo test 2>&1 | tail",
        "for f in *; do wc \"$f\"; done",
        "git status",
        "touch push git",
    ] {
        assert_eq!(
            decide(AskForApproval::OnRequest, script),
            Confined,
            "{script}"
        );
    }
    let started = |words: &[&str]| {
        let argv = words.iter().map(ToString::to_string).collect();
        let effect = CommandEffect {
            argv,
            ..command("", SandboxPermissions::UseDefault)
        };
        let turn_policy = turn_policy(AskForApproval::OnRequest, workspace());
        outcome(&super::decide(
            &Effect::Command(effect),
            &turn_policy,
            &approvals,
        ))
    };
    assert_eq!(started(&["uv", "run", "git", "push"]), Refused);
    assert_eq!(started(&["some-tool", "--", "git", "push"]), AskConfined);
    assert_eq!(started(&["grep", "-r", "git", "push"]), Confined);
}
