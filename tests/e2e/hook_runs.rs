//! Runs of hooks: failures, limits, and processes that must not outlive them.

use std::path::Path;

use codex_test_support::ModelServer;
use serde_json::{Value, json};

use crate::hooks::{Hooked, answer_with, home_with, hook, runs_command};

#[tokio::test]
async fn a_failed_hook_changes_nothing_unless_it_is_required() {
    let fails = "exit 3";
    let hooks = json!({ "PreToolUse": hook(fails) });
    let mut hooked =
        Hooked::with_hooks(hooks, [runs_command("echo hi"), answer_with("done")]).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(
        turn.runs(),
        ["preToolUse failed error:hook exited with code 3"]
    );
    assert_eq!(
        turn.items(),
        ["userMessage", "commandExecution", "agentMessage"]
    );
    hooked.finish().await;
    for (command, problem) in [
        ("exit 3", "hook exited with code 3"),
        ("/no/such/script", "hook exited with code 127"),
        (
            ": > not-executable; ./not-executable",
            "hook exited with code 126",
        ),
        (
            "echo '{bad'",
            "hook returned invalid pre-tool-use JSON output",
        ),
        ("kill -9 $$", "hook exited without a status code"),
        ("sleep 60", "hook timed out after 1s"),
        (
            "yes | head -c 1000000000",
            "hook wrote more than 1048576 bytes",
        ),
    ] {
        let required = json!({ "PreToolUse": [{ "hooks": [{
            "type": "command", "command": command, "onError": "block", "timeout": 1,
        }] }] });
        let mut hooked =
            Hooked::with_hooks(required, [runs_command("touch made"), answer_with("done")]).await;
        let turn = hooked.turn("hello").await;
        // A machine with much to do may take its time.
        let late = "preToolUse blocked error:hook timed out after 1s";
        let runs = turn.runs();
        assert!(
            runs == [format!("preToolUse blocked error:{problem}")] || runs == [late],
            "{runs:?}"
        );
        assert!(hooked.sent(1).contains("a required hook failed: "));
        assert!(!hooked.home.path().join("made").exists());
        hooked.finish().await;
    }
}

#[tokio::test]
async fn an_objection_without_a_reason_is_one() {
    let objection = |fields: Value| format!("cat > /dev/null; echo '{fields}'");
    let denial = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny" });
    let mut blank = denial.clone();
    blank["permissionDecisionReason"] = " ".into();
    for command in [
        objection(json!({ "decision": "block" })),
        objection(json!({ "decision": "block", "reason": "" })),
        objection(json!({ "decision": "block", "continue": false })),
        objection(json!({ "hookSpecificOutput": denial })),
        objection(json!({ "hookSpecificOutput": blank })),
        "exit 2".to_owned(),
        "echo some output; exit 2".to_owned(),
    ] {
        let hooks = json!({ "PreToolUse": hook(&command) });
        let replies = [runs_command("touch made"), answer_with("done")];
        let mut hooked = Hooked::with_hooks(hooks, replies).await;
        let turn = hooked.turn("hello").await;
        assert_eq!(
            turn.runs(),
            ["preToolUse blocked feedback:the hook gave no reason"],
            "{command}"
        );
        let sent = hooked.sent(1);
        let told =
            "Command blocked by PreToolUse hook: the hook gave no reason. Command: touch made";
        assert!(sent.contains(told), "{sent}");
        assert!(!hooked.home.path().join("made").exists());
        hooked.finish().await;
    }
    for command in ["exit 2", "echo '{\"decision\":\"block\"}'"] {
        let hooks = json!({ "UserPromptSubmit": hook(command) });
        let mut hooked = Hooked::with_hooks(hooks, []).await;
        let turn = hooked.turn("hello").await;
        assert_eq!(
            turn.runs(),
            ["userPromptSubmit blocked feedback:the hook gave no reason"]
        );
        assert!(hooked.model.requests().is_empty());
        hooked.finish().await;
    }
}

#[tokio::test]
async fn hook_processes_are_killed_at_its_end() {
    for (command, expected) in [
        (
            "sleep 1000 & echo $! > pid; wait",
            "hook timed out after 1s",
        ),
        (
            "setsid sleep 1000 & echo $! > pid; exit 3",
            "hook exited with code 3",
        ),
    ] {
        let hooks = json!({ "UserPromptSubmit": [{ "hooks": [
            { "type": "command", "command": command, "timeout": 1 },
        ] }] });
        let mut hooked = Hooked::with_hooks(hooks, [answer_with("done")]).await;
        let turn = hooked.turn("hello").await;
        let runs = turn.runs();
        let late = "userPromptSubmit failed error:hook timed out after 1s";
        assert!(
            runs == [format!("userPromptSubmit failed error:{expected}")] || runs == [late],
            "{runs:?}"
        );
        let pid = hooked.file("pid");
        assert!(!pid.trim().is_empty());
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{command}");
        hooked.finish().await;
    }
}

#[tokio::test]
async fn a_hook_need_not_read_its_input() {
    let long = "x".repeat(1_000_000);
    let hooks = json!({ "UserPromptSubmit": hook("echo ignored you") });
    let mut hooked = Hooked::with_hooks(hooks, [answer_with("done")]).await;
    let turn = hooked.turn(&long).await;
    assert_eq!(
        turn.runs(),
        ["userPromptSubmit completed context:ignored you"]
    );
    hooked.finish().await;
}

#[tokio::test]
async fn async_hook_does_not_delay_the_turn() {
    let hooks = json!({ "UserPromptSubmit": [{ "hooks": [
        { "type": "command", "command": "cat fifo; echo CONTEXT", "async": true },
    ] }] });
    let model = ModelServer::start([answer_with("done")]).await.unwrap();
    let home = home_with(&model, &hooks);
    let fifo = home.path().join("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(fifo)
            .status()
            .unwrap()
            .success()
    );
    let mut hooked = Hooked::start(model, home).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(turn.runs(), Vec::<String>::new());
    assert!(!hooked.sent(0).contains("CONTEXT"));
    hooked.finish().await;
}

#[tokio::test]
async fn an_interrupted_turn_ends_its_hooks() {
    let hooks = json!({
        "UserPromptSubmit": hook("sleep 1000"),
        "Interrupt": hook("cat > input"),
    });
    let mut hooked = Hooked::with_hooks(hooks, []).await;
    let started = hooked.server.start_turn(&hooked.thread, "hello").await;
    hooked.until("hook/started").await;
    let params = json!({ "threadId": hooked.thread, "turnId": started["id"] });
    hooked.server.begin("turn/interrupt", params).await.unwrap();
    let turn = hooked.until("turn/completed").await;
    let expected = [
        "userPromptSubmit failed error:hook was interrupted",
        "interrupt completed",
    ];
    assert_eq!(turn.runs(), expected);
    let input: Value = serde_json::from_str(&hooked.file("input")).unwrap();
    assert_eq!(input["hook_event_name"], "Interrupt");
    hooked.finish().await;
}
