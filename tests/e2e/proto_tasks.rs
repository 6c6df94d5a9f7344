//! Tasks of `codex proto` as the queue protocol describes them: at most one, with an end for each response.

use std::path::Path;

use codex_test_support::{HttpReply, sse};
use serde_json::{Value, json};

use crate::proto::Proto;

const SETTINGS: &str = r#"
model = "mock-model"
model_provider = "scripted"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[features]
unified_exec = false
"#;

/// A message that has begun and never ends.
fn endless() -> HttpReply {
    let begun = [sse::added(&sse::message("")), sse::delta("and")];
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .body(sse::frames(&begun))
        .stall()
}

fn command(id: &str, command: &str) -> Vec<Value> {
    let arguments = json!({ "command": command, "login": false });
    sse::items(&[sse::function_call(id, "shell_command", &arguments)])
}

fn turn(proto: &Proto, text: &str) -> Value {
    json!({
        "type": "user_turn",
        "items": [{ "type": "text", "text": text }],
        "cwd": proto.cwd(),
        "approval_policy": "never",
        "sandbox_policy": { "type": "danger-full-access" },
        "model": "mock-model",
        "summary": "auto",
    })
}

fn answer(proto: &mut Proto, asked: &Value, decision: &str) {
    let id = &asked["msg"]["call_id"];
    let answer = json!({ "type": "exec_approval", "id": id, "decision": decision });
    proto.submit("answer", &answer);
}

#[test]
fn more_input_replaces_running_task() {
    let replies = [endless(), endless(), HttpReply::stream(&sse::text("there"))];
    let mut proto = Proto::start_with(SETTINGS, replies, |_| {});
    proto.submit_text("1", "first");
    proto.wait_for("agent_message_content_delta");
    let second = turn(&proto, "second");
    proto.submit("2", &second);
    let aborted = proto.wait_for("turn_aborted");
    assert_eq!(
        (&aborted["id"], &aborted["msg"]["reason"]),
        (&json!("1"), &json!("replaced"))
    );
    assert_eq!(proto.wait_for("task_started")["id"], "2");
    proto.wait_for("agent_message_content_delta");
    proto.submit_text("3", "third");
    assert_eq!(proto.wait_for("turn_aborted")["id"], "2");
    assert_eq!(proto.wait_for("task_started")["id"], "3");
    let (complete, before) = proto.wait_past("task_complete");
    assert_eq!(complete["id"], "3");
    assert!(!before.contains(&"error".to_owned()), "{before:?}");
    proto.close();
}

#[test]
fn an_interrupted_task_has_an_error_and_an_end() {
    let mut proto = Proto::start_with(SETTINGS, [endless()], |_| {});
    proto.submit_text("1", "go");
    proto.wait_for("agent_message_content_delta");
    proto.submit("stop", &json!({ "type": "interrupt" }));
    let (error, before) = proto.wait_past("error");
    assert_eq!(
        (&error["id"], &error["msg"]["message"]),
        (&json!("1"), &json!("interrupted"))
    );
    assert!(!before.contains(&"turn_aborted".to_owned()));
    let (aborted, between) = proto.wait_past("turn_aborted");
    assert_eq!(aborted["msg"]["reason"], "interrupted");
    assert!(between.is_empty(), "{between:?}");
    proto.close();
}

#[test]
fn each_response_ends_and_then_the_task() {
    let replies = [command("c1", "echo one"), sse::text("done")];
    let mut proto = Proto::start(SETTINGS, &replies, |_| {});
    let go = turn(&proto, "go");
    proto.submit("1", &go);
    let (first, before) = proto.wait_past("turn_complete");
    assert!(
        before.contains(&"exec_command_end".to_owned()),
        "{before:?}"
    );
    let (second, before) = proto.wait_past("turn_complete");
    assert!(before.contains(&"agent_message".to_owned()), "{before:?}");
    let complete = proto.wait_for("task_complete");
    for event in [&first, &second, &complete] {
        assert_eq!(event["id"], "1");
    }
    assert!(first["msg"]["response_id"].is_string(), "{first}");
    assert_eq!(second["msg"]["response_id"], complete["msg"]["response_id"]);
    proto.close();
    let stored = std::fs::read_to_string(&proto.rollouts()[0]).unwrap();
    assert!(!stored.contains("turn_complete") && !stored.contains("response_completed"));
}

#[test]
fn a_command_begins_once_it_is_approved() {
    let replies = [
        command("c1", "touch made"),
        command("c2", "touch more"),
        sse::text("done"),
    ];
    let mut proto = Proto::start(SETTINGS, &replies, |_| {});
    proto.submit_text("1", "go");
    let (asked, before) = proto.wait_past("exec_approval_request");
    assert!(
        !before.contains(&"exec_command_begin".to_owned()),
        "{before:?}"
    );
    answer(&mut proto, &asked, "approved");
    let (begun, _) = proto.wait_past("exec_command_begin");
    assert_eq!(begun["msg"]["call_id"], "c1");
    proto.wait_for("exec_command_end");
    let asked = proto.wait_for("exec_approval_request");
    answer(&mut proto, &asked, "denied");
    let (_, before) = proto.wait_past("task_complete");
    assert!(
        !before.contains(&"exec_command_begin".to_owned()),
        "{before:?}"
    );
    assert!(proto.cwd().join("made").exists() && !proto.cwd().join("more").exists());
    proto.close();
}

#[test]
fn agent_gets_only_its_own_answers() {
    let task = json!({ "message": "make it", "agent_type": "worker" });
    let spawn = sse::items(&[sse::function_call("spawn", "spawn_agent", &task)]);
    // The ids of both calls are the same.
    let mut proto = Proto::start(
        SETTINGS,
        &[spawn, command("c1", "touch root"), sse::text("done")],
        |_| {},
    );
    proto.answer_agent(&command("c1", "touch agent"));
    proto.answer_agent(&sse::text("made"));
    proto.submit_text("1", "go");
    let mut asked = [
        proto.wait_for("exec_approval_request"),
        proto.wait_for("exec_approval_request"),
    ];
    asked.sort_by_key(|event| event["msg"]["call_id"] != "c1");
    let [of_root, of_agent] = asked;
    assert_eq!(of_root["msg"]["call_id"], "c1");
    let id = of_agent["msg"]["call_id"].as_str().unwrap();
    assert!(id.ends_with(":c1"), "{id}");
    assert_eq!(
        (&of_root["id"], &of_agent["id"]),
        (&json!("1"), &json!("1"))
    );
    answer(&mut proto, &of_root, "denied");
    proto.wait_for("task_complete");
    assert!(!proto.cwd().join("root").exists() && !proto.cwd().join("agent").exists());
    answer(&mut proto, &of_agent, "approved");
    let made = proto.cwd().join("agent");
    // The agent tells nothing of what it does; the next task reads that it is done.
    let wait = json!({ "type": "user_input", "items": [{ "type": "text", "text": "and?" }] });
    while !made.exists() {
        proto.submit("2", &wait);
        proto.wait_for("task_complete");
    }
    proto.close();
}

/// Hooks of these events, each a command.
fn write_hooks(work: &Path, hooks: &[(&str, &str)]) {
    let hook = |(event, command): &(&str, &str)| {
        let hooks = json!([{ "hooks": [{ "type": "command", "command": command }] }]);
        ((*event).to_owned(), hooks)
    };
    let hooks: serde_json::Map<_, _> = hooks.iter().map(hook).collect();
    let file = work.with_file_name("home").join("hooks.json");
    std::fs::write(file, json!({ "hooks": hooks }).to_string()).unwrap();
}

#[test]
fn hook_refuses_a_call_and_the_task_continues() {
    let hooks = |work: &Path| {
        let mark = format!("touch {}", work.join("begun").display());
        let refuse = "echo 'not this one' >&2; exit 2";
        write_hooks(work, &[("SessionStart", &mark), ("PreToolUse", refuse)]);
    };
    let settings = format!("{SETTINGS}codex_hooks = true\n");
    let replies = [command("c1", "touch made"), sse::text("done")];
    let mut proto = Proto::start(&settings, &replies, hooks);
    proto.submit_text("1", "go");
    let (complete, before) = proto.wait_past("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "done");
    assert!(!before.contains(&"exec_approval_request".to_owned()));
    assert!(proto.cwd().join("begun").exists() && !proto.cwd().join("made").exists());
    let told = proto.model_request(1);
    assert!(told.contains("not this one"), "{told}");
    proto.close();
}

#[test]
fn hooks_of_the_user_run() {
    let hooks = |work: &Path| {
        let mark = format!("touch {}", work.join("hooked").display());
        write_hooks(work, &[("UserPromptSubmit", &mark)]);
    };
    let settings = format!("{SETTINGS}codex_hooks = true\n");
    let mut proto = Proto::start(&settings, &[sse::text("done")], hooks);
    proto.submit_text("1", "go");
    proto.wait_for("hook_completed");
    proto.wait_for("task_complete");
    assert!(proto.cwd().join("hooked").exists());
    proto.close();
}
