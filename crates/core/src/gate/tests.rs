//! The decisions, as a table.

use std::path::PathBuf;

use codex_protocol::{AskForApproval, FileChange, GranularApproval};
use codex_sandbox::{Policy, WorkspaceWrite};

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It runs, in the sandbox.
    Confined,
    /// It runs, without.
    Free,
    /// People are asked, and then it runs in the sandbox.
    AskConfined,
    /// People are asked, and then it runs without.
    AskFree,
    Refused,
}

use Outcome::{AskConfined, AskFree, Confined, Free, Refused};

const GRANULAR: AskForApproval = AskForApproval::Granular(GranularApproval {
    sandbox_approval: false,
    rules: false,
    skill_approval: false,
    request_permissions: false,
    mcp_elicitations: false,
});

fn posture(approval: AskForApproval, policy: Policy) -> Posture {
    let cwd = std::env::temp_dir();
    Posture {
        approval,
        policy,
        cwd,
        tmpdir: None,
        inline_permissions: false,
    }
}

fn workspace() -> Policy {
    Policy::WorkspaceWrite(WorkspaceWrite::default())
}

fn command(script: &str, permissions: SandboxPermissions) -> CommandEffect {
    CommandEffect {
        argv: ["/bin/bash", "-lc", script].map(str::to_owned).to_vec(),
        cwd: std::env::temp_dir(),
        permissions,
        additional: None,
        justification: Some("because".to_owned()),
        prefix_rule: None,
        tty: None,
    }
}

fn outcome(decision: &Decision) -> Outcome {
    let free = |pass: &Pass| pass.confinement == Confinement::None;
    match decision {
        Decision::Run(pass) if free(pass) => Free,
        Decision::Run(_) => Confined,
        Decision::Ask(ask) if free(&ask.then) => AskFree,
        Decision::Ask(_) => AskConfined,
        Decision::Refuse(_) => Refused,
    }
}

fn check(approval: AskForApproval, policy: Policy, script: &str, expected: Outcome) {
    let effect = Effect::Command(command(script, SandboxPermissions::UseDefault));
    let decision = decide(&effect, &posture(approval, policy), &Memory::default());
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
        (GRANULAR, Confined, Confined, Refused),
        (Never, Confined, Confined, Refused),
    ] {
        check(approval, workspace(), "ls | wc -l", safe);
        check(approval, workspace(), "touch x", plain);
        check(approval, workspace(), "rm -rf x", dangerous);
        check(approval, Policy::read_only(), "ls && rm -rf x", dangerous);
    }
    for (approval, plain, dangerous) in [
        (UnlessTrusted, AskFree, AskFree),
        (OnRequest, Free, AskFree),
        (Never, Free, Free),
    ] {
        check(approval, Policy::DangerFullAccess, "ls", Free);
        check(approval, Policy::DangerFullAccess, "touch x", plain);
        check(approval, Policy::DangerFullAccess, "rm -rf x", dangerous);
    }
    // What is not understood is not safe.
    check(UnlessTrusted, workspace(), "ls > x", AskConfined);
    check(UnlessTrusted, workspace(), "ls $(touch x)", AskConfined);
}

#[test]
fn leaving_the_sandbox_is_asked_about() {
    let escalated = Effect::Command(command("touch x", SandboxPermissions::RequireEscalated));
    let on_request = posture(AskForApproval::OnRequest, workspace());
    let decision = decide(&escalated, &on_request, &Memory::default());
    assert_eq!(outcome(&decision), AskFree);
    let Decision::Ask(ask) = decision else {
        panic!("asked")
    };
    assert_eq!(ask.reason.as_deref(), Some("because"));
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
        GRANULAR,
    ] {
        let refused = check_arguments(&command, &posture(approval, workspace()));
        assert!(
            refused
                .unwrap_err()
                .contains("you should not ask for escalated permissions")
        );
    }
    assert_eq!(check_arguments(&command, &on_request), Ok(()));
}

fn with_rules(rules: &str) -> Memory {
    let mut policy = codex_exec_policy::Policy::default();
    policy.add_file("test.rules", rules).unwrap();
    Memory::with_rules(policy)
}

#[test]
fn rules_decide_first_and_the_strictest_counts() {
    let memory = with_rules(
        "prefix_rule(pattern=[\"make\"], decision=\"allow\")\n\
         prefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\", justification=\"no\")\n\
         prefix_rule(pattern=[\"whoami\"], decision=\"prompt\")\n",
    );
    let decide = |approval, script: &str| {
        let effect = Effect::Command(command(script, SandboxPermissions::UseDefault));
        decide(&effect, &posture(approval, workspace()), &memory)
    };
    let on_request = AskForApproval::OnRequest;
    assert_eq!(outcome(&decide(on_request, "make all")), Free);
    // Only a script of which every part is allowed by a rule leaves the sandbox.
    assert_eq!(outcome(&decide(on_request, "make && touch /x")), Confined);
    assert_eq!(outcome(&decide(on_request, "whoami")), AskConfined);
    for script in [
        "git add . && git push",
        "echo $(git push)",
        "FOO=1 git push",
    ] {
        let decision = decide(on_request, script);
        let Decision::Refuse(reason) = decision else {
            panic!("{script}: {decision:?}")
        };
        assert!(reason.ends_with("rejected: no"), "{reason}");
    }
    let Decision::Refuse(reason) = decide(AskForApproval::Never, "whoami") else {
        panic!()
    };
    assert_eq!(
        reason,
        "approval required by policy, but AskForApproval is set to Never"
    );
    let Decision::Refuse(reason) = decide(GRANULAR, "whoami") else {
        panic!()
    };
    assert!(reason.contains("Granular.rules is false"));
}

#[test]
fn a_second_run_without_sandbox_depends_on_the_policy() {
    let command = command("touch /x", SandboxPermissions::UseDefault);
    let confined = |approved| Pass {
        confinement: Confinement::Policy(Default::default()),
        approved,
    };
    let retry = |approval, approved| {
        decide_retry(
            &command,
            &posture(approval, workspace()),
            &confined(approved),
        )
        .map(|decision| outcome(&decision))
    };
    assert_eq!(retry(AskForApproval::OnFailure, false), Some(AskFree));
    assert_eq!(retry(AskForApproval::UnlessTrusted, true), Some(Free));
    assert_eq!(retry(AskForApproval::OnRequest, false), None);
    assert_eq!(retry(AskForApproval::Never, false), None);
    assert_eq!(retry(GRANULAR, false), None);
}

#[test]
fn patches_are_judged_by_the_paths_that_they_touch() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("work/.git")).unwrap();
    let inside = WorkspaceWrite {
        tmpdir: false,
        slash_tmp: false,
        ..WorkspaceWrite::default()
    };
    let decide = |approval, touched: PathBuf| {
        let cwd = root.join("work");
        let policy = Policy::WorkspaceWrite(inside.clone());
        let posture = Posture {
            cwd,
            ..posture(approval, policy)
        };
        let change = FileChange::Add {
            content: String::new(),
        };
        let changes = BTreeMap::from([(touched.display().to_string(), change)]);
        let effect = Effect::Patch(PatchEffect {
            changes,
            touched: vec![touched],
        });
        outcome(&super::decide(&effect, &posture, &Memory::default()))
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
        assert_eq!(decide(GRANULAR, root.join(outside)), Refused, "{outside}");
    }
}

#[test]
fn what_was_approved_is_remembered_by_what_it_is() {
    let untrusted = posture(AskForApproval::UnlessTrusted, workspace());
    let effect = |script| Effect::Command(command(script, SandboxPermissions::UseDefault));
    let mut memory = Memory::default();
    let Decision::Ask(ask) = decide(&effect("touch x"), &untrusted, &memory) else {
        panic!()
    };
    memory.approve(ask.keys);
    assert_eq!(
        outcome(&decide(&effect("touch  x"), &untrusted, &memory)),
        Confined
    );
    assert_eq!(
        outcome(&decide(&effect("touch y"), &untrusted, &memory)),
        AskConfined
    );
}
