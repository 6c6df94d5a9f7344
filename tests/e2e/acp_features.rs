//! `codex acp`: optional features of editors, several prompts at once, and what is taken back.

use serde_json::{Value, json};

use crate::acp_client::{Editor, prompt, write};

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// An editor of an agent that plays this script.
async fn editor_with(script: &str, offers: Value) -> Editor {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("scenario.toml");
    write(&path, script);
    let mut editor = Editor::start_in(home, path.to_str().unwrap());
    editor.initialize(offers).await;
    editor
}

/// A slow answer first, then a short one for each request.
const SLOW_THEN_SHORT: &str = r#"
description = "Time for more."
[pace]
characters = 1
every_ms = 50
[[replies]]
steps = [{ message = "This answer takes longer than it takes to ask for something else." }]
[[replies]]
repeat = true
steps = [{ message = "Short." }]
"#;

#[tokio::test]
async fn second_prompt_joins_the_turn_and_commands_wait() {
    let mut editor = editor_with(SLOW_THEN_SHORT, json!({})).await;
    let session = editor.new_session().await;
    let first = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.update("agent_message_chunk").await;
    let second = editor
        .ask("session/prompt", prompt(&session, "and this"))
        .await;
    let status = editor
        .ask("session/prompt", prompt(&session, "/status"))
        .await;
    for id in [first, second, status] {
        let reply = editor.reply_to(&id).await;
        assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    }
    let said = editor.agent_text();
    assert!(said.contains("something else.Short."), "{said}");
    assert!(said.contains("- Model: "), "{said}");
}

#[tokio::test]
async fn a_prompt_after_a_cancel_is_not_cancelled() {
    let mut editor = editor_with(SLOW_THEN_SHORT, json!({})).await;
    let session = editor.new_session().await;
    let first = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.update("agent_message_chunk").await;
    let cancel = json!({ "sessionId": session });
    editor.notify("session/cancel", cancel).await;
    let second = editor
        .ask("session/prompt", prompt(&session, "again"))
        .await;
    let reply = editor.reply_to(&first).await;
    assert_eq!(reply["result"]["stopReason"], "cancelled");
    let reply = editor.reply_to(&second).await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    assert!(editor.agent_text().ends_with("Short."));
}

#[tokio::test]
async fn steering_reports_the_outcome_of_the_input() {
    let mut editor = editor_with(SLOW_THEN_SHORT, json!({})).await;
    let reply = editor.initialize(json!({})).await;
    assert_eq!(reply["result"]["_meta"]["steering"]["supported"], true);
    let session = editor.new_session().await;
    let mut only_running = prompt(&session, "hi");
    only_running["_meta"] = json!({ "steering": { "idleBehavior": "promptRequired" } });
    let reply = editor
        .request("_session/steering", only_running.clone())
        .await;
    assert_eq!(reply["result"]["outcome"], "promptRequired", "{reply}");
    let first = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.update("agent_message_chunk").await;
    let reply = editor.request("_session/steering", only_running).await;
    assert_eq!(reply["result"]["outcome"], "injected", "{reply}");
    assert_eq!(
        editor.reply_to(&first).await["result"]["stopReason"],
        "end_turn"
    );
    assert!(editor.agent_text().ends_with("Short."));
    let reply = editor
        .request("_session/steering", prompt(&session, "more"))
        .await;
    assert_eq!(reply["result"]["outcome"], "startedNewTurn", "{reply}");
    // A prompt joins the turn that no prompt has started, or follows it.
    let reply = editor.prompt(&session, "and more").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    let unknown = editor
        .request("_session/steering", prompt("nobody", "hi"))
        .await;
    assert_eq!(unknown["error"]["code"], -32002);
}

const EDITOR_TERMINAL: &str = r#"
description = "A command of the editor."
[[replies]]
steps = [{ tool = { name = "editor_terminal", arguments = { command = "make test" } } }]
[[replies]]
steps = [{ message = "Seen." }]
"#;

/// Answers what an editor with terminals is asked.
fn answer_terminals(editor: &mut Editor, exit_code: i64) {
    let ended = json!({ "exitCode": exit_code });
    editor.answer("terminal/create", json!({ "terminalId": "term-1" }));
    editor.answer("terminal/wait_for_exit", ended.clone());
    let output = json!({ "output": "ok\n", "truncated": false, "exitStatus": ended });
    editor.answer("terminal/output", output);
    editor.answer("terminal/release", json!({}));
}

#[tokio::test]
async fn approved_command_runs_in_the_editor_terminal() {
    let mut editor = editor_with(EDITOR_TERMINAL, json!({ "terminal": true })).await;
    editor.answer("session/request_permission", selected("allow_once"));
    answer_terminals(&mut editor, 0);
    let session = editor.new_session().await;
    let reply = editor
        .prompt(&session, "run the tests in my terminal")
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    let methods: Vec<_> = editor
        .asked
        .iter()
        .map(|asked| asked["method"].clone())
        .collect();
    let expected = [
        "session/request_permission",
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ];
    assert_eq!(methods, expected);
    let created = &editor.asked[1]["params"];
    assert_eq!(created["args"], json!(["-c", "make test"]));
    assert_eq!(created["cwd"], json!(editor.work()));
    let shown = editor.of_kind("tool_call_update");
    let terminal = json!([{ "type": "terminal", "terminalId": "term-1" }]);
    assert!(
        shown.iter().any(|update| update["content"] == terminal),
        "{shown:?}"
    );
    assert_eq!(shown.last().unwrap()["status"], "completed");
    assert_eq!(shown.last().unwrap()["content"], terminal);
}

#[tokio::test]
async fn a_refused_command_reaches_no_terminal() {
    let mut editor = editor_with(EDITOR_TERMINAL, json!({ "terminal": true })).await;
    editor.answer("session/request_permission", selected("reject_once"));
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "go").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert_eq!(editor.asked.len(), 1);
    let ends = editor.of_kind("tool_call_update");
    assert_eq!(ends.last().unwrap()["status"], "failed");
}

#[tokio::test]
async fn an_interrupted_turn_releases_its_terminal() {
    let mut editor = editor_with(EDITOR_TERMINAL, json!({ "terminal": true })).await;
    editor.answer("session/request_permission", selected("allow_once"));
    editor.answer("terminal/create", json!({ "terminalId": "term-1" }));
    let session = editor.new_session().await;
    let id = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.question("terminal/wait_for_exit").await;
    let cancel = json!({ "sessionId": session });
    editor.notify("session/cancel", cancel).await;
    let released = editor.question("terminal/release").await;
    assert_eq!(released["params"]["terminalId"], "term-1");
    assert_eq!(
        editor.reply_to(&id).await["result"]["stopReason"],
        "cancelled"
    );
}

#[tokio::test]
async fn an_editor_without_terminals_has_no_tool_for_them() {
    let mut editor = editor_with(EDITOR_TERMINAL, json!({})).await;
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "go").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(editor.asked.is_empty(), "{:?}", editor.asked);
}

#[tokio::test]
async fn agents_are_child_sessions_where_the_editor_knows_them() {
    let script = r#"
description = "An agent."
[[replies]]
when = { user = "count them" }
steps = [{ message = "There are three." }]
[[replies]]
steps = [{ tool = { name = "spawn_agent", arguments = { message = "count them" } } }]
# Again if the agent ends after this reply was asked for: its end is told in another request.
[[replies]]
repeat = true
steps = [{ message = "Done." }]
"#;
    let mut editor = editor_with(script, json!({ "subagents": {} })).await;
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "go").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    let announced = editor.of_kind("subagent_update")[0].clone();
    assert_eq!(announced["title"], "count them");
    let child = &announced["sessionId"];
    let has_answered = |params: &Value| {
        params["sessionId"] == *child && params["update"]["content"]["text"] == "There are three."
    };
    // The agent may end after its parent.
    while !editor.updates.iter().any(has_answered) {
        editor.receive().await;
    }
    let first = |of: &Value| {
        let mut updates = editor.updates.iter();
        updates.position(|params| params["sessionId"] == *of)
    };
    let told = editor
        .updates
        .iter()
        .position(|params| params["update"]["sessionUpdate"] == "subagent_update");
    assert!(
        told < first(child),
        "the child spoke before it was announced"
    );
    let refused = editor.prompt(child.as_str().unwrap(), "hi").await;
    assert_eq!(refused["error"]["code"], -32002);
}

#[tokio::test]
async fn an_undo_takes_back_the_turn_and_its_files() {
    let mut editor = Editor::start("approve-patch.toml", json!({})).await;
    let greet = "#!/bin/sh\necho \"hello\"\n";
    let path = editor.work().join("greet.sh");
    write(&path, greet);
    editor.answer("session/request_permission", selected("allow_once"));
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    assert_ne!(std::fs::read_to_string(&path).unwrap(), greet);
    let reply = editor.prompt(&session, "/undo").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), greet);
    assert!(!editor.work().join("USAGE").exists());
    let again = editor.prompt(&session, "/undo").await;
    assert_eq!(again["result"]["stopReason"], "end_turn", "{again}");
    assert!(
        editor.agent_text().contains("no turn to take back"),
        "{}",
        editor.agent_text()
    );
}

#[tokio::test]
async fn a_folder_may_begin_at_that_of_the_process() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let params = json!({ "cwd": "work", "mcpServers": [] });
    let reply = editor.request("session/new", params).await;
    let session = reply["result"]["sessionId"].as_str().unwrap().to_owned();
    editor.prompt(&session, "/status").await;
    let folder = editor.work();
    assert!(
        editor.agent_text().contains(folder.to_str().unwrap()),
        "{}",
        editor.agent_text()
    );
}

#[tokio::test]
async fn truncated_response_gives_the_stop_reason() {
    for (reason, expected) in [
        ("max_output_tokens", "max_tokens"),
        ("content_filter", "refusal"),
    ] {
        let script = format!(
            "description = \"Cut.\"\n[retries]\nstreams = 0\n[[replies]]\nsteps = [{{ event = {{ type = \"response.incomplete\", \
             response = {{ incomplete_details = {{ reason = \"{reason}\" }} }} }} }}]\n"
        );
        let mut editor = editor_with(&script, json!({})).await;
        let session = editor.new_session().await;
        let reply = editor.prompt(&session, "go").await;
        assert_eq!(reply["result"]["stopReason"], expected, "{reply}");
    }
}
