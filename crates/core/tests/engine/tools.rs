//! Commands, patches and questions: approvals, runs, outputs.

use std::time::Duration;

use codex_model_client::ModelEvent;
use codex_protocol::*;
use serde_json::json;

use crate::support::*;

/// Runs a turn with these calls and returns their outputs.
async fn outputs_of(driver: &mut Driver, items: Vec<ResponseItem>) -> Vec<serde_json::Value> {
    driver.model.push(ModelReply::Events(calls(items)));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("go").await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
    driver.assert_ends();
    outputs(&driver.model.inputs().pop().unwrap())
}

async fn asking() -> Driver {
    Driver::with_config(|config| {
        config.options.settings.approval_policy = AskForApproval::UnlessTrusted;
        config.options.settings.sandbox_policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            read_only_access: ReadOnlyAccess::FullAccess,
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
            read_only_paths: Vec::new(),
        };
    })
    .await
}

/// Starts a turn with a command that needs an approval.
async fn asked_about(driver: &mut Driver, command: &str) {
    driver
        .model
        .push(ModelReply::Events(calls(vec![script(command, "c1")])));
    driver.submit_text("go").await;
    driver
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
}

async fn decide(driver: &Driver, decision: ReviewDecision) {
    let id = "c1".to_owned();
    driver
        .submit(Op::ExecApproval {
            id,
            turn_id: None,
            decision,
        })
        .await;
}

fn ends(driver: &Driver) -> Vec<ExecCommandStatus> {
    let end = |event: &Event| match &event.msg {
        EventMsg::ExecCommandEnd(end) => Some(end.status),
        _ => None,
    };
    driver.seen.iter().filter_map(end).collect()
}

#[tokio::test]
async fn a_command_runs_and_the_model_reads_its_output() {
    let mut driver = Driver::new().await;
    let items = vec![script("print hello", "a"), script("fail oh", "b")];
    let outputs = outputs_of(&mut driver, items).await;
    assert_eq!(
        outputs[0],
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nhello"
    );
    assert_eq!(
        outputs[1],
        "Exit code: 1\nWall time: 0 seconds\nOutput:\noh"
    );
    assert_eq!(
        ends(&driver),
        [ExecCommandStatus::Completed, ExecCommandStatus::Failed]
    );
    let launch = &driver.processes.launches()[0];
    assert_eq!(launch.command, ["/bin/bash", "-c", "print hello"]);
    assert!(
        launch
            .environment
            .iter()
            .any(|(name, _)| name == "CODEX_THREAD_ID")
    );
}

#[tokio::test]
async fn bad_arguments_are_answered() {
    let mut driver = Driver::new().await;
    let items = vec![
        call("shell_command", json!({}), "a"),
        call("shell", json!({ "command": [] }), "b"),
        call("shell_command", json!(""), "c"),
        call(
            "shell_command",
            json!({ "command": "x", "sandbox_permissions": "require_escalated" }),
            "d",
        ),
    ];
    let outputs = outputs_of(&mut driver, items).await;
    let missing = "failed to parse function arguments: missing field `command`";
    assert!(
        outputs[0].as_str().unwrap().starts_with(missing),
        "{outputs:?}"
    );
    assert_eq!(outputs[1], "command args are empty");
    let nothing =
        "failed to parse function arguments: EOF while parsing a value at line 1 column 0";
    assert_eq!(outputs[2], nothing);
    assert!(
        outputs[3]
            .as_str()
            .unwrap()
            .starts_with("approval policy is Never; reject command")
    );
    assert!(driver.processes.launches().is_empty());
}

#[tokio::test]
async fn approved_command_runs() {
    let mut driver = asking().await;
    asked_about(&mut driver, "print x").await;
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    decide(&driver, ReviewDecision::Approved).await;
    driver.turn_over().await;
    assert_eq!(ends(&driver), [ExecCommandStatus::Completed]);
    driver.assert_ends();
}

#[tokio::test]
async fn declined_command_does_not_run_and_the_turn_continues() {
    let mut driver = asking().await;
    asked_about(&mut driver, "print x").await;
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    decide(&driver, ReviewDecision::Denied).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)));
    assert_eq!(ends(&driver), [ExecCommandStatus::Declined]);
    let outputs = outputs(&driver.model.inputs().pop().unwrap());
    assert_eq!(outputs, ["exec command rejected by user"]);
    assert!(driver.processes.launches().is_empty());
    driver.assert_ends();
}

#[tokio::test]
async fn session_approval_is_not_asked_again() {
    let mut driver = asking().await;
    asked_about(&mut driver, "print x").await;
    driver
        .model
        .push(ModelReply::Events(calls(vec![script("print x", "c2")])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    decide(&driver, ReviewDecision::ApprovedForSession).await;
    driver.turn_over().await;
    assert_eq!(ends(&driver).len(), 2);
    let asked = driver
        .names()
        .iter()
        .filter(|name| *name == "exec_approval_request")
        .count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn prefix_rule_allows_matching_commands() {
    let mut driver = asking().await;
    asked_about(&mut driver, "print x").await;
    driver
        .model
        .push(ModelReply::Events(calls(vec![script("print x y", "c2")])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    let words = vec!["print".to_owned(), "x".to_owned()];
    decide(
        &driver,
        ReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment: ExecPolicyAmendment(words),
        },
    )
    .await;
    driver.turn_over().await;
    assert_eq!(ends(&driver).len(), 2);
    let context = texts(&driver.model.inputs().pop().unwrap(), "developer");
    assert!(context.contains(&"Approved command prefix saved:\n- [\"print\", \"x\"]".to_owned()));
}

#[tokio::test]
async fn user_may_choose_unproposed_rule() {
    let mut driver = asking().await;
    asked_about(&mut driver, "print x").await;
    driver
        .model
        .push(ModelReply::Events(calls(vec![script("print other", "c2")])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    let rule = ReviewDecision::ApprovedExecpolicyAmendment {
        proposed_execpolicy_amendment: ExecPolicyAmendment(vec!["print".to_owned()]),
    };
    decide(&driver, rule).await;
    driver.turn_over().await;
    assert_eq!(ends(&driver).len(), 2);
}

/// A model that has sent a call but not the end of the response.
async fn unfinished_response(driver: &mut Driver) -> Feed {
    let (feed, reply) = fed();
    driver.model.push(reply);
    driver.submit_text("go").await;
    feed.send(Ok(ModelEvent::ItemDone(script("print x", "c"))))
        .unwrap();
    feed
}

#[tokio::test]
async fn token_usage_precedes_the_approval() {
    let mut driver = asking().await;
    driver.clock.hold();
    let feed = unfinished_response(&mut driver).await;
    driver
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    feed.send(Ok(completed("r"))).unwrap();
    let asks = |msg: &EventMsg| matches!(msg, EventMsg::ExecApprovalRequest(_));
    driver.until(asks).await;
    assert_eq!(driver.count("token_count"), 1);
    decide(&driver, ReviewDecision::Abort).await;
    driver.turn_over().await;
}

#[tokio::test]
async fn a_response_without_end_keeps_nobody_from_being_asked() {
    let mut driver = asking().await;
    let _feed = unfinished_response(&mut driver).await;
    let asks = |msg: &EventMsg| matches!(msg, EventMsg::ExecApprovalRequest(_));
    driver.until(asks).await;
    assert_eq!(driver.count("token_count"), 0);
    assert_eq!(driver.clock.sleeps(), [Duration::from_secs(1)]);
    decide(&driver, ReviewDecision::Abort).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnAborted(_)), "{over:?}");
}

#[tokio::test]
async fn stopping_at_an_approval_ends_the_turn() {
    let mut driver = asking().await;
    asked_about(&mut driver, "print x").await;
    decide(&driver, ReviewDecision::Abort).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnAborted(_)), "{over:?}");
    assert_eq!(ends(&driver), [ExecCommandStatus::Declined]);
    driver.assert_ends();
}

#[tokio::test]
async fn a_patch_is_applied_inside_and_asked_about_outside() {
    let mut driver = Driver::with_config(|config| {
        config.options.settings.approval_policy = AskForApproval::OnRequest;
        config.options.settings.sandbox_policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            read_only_access: ReadOnlyAccess::FullAccess,
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
            read_only_paths: Vec::new(),
        };
        config.options.settings.cwd = config.services.home.join("work");
        std::fs::create_dir(&config.options.settings.cwd).unwrap();
    })
    .await;
    let patch = |path: &str| format!("*** Begin Patch\n*** Add File: {path}\n+hi\n*** End Patch");
    let inside = script(
        &format!("apply_patch <<'EOF'\n{}\nEOF", patch("a.txt")),
        "a",
    );
    let outputs = outputs_of(&mut driver, vec![inside]).await;
    assert!(
        outputs[0]
            .as_str()
            .unwrap()
            .contains("Success. Updated the following files:\nA a.txt")
    );
    let made = driver.home.path().join("work/a.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "hi\n");
    let diff = driver.seen.iter().find_map(|event| match &event.msg {
        EventMsg::TurnDiff(diff) => Some(diff.unified_diff.clone()),
        _ => None,
    });
    assert!(diff.unwrap().contains("+++ b"));
    let outside = script(
        &format!("apply_patch <<'EOF'\n{}\nEOF", patch("../b.txt")),
        "b",
    );
    driver.model.push(ModelReply::Events(calls(vec![outside])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("again").await;
    driver
        .until(|msg| matches!(msg, EventMsg::ApplyPatchApprovalRequest(_)))
        .await;
    let decision = ReviewDecision::Denied;
    driver
        .submit(Op::PatchApproval {
            id: "b".to_owned(),
            decision,
        })
        .await;
    driver.turn_over().await;
    assert!(!driver.home.path().join("b.txt").exists());
    let last = crate::support::outputs(&driver.model.inputs().pop().unwrap());
    assert_eq!(last[1], "patch rejected by user");
    driver.assert_ends();
}

/// The shell could not enter the folder either.
#[tokio::test]
async fn patch_does_not_create_its_working_folder() {
    let mut driver = Driver::new().await;
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    let call = script(&format!("cd sub && apply_patch <<'EOF'\n{patch}\nEOF"), "a");
    let outputs = outputs_of(&mut driver, vec![call]).await;
    let missing = "execution error: No such file or directory (os error 2)";
    assert_eq!(outputs, [missing]);
    assert!(!driver.home.path().join("sub").exists());
}

#[tokio::test]
async fn the_client_carries_its_tools_out() {
    let mut driver = Driver::with_config(|config| {
        config.options.dynamic_tools = vec![DynamicToolSpec::Function(DynamicToolFunction {
            namespace: None,
            kind: None,
            name: "weather".to_owned(),
            description: "The weather.".to_owned(),
            input_schema: json!({ "type": "object", "properties": {} }),
            defer_loading: false,
        })];
    })
    .await;
    driver.model.push(ModelReply::Events(calls(vec![call(
        "weather",
        json!({ "city": "x" }),
        "w",
    )])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("go").await;
    driver
        .until(|msg| matches!(msg, EventMsg::DynamicToolCallRequest(_)))
        .await;
    let content_items = vec![DynamicToolContentItem::InputText {
        text: "sunny".to_owned(),
    }];
    let response = DynamicToolResponse {
        content_items,
        success: true,
    };
    driver
        .submit(Op::DynamicToolResponse {
            id: "w".to_owned(),
            response,
        })
        .await;
    driver.turn_over().await;
    assert_eq!(outputs(&driver.model.inputs().pop().unwrap()), ["sunny"]);
    driver.assert_ends();
}

#[tokio::test]
async fn the_user_is_asked_where_the_mode_allows_it() {
    let question = json!({ "questions": [{
        "id": "q", "header": "h", "question": "which?",
        "options": [{ "label": "a", "description": "b" }],
    }] });
    let mut driver = Driver::new().await;
    let refused = outputs_of(
        &mut driver,
        vec![call("request_user_input", question.clone(), "q1")],
    )
    .await;
    assert_eq!(
        refused,
        ["request_user_input is unavailable in Default mode"]
    );
    let settings = Settings {
        model: "mock-model".to_owned(),
        reasoning_effort: None,
        developer_instructions: None,
    };
    let change = OverrideTurnContext {
        collaboration_mode: Some(CollaborationMode {
            mode: ModeKind::Plan,
            settings,
        }),
        ..OverrideTurnContext::default()
    };
    driver
        .submit(Op::OverrideTurnContext(Box::new(change)))
        .await;
    driver.model.push(ModelReply::Events(calls(vec![call(
        "request_user_input",
        question,
        "q2",
    )])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    let turn = driver.submit_text("go").await;
    driver
        .until(|msg| matches!(msg, EventMsg::RequestUserInput(_)))
        .await;
    let answer = RequestUserInputAnswer {
        answers: vec!["a".to_owned()],
    };
    let response = RequestUserInputResponse {
        answers: [("q".to_owned(), answer)].into(),
    };
    driver
        .submit(Op::UserInputAnswer { id: turn, response })
        .await;
    driver.turn_over().await;
    let outputs = outputs(&driver.model.inputs().pop().unwrap());
    assert_eq!(outputs[1], r#"{"answers":{"q":{"answers":["a"]}}}"#);
}

#[tokio::test]
async fn a_command_that_ends_at_once_keeps_no_session() {
    let mut driver = Driver::new().await;
    let quick = call(
        "exec_command",
        json!({ "cmd": "print hi", "login": false }),
        "a",
    );
    let unknown = call("write_stdin", json!({ "session_id": 7 }), "b");
    let outputs = outputs_of(&mut driver, vec![quick, unknown]).await;
    let output = outputs[0].as_str().unwrap();
    assert!(
        output.starts_with("Command: /bin/bash -c 'print hi'\nChunk ID: "),
        "{output}"
    );
    assert!(
        output.contains("\nProcess exited with code 0\n"),
        "{output}"
    );
    assert!(output.ends_with("\nOutput:\nhi"), "{output}");
    assert_eq!(outputs[1], "write_stdin failed: Unknown process id 7");
}

#[tokio::test]
async fn background_command_ends_with_the_thread() {
    let mut driver = Driver::new().await;
    let slow = json!({ "cmd": "held", "login": false, "yield_time_ms": 250 });
    driver.model.push(ModelReply::Events(calls(vec![call(
        "exec_command",
        slow,
        "a",
    )])));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("go").await;
    driver.turn_over().await;
    let output = outputs(&driver.model.inputs().pop().unwrap()).remove(0);
    assert!(
        output
            .as_str()
            .unwrap()
            .contains("\nProcess running with session ID "),
        "{output}"
    );
    assert!(ends(&driver).is_empty());
    driver.manager.close(driver.thread.id()).await;
    driver
        .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
        .await;
    assert_eq!(ends(&driver), [ExecCommandStatus::Failed]);
}

#[tokio::test]
async fn user_shell_command_runs_and_is_recorded() {
    let mut driver = Driver::new().await;
    driver
        .submit(Op::RunUserShellCommand {
            command: "print hi".to_owned(),
            timeout_ms: None,
        })
        .await;
    driver.turn_over().await;
    assert_eq!(ends(&driver), [ExecCommandStatus::Completed]);
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    driver.submit_text("what did I do?").await;
    driver.turn_over().await;
    let context = texts(&driver.model.inputs().pop().unwrap(), "user");
    let expected = "<user_shell_command>\n<command>\nprint hi\n</command>\n<result>\nExit code: 0\n\
                    Duration: 0.0000 seconds\nOutput:\nhi\n</result>\n</user_shell_command>";
    assert!(context.contains(&expected.to_owned()), "{context:?}");
    driver.assert_ends();
}

#[tokio::test]
async fn user_command_that_outlasts_the_turn_is_recorded_later() {
    let mut driver = Driver::new().await;
    let (feed, reply) = fed();
    driver.model.push(reply);
    driver.submit_text("go").await;
    driver
        .until(|msg| matches!(msg, EventMsg::TurnStarted(_)))
        .await;
    let command = Op::RunUserShellCommand {
        command: "held".to_owned(),
        timeout_ms: None,
    };
    driver.submit(command).await;
    driver
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    for event in message_events("done", &[]) {
        feed.send(event).unwrap();
    }
    drop(feed);
    driver.turn_over().await;
    driver.processes.release();
    driver
        .until(|msg| matches!(msg, EventMsg::ExecCommandEnd(_)))
        .await;
    // The record may come while the next turn runs, but not after that.
    for text in ["next", "last"] {
        driver
            .model
            .push(ModelReply::Events(message_events("done", &[])));
        driver.submit_text(text).await;
        driver.turn_over().await;
    }
    let context = texts(&driver.model.inputs().pop().unwrap(), "user");
    let is_record = |text: &&String| text.contains("<command>\nheld\n</command>");
    assert_eq!(context.iter().filter(is_record).count(), 1, "{context:?}");
}

/// A thread whose commands run in a sandbox, and without it after an approval.
async fn on_failure() -> Driver {
    Driver::with_config(|config| {
        config.options.settings.approval_policy = AskForApproval::OnFailure;
        config.options.settings.sandbox_policy = SandboxPolicy::ReadOnly {
            access: ReadOnlyAccess::FullAccess,
            network_access: false,
        };
    })
    .await
}

fn guarded(tool: &str) -> ResponseItem {
    let (key, script) = match tool {
        "exec_command" => ("cmd", "guarded x"),
        _ => ("command", "guarded x"),
    };
    call(tool, json!({ key: script, "login": false }), "c1")
}

#[tokio::test]
async fn denied_command_runs_again_after_approval() {
    for tool in ["shell_command", "exec_command"] {
        let mut driver = on_failure().await;
        driver
            .model
            .push(ModelReply::Events(calls(vec![guarded(tool)])));
        driver
            .model
            .push(ModelReply::Events(message_events("done", &[])));
        driver.submit_text("go").await;
        let asked = driver
            .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
            .await;
        let EventMsg::ExecApprovalRequest(request) = asked.msg else {
            panic!("{asked:?}")
        };
        let reason = "command failed; retry without sandbox?";
        assert_eq!(request.reason.as_deref(), Some(reason), "{tool}");
        decide(&driver, ReviewDecision::Approved).await;
        driver.turn_over().await;
        driver.assert_ends();
        assert_eq!(ends(&driver), [ExecCommandStatus::Completed], "{tool}");
        assert_eq!(driver.processes.launches().len(), 2);
        let said = outputs(&driver.model.inputs().pop().unwrap());
        assert!(
            said[0].as_str().unwrap().ends_with("Output:\nx"),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn denied_command_does_not_run_again_after_refusal() {
    for tool in ["shell_command", "exec_command"] {
        let mut driver = on_failure().await;
        driver
            .model
            .push(ModelReply::Events(calls(vec![guarded(tool)])));
        driver
            .model
            .push(ModelReply::Events(message_events("done", &[])));
        driver.submit_text("go").await;
        driver
            .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
            .await;
        decide(&driver, ReviewDecision::Denied).await;
        driver.turn_over().await;
        driver.assert_ends();
        assert_eq!(ends(&driver), [ExecCommandStatus::Declined], "{tool}");
        assert_eq!(driver.processes.launches().len(), 1);
        let said = outputs(&driver.model.inputs().pop().unwrap());
        assert!(said[0].as_str().unwrap().contains("rejected by user"));
    }
}

#[tokio::test]
async fn sandbox_denial_is_reported_under_approval_policy_never() {
    for tool in ["shell_command", "exec_command"] {
        let mut driver = on_failure().await;
        driver
            .submit(Op::OverrideTurnContext(Box::new(OverrideTurnContext {
                approval_policy: Some(AskForApproval::Never),
                ..OverrideTurnContext::default()
            })))
            .await;
        let said = outputs_of(&mut driver, vec![guarded(tool)]).await;
        assert!(said[0].as_str().unwrap().contains("Permission denied"));
        assert_eq!(ends(&driver), [ExecCommandStatus::Failed], "{tool}");
    }
}

#[tokio::test]
async fn interrupt_ends_question_about_second_run() {
    let mut driver = on_failure().await;
    driver
        .model
        .push(ModelReply::Events(calls(vec![guarded("exec_command")])));
    driver.submit_text("go").await;
    driver
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    driver.submit(Op::Interrupt).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnAborted(_)), "{over:?}");
    driver.assert_ends();
}
