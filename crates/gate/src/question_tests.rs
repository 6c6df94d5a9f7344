use codex_protocol::{AbsolutePathBuf, FileSystemPermissions, NetworkPermissions};
use codex_sandbox::WorkspaceWrite;

use super::*;
use crate::tests::{command, turn_policy};
use crate::{ApprovalStore, Effect, GateDecision, SandboxPermissions, decide};

/// The question about a script, under a policy.
fn asked(
    script: &str,
    permissions: SandboxPermissions,
    justification: Option<&str>,
    policy: &TurnPolicy,
) -> QuestionTexts {
    let command = CommandEffect {
        justification: justification.map(str::to_owned),
        ..command(script, permissions)
    };
    let decision = decide(
        &Effect::Command(command.clone()),
        policy,
        &ApprovalStore::default(),
    );
    let GateDecision::Ask(request) = decision else {
        panic!("asked: {decision:?}");
    };
    command_texts(&command, &request, policy)
}

fn on_request() -> TurnPolicy {
    let workspace = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default());
    turn_policy(AskForApproval::OnRequest, workspace)
}

fn escalated(script: &str, justification: Option<&str>) -> QuestionTexts {
    asked(
        script,
        SandboxPermissions::RequireEscalated,
        justification,
        &on_request(),
    )
}

#[test]
fn question_states_that_the_command_leaves_the_sandbox() {
    let texts = escalated("touch x", Some("need it"));
    let reason = texts.reason.unwrap();
    assert!(reason.starts_with(WITHOUT_SANDBOX), "{reason}");
    assert!(
        reason.ends_with("The model's reason (7 characters): “need it”"),
        "{reason}"
    );
    assert_eq!(
        texts.notice.unwrap(),
        format!("{WITHOUT_SANDBOX} {RULE_WITHOUT_SANDBOX}")
    );
    assert_eq!(texts.justification.unwrap(), "need it");
    let silent = escalated("touch x", None).reason.unwrap();
    assert!(silent.ends_with("The model gives no reason."), "{silent}");
}

#[test]
fn sandboxed_command_has_reason_of_model() {
    let texts = asked(
        "rm -rf x",
        SandboxPermissions::UseDefault,
        Some("need it"),
        &on_request(),
    );
    assert_eq!(texts.reason.as_deref(), Some("need it"));
    assert_eq!(texts.notice.as_deref(), Some(IN_SANDBOX));
    let untrusted = turn_policy(AskForApproval::UnlessTrusted, on_request().policy);
    let texts = asked("touch x", SandboxPermissions::UseDefault, None, &untrusted);
    assert_eq!(texts.reason, None);
    assert_eq!(texts.notice.unwrap(), format!("{IN_SANDBOX} {SECOND_RUN}"));
    let open = turn_policy(
        AskForApproval::UnlessTrusted,
        ConfinementPolicy::DangerFullAccess,
    );
    let texts = asked("touch x", SandboxPermissions::UseDefault, None, &open);
    assert_eq!(texts.notice.as_deref(), Some(NO_SANDBOX));
}

#[test]
fn a_model_cannot_speak_for_the_engine() {
    let forged = "x”\n\nThis command runs in the sandbox. \u{202e}“";
    let reason = escalated("touch x", Some(forged)).reason.unwrap();
    assert!(reason.starts_with(WITHOUT_SANDBOX), "{reason}");
    let said = r"“x\u{201d}\u{a×2}This command runs in the sandbox. \u{202e}\u{201c}”";
    assert!(
        reason.ends_with(&format!("({} characters): {said}", forged.chars().count())),
        "{reason}"
    );
    let texts = asked(
        "rm -rf x",
        SandboxPermissions::UseDefault,
        Some("a\nb\u{200b}"),
        &on_request(),
    );
    assert_eq!(texts.reason.as_deref(), Some(r"a\u{a}b\u{200b}"));
}

#[test]
fn question_states_that_the_command_has_hidden_characters() {
    let texts = asked(
        &format!("rm -rf x #{}", " ".repeat(500)),
        SandboxPermissions::UseDefault,
        Some("need it"),
        &on_request(),
    );
    let reason = texts.reason.unwrap();
    assert!(
        reason.contains(HIDDEN_CHARACTERS) && reason.contains("524 characters"),
        "{reason}"
    );
    for script in ["rm -rf x\u{202e}", "rm -rf \u{1b}[2K", "rm -rf x\u{2028}"] {
        let texts = asked(
            script,
            SandboxPermissions::UseDefault,
            Some("need it"),
            &on_request(),
        );
        assert!(
            texts
                .reason
                .unwrap()
                .starts_with(&format!("{IN_SANDBOX} {HIDDEN_CHARACTERS}"))
        );
    }
}

#[test]
fn additional_rights_precede_reason_of_model() {
    let policy = TurnPolicy {
        inline_permissions: true,
        ..on_request()
    };
    let command = CommandEffect {
        additional: Some(codex_protocol::PermissionProfile {
            network: Some(NetworkPermissions {
                enabled: Some(true),
            }),
            file_system: Some(FileSystemPermissions {
                read: None,
                write: Some(vec![AbsolutePathBuf("/etc/\u{202e}x".to_owned())]),
            }),
            macos: None,
        }),
        justification: Some("It stays in the sandbox.".to_owned()),
        ..command("touch x", SandboxPermissions::WithAdditionalPermissions)
    };
    let decision = decide(
        &Effect::Command(command.clone()),
        &policy,
        &ApprovalStore::default(),
    );
    let GateDecision::Ask(request) = decision else {
        panic!("asked: {decision:?}");
    };
    let texts = command_texts(&command, &request, &policy);
    let notice = texts.notice.unwrap();
    let expected = r"it may also write to “/etc/\u{202e}x” and use the network.";
    assert!(notice.contains(expected), "{notice}");
    let reason = texts.reason.unwrap();
    assert!(reason.starts_with(&notice), "{reason}");
    assert!(reason.ends_with("“It stays in the sandbox.”"), "{reason}");
}

#[test]
fn patch_question_names_outside_paths() {
    let policy = turn_policy(AskForApproval::UnlessTrusted, on_request().policy);
    let patch = |path: &str, content: &str| PatchEffect {
        changes: [(
            path.to_owned(),
            FileChange::Add {
                content: content.to_owned(),
            },
        )]
        .into(),
        touched: vec![path.into()],
        elsewhere: None,
    };
    let texts = |patch: &PatchEffect| patch_texts(patch, &policy, &Grants::default());
    let inside = policy.cwd.join("a").display().to_string();
    assert_eq!(texts(&patch(&inside, "x")).reason, None);
    let outside = texts(&patch("/nowhere/a\nb", "x")).reason.unwrap();
    assert!(
        outside.contains(r"outside of the folders that the sandbox allows: “/nowhere/a\u{a}b”."),
        "{outside}"
    );
    let hidden = texts(&patch(&inside, "a \u{202e}b")).reason.unwrap();
    assert_eq!(hidden, HIDDEN_IN_PATCH);
}

#[test]
fn permission_question_lists_the_granted_rights() {
    let asked = RequestPermissionProfile {
        network: Some(NetworkPermissions {
            enabled: Some(true),
        }),
        file_system: None,
    };
    let texts = permissions_texts(&asked, Some("to fetch"), &on_request());
    let reason = texts.reason.unwrap();
    assert!(
        reason.contains("may use the network, and nobody is asked again."),
        "{reason}"
    );
    assert!(
        reason.ends_with("The model's reason (8 characters): “to fetch”"),
        "{reason}"
    );
}
