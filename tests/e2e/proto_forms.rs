//! `codex proto` as a client sees it, in both forms of v1.

use codex_test_support::sse;
use serde_json::json;

use crate::proto::Proto;

const SETTINGS: &str = r#"
model = "mock-model"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
"#;

#[test]
fn a_line_in_an_event_out() {
    let call = json!({ "command": "echo $((40 + 2))", "login": false });
    let call = sse::function_call("call_1", "shell_command", &call);
    let replies = [sse::items(&[call]), sse::text("it is 42")];
    let mut proto = Proto::start(SETTINGS, &replies, |_| {});

    let (configured, before) = proto.wait_past("session_configured");
    assert!(before.is_empty());
    assert_eq!(configured["msg"]["model"], "mock-model");

    proto.line(r#"{"id":"x","op":{"type":"user_input","items":7}}"#);
    let error = proto.wait_for("error");
    assert!(
        error["msg"]["message"]
            .as_str()
            .unwrap()
            .contains("op.items"),
        "{error}"
    );

    proto.submit_text("turn-1", "how much?");
    assert_eq!(proto.wait_for("task_started")["id"], "turn-1");
    assert_eq!(
        proto.wait_for("exec_command_end")["msg"]["aggregated_output"],
        "42\n"
    );
    let (complete, before) = proto.wait_past("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "it is 42");
    assert!(complete["msg"]["response_id"].is_string());
    assert!(before.contains(&"agent_message_delta".to_owned()));

    proto.close();
    assert_eq!(proto.rollouts().len(), 1);
}

#[test]
fn first_configure_form_sets_up_session() {
    let replies = ["one", "two", "other"].map(sse::text);
    let mut proto = Proto::start(SETTINGS, &replies, |_| {});
    proto.wait_for("session_configured");

    let provider = json!({ "name": "Own", "base_url": proto.model_url(), "wire_api": "responses" });
    let configure = json!({
        "type": "configure_session",
        "cwd": proto.cwd(),
        "model": "older-model",
        "provider": provider,
    });
    proto.submit("configure", &configure);
    let configured = proto.wait_for("session_configured");
    assert_eq!(configured["id"], "configure");
    assert_eq!(configured["msg"]["model"], "older-model");

    proto.submit_text("1", "say one");
    let first = proto.wait_for("task_complete");
    proto.submit_text("2", "say two");
    proto.wait_for("task_complete");
    let back = json!({
        "type": "user_input",
        "items": [{ "type": "text", "text": "instead" }],
        "last_response_id": first["msg"]["response_id"],
    });
    proto.submit("3", &back);
    proto.wait_for("task_complete");
    let body = proto.model_request(2);
    assert!(body.contains("instead") && body.contains("say one") && !body.contains("say two"));
}

#[test]
fn memories_are_dropped_and_updated_on_request() {
    let mut proto = Proto::start(SETTINGS, &[], |work| {
        let memories = work.with_file_name("home").join("memories");
        std::fs::create_dir(&memories).unwrap();
        std::fs::write(memories.join("memory_summary.md"), "a fact").unwrap();
    });
    proto.wait_for("session_configured");
    let summary = proto.cwd().with_file_name("home");
    let summary = summary.join("memories/memory_summary.md");
    proto.submit("drop", &json!({ "type": "drop_memories" }));
    let dropped = proto.wait_for("warning");
    assert_eq!(dropped["id"], "drop");
    assert_eq!(dropped["msg"]["message"], "The memories are dropped.");
    assert!(!summary.exists());
    proto.submit("update", &json!({ "type": "update_memories" }));
    let refused = proto.wait_for("error");
    let message = refused["msg"]["message"].as_str().unwrap();
    assert!(
        message.contains("set features.memories to true"),
        "{message}"
    );
    proto.close();

    let on = format!("{SETTINGS}\n[features]\nmemories = true\n");
    let mut proto = Proto::start(&on, &[], |_| {});
    proto.wait_for("session_configured");
    proto.submit("update", &json!({ "type": "update_memories" }));
    let started = proto.wait_for("warning");
    let expected = "Memories are updated in the background.";
    assert_eq!(started["msg"]["message"], expected);
    proto.close();
}

#[test]
fn custom_prompts_are_listed() {
    let mut proto = Proto::start(SETTINGS, &[], |work| {
        let prompts = work.with_file_name("home").join("prompts");
        std::fs::create_dir(&prompts).unwrap();
        let text = "---\ndescription: Reviews\nargument-hint: FILE\n---\nReview $1\n";
        std::fs::write(prompts.join("review.md"), text).unwrap();
        std::fs::write(prompts.join("notes.txt"), "no prompt").unwrap();
    });
    proto.wait_for("session_configured");
    proto.submit("list", &json!({ "type": "list_custom_prompts" }));
    let listed = proto.wait_for("list_custom_prompts_response");
    assert_eq!(listed["id"], "list");
    let [prompt] = &listed["msg"]["custom_prompts"].as_array().unwrap()[..] else {
        panic!("{listed}")
    };
    let path = proto.cwd().with_file_name("home").join("prompts/review.md");
    let expected = json!({
        "name": "review", "path": path, "content": "Review $1\n",
        "description": "Reviews", "argument_hint": "FILE",
    });
    assert_eq!(*prompt, expected);
    proto.close();
}

#[test]
fn thread_name_reaches_index_of_other_releases() {
    let mut proto = Proto::start(SETTINGS, &[sse::text("hello")], |_| {});
    let configured = proto.wait_for("session_configured");
    let id = configured["msg"]["session_id"].as_str().unwrap().to_owned();
    proto.submit_text("1", "hi");
    proto.wait_for("task_complete");
    let file = proto.cwd().with_file_name("home").join("state_5.sqlite");
    let index = rusqlite::Connection::open(file).unwrap();
    let made = index.execute_batch("CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT)");
    made.unwrap();
    index
        .execute("INSERT INTO threads (id) VALUES (?1)", [&id])
        .unwrap();
    let rename = json!({ "type": "set_thread_name", "name": "a name" });
    proto.submit("2", &rename);
    proto.wait_for("thread_name_updated");
    let read = "SELECT name FROM threads WHERE id = ?1";
    let name: String = index.query_row(read, [&id], |row| row.get(0)).unwrap();
    assert_eq!(name, "a name");
    proto.close();
}
