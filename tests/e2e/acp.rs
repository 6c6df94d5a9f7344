//! `codex acp`, as an editor sees it.

use serde_json::{Value, json};

use crate::acp_client::{Editor, prompt, write};

fn nothing() -> Value {
    json!({})
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

#[tokio::test]
async fn initialize_reply_lists_capabilities() {
    let mut editor = Editor::start("hello.toml", nothing()).await;
    let newer =
        json!({ "protocolVersion": 2, "clientCapabilities": { "auth": { "terminal": true } } });
    let reply = editor.request("initialize", newer).await;
    let result = &reply["result"];
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(result["agentInfo"]["name"], "codex");
    let capabilities = &result["agentCapabilities"];
    assert_eq!(capabilities["loadSession"], true);
    let prompts = json!({ "image": true, "audio": false, "embeddedContext": true });
    assert_eq!(capabilities["promptCapabilities"], prompts);
    for session in [
        "list",
        "resume",
        "close",
        "delete",
        "fork",
        "additionalDirectories",
    ] {
        assert_eq!(
            capabilities["sessionCapabilities"][session],
            json!({}),
            "{session}"
        );
    }
    let methods = result["authMethods"].as_array().unwrap();
    let terminal = methods
        .iter()
        .find(|method| method["type"] == "terminal")
        .unwrap();
    assert_eq!(terminal["args"], json!(["--login"]));
    assert!(editor.close().await.0);
}

#[tokio::test]
async fn invalid_acp_requests_get_protocol_errors() {
    let home = tempfile::tempdir().unwrap();
    let mut editor = Editor::start_in(home, "hello.toml");
    let early = editor.request("session/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32600);
    editor.initialize(nothing()).await;
    let unknown = json!({ "sessionId": "01a20725-a604-747b-973f-84089259e09e" });
    let cases = [
        ("no/such", json!({}), -32601),
        ("_own/method", json!({}), -32601),
        ("session/new", json!({ "mcpServers": [] }), -32602),
        (
            "session/new",
            json!({ "cwd": "relative", "mcpServers": [] }),
            -32602,
        ),
        ("session/prompt", prompt("nobody", "hi"), -32002),
        ("session/close", unknown.clone(), -32002),
        (
            "session/set_mode",
            json!({ "sessionId": "nobody", "modeId": "read-only" }),
            -32002,
        ),
        ("authenticate", json!({ "methodId": "odd" }), -32602),
    ];
    for (method, params, code) in cases {
        let reply = editor.request(method, params).await;
        assert_eq!(reply["error"]["code"], code, "{method}: {reply}");
    }
    let load = json!({ "sessionId": unknown["sessionId"], "cwd": editor.work(), "mcpServers": [] });
    for method in ["session/load", "session/resume", "session/fork"] {
        let reply = editor.request(method, load.clone()).await;
        assert_eq!(reply["error"]["code"], -32002, "{method}: {reply}");
    }
    let deleted = editor.request("session/delete", unknown).await;
    assert_eq!(deleted["result"], json!({}));
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("{\"id\":1,\"method\":\"x\"}", -32600),
    ] {
        editor.send_line(line).await;
        let reply = editor.receive().await;
        assert_eq!(reply["error"]["code"], code, "{line}: {reply}");
    }
    editor.notify("_own/notification", json!({})).await;
    assert!(editor.close().await.0);
}

#[tokio::test]
async fn prompt_reply_follows_all_updates() {
    let mut editor = Editor::start("hello.toml", nothing()).await;
    let session = editor.new_session().await;
    let commands = editor.update("available_commands_update").await;
    let names: Vec<_> = commands["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap().to_owned())
        .collect();
    for name in ["compact", "review", "diff", "undo", "status"] {
        assert!(
            names.iter().any(|known| known == name),
            "{name} is not in {names:?}"
        );
    }
    let reply = editor.prompt(&session, "hi").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    assert!(
        reply["result"]["usage"]["totalTokens"].as_i64().unwrap() > 0,
        "{reply}"
    );
    assert!(!editor.agent_text().is_empty());
    assert_eq!(editor.of_kind("usage_update").len(), 1);
    assert!(editor.of_kind("user_message_chunk").is_empty());
}

#[tokio::test]
async fn a_command_is_asked_about_and_runs() {
    let mut editor = Editor::start("approve-command.toml", nothing()).await;
    editor.answer("session/request_permission", selected("allow_once"));
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "go").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    assert!(editor.work().join("release-notes").is_dir());
    let [asked] = &editor.asked[..] else {
        panic!("{:?}", editor.asked);
    };
    let call = &asked["params"]["toolCall"];
    assert_eq!(call["title"], "mkdir -p release-notes && echo made");
    assert_eq!(call["kind"], "execute");
    let id = &call["toolCallId"];
    let told = editor.of_kind("tool_call");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["toolCallId"], *id);
    let ends = editor.of_kind("tool_call_update");
    let last = ends.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["content"][0]["content"]["text"], "made\n");
    assert_eq!(last["rawOutput"]["exit_code"], 0);
}

#[tokio::test]
async fn refused_command_fails_and_the_turn_continues() {
    let mut editor = Editor::start("approve-command.toml", nothing()).await;
    editor.answer("session/request_permission", selected("reject_once"));
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "go").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    assert!(!editor.work().join("release-notes").exists());
    let ends = editor.of_kind("tool_call_update");
    assert_eq!(ends.last().unwrap()["status"], "failed");
}

#[tokio::test]
async fn a_patch_shows_both_texts_before_it_is_allowed() {
    let mut editor = Editor::start("approve-patch.toml", nothing()).await;
    write(&editor.work().join("greet.sh"), GREET);
    editor.answer("session/request_permission", selected("allow_once"));
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    let [asked] = &editor.asked[..] else {
        panic!("{:?}", editor.asked);
    };
    let call = &asked["params"]["toolCall"];
    assert_eq!(call["kind"], "edit");
    let diffs = call["content"].as_array().unwrap();
    let greet = diffs
        .iter()
        .find(|diff| (diff["path"].as_str()).is_some_and(|path| path.ends_with("greet.sh")));
    let greet = greet.unwrap();
    assert_eq!(greet["oldText"], GREET);
    let now = std::fs::read_to_string(editor.work().join("greet.sh")).unwrap();
    assert_eq!(greet["newText"], now);
    assert_ne!(now, GREET);
}

const GREET: &str = "#!/bin/sh\necho \"hello\"\n";

#[tokio::test]
async fn a_patch_reaches_the_buffers_of_the_editor() {
    let files = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::start("approve-patch.toml", files).await;
    write(&editor.work().join("greet.sh"), GREET);
    editor.answer("session/request_permission", selected("allow_once"));
    editor.answer("fs/read_text_file", json!({ "content": GREET }));
    editor.answer("fs/write_text_file", json!({}));
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    let now = std::fs::read_to_string(editor.work().join("greet.sh")).unwrap();
    let written = editor
        .asked
        .iter()
        .find(|asked| asked["method"] == "fs/write_text_file");
    assert_eq!(written.unwrap()["params"]["content"], now);
}

#[tokio::test]
async fn a_cancel_answers_cancelled_and_takes_questions_back() {
    let mut editor = Editor::start("approve-command.toml", nothing()).await;
    let session = editor.new_session().await;
    let id = editor.ask("session/prompt", prompt(&session, "go")).await;
    let asked = editor.question("session/request_permission").await;
    editor
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    let mut taken_back = Value::Null;
    let reply = loop {
        let message = editor.receive().await;
        if message["method"] == "$/cancel_request" {
            taken_back = message["params"]["requestId"].clone();
        }
        if message.get("method").is_none() && message["id"] == id {
            break message;
        }
    };
    assert_eq!(reply["result"]["stopReason"], "cancelled");
    assert_eq!(taken_back, asked["id"]);
    assert_eq!(
        editor.of_kind("tool_call_update").last().unwrap()["status"],
        "failed"
    );
}

#[tokio::test]
async fn a_cancel_right_behind_the_prompt_is_not_lost() {
    let mut editor = Editor::start("slow-answer.toml", nothing()).await;
    let session = editor.new_session().await;
    let id = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    let reply = editor.reply_to(&id).await;
    assert_eq!(reply["result"]["stopReason"], "cancelled");
    let again = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.update("agent_message_chunk").await;
    editor
        .notify("$/cancel_request", json!({ "requestId": again }))
        .await;
    let reply = editor.reply_to(&again).await;
    assert_eq!(reply["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_session_that_is_closed_answers_its_prompt() {
    let mut editor = Editor::start("slow-answer.toml", nothing()).await;
    let session = editor.new_session().await;
    let id = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.update("agent_message_chunk").await;
    let closing = editor
        .ask("session/close", json!({ "sessionId": session }))
        .await;
    assert_eq!(
        editor.reply_to(&id).await["result"]["stopReason"],
        "cancelled"
    );
    assert_eq!(editor.reply_to(&closing).await["result"], json!({}));
    let after = editor.prompt(&session, "still there?").await;
    assert_eq!(after["error"]["code"], -32002);
}

#[tokio::test]
async fn end_of_input_ends_turn_and_process() {
    let mut editor = Editor::start("slow-answer.toml", nothing()).await;
    let session = editor.new_session().await;
    editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.update("agent_message_chunk").await;
    assert!(editor.close().await.0);
}

#[tokio::test]
async fn stored_session_is_replayed_and_continues() {
    let mut editor = Editor::start("approve-command.toml", nothing()).await;
    editor.answer("session/request_permission", selected("allow_once"));
    let session = editor.new_session().await;
    editor.prompt(&session, "make the folder").await;
    let said = editor.agent_text();
    let (_, home) = editor.close().await;
    let mut editor = Editor::start_in(home, "hello.toml");
    editor.initialize(nothing()).await;
    let list = editor
        .request("session/list", json!({ "cwd": editor.work() }))
        .await;
    let listed = &list["result"]["sessions"][0];
    assert_eq!(listed["sessionId"], session);
    assert_eq!(listed["title"], "make the folder");
    let load = json!({ "sessionId": session, "cwd": editor.work(), "mcpServers": [] });
    let loaded = editor.request("session/load", load.clone()).await;
    assert!(loaded["result"]["configOptions"].is_array(), "{loaded}");
    let user = &editor.of_kind("user_message_chunk")[0]["content"]["text"];
    assert_eq!(*user, "make the folder");
    assert_eq!(editor.agent_text(), said);
    let calls = editor.of_kind("tool_call");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["status"], "completed");
    let reply = editor.prompt(&session, "and now?").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    let before = editor.updates.len();
    let fork = editor.request("session/fork", load.clone()).await;
    assert_ne!(fork["result"]["sessionId"], session);
    let resumed = editor.request("session/resume", load).await;
    assert!(resumed["result"]["modes"].is_object(), "{resumed}");
    let after = editor.updates[before..].iter();
    let kinds = after.map(|params| params["update"]["sessionUpdate"].as_str().unwrap());
    assert!(
        !kinds.into_iter().any(|kind| kind.ends_with("chunk")),
        "replayed"
    );
    let delete = json!({ "sessionId": session });
    assert_eq!(
        editor.request("session/delete", delete).await["result"],
        json!({})
    );
    let list = editor.request("session/list", json!({})).await;
    let left = list["result"]["sessions"].as_array().unwrap();
    assert!(
        left.iter().all(|left| left["sessionId"] != session),
        "{list}"
    );
}

#[tokio::test]
async fn modes_and_options_are_kept_in_step() {
    let mut editor = Editor::start("hello.toml", nothing()).await;
    let params = json!({ "cwd": editor.work(), "mcpServers": [] });
    let opened = editor.request("session/new", params).await["result"].take();
    let session = &opened["sessionId"];
    let current = |options: &Value, id: &str| {
        let mut options = options.as_array().unwrap().iter();
        options.find(|option| option["id"] == id).unwrap()["currentValue"].clone()
    };
    assert_eq!(
        opened["modes"]["currentModeId"],
        current(&opened["configOptions"], "mode")
    );
    let mode = json!({ "sessionId": session, "modeId": "read-only" });
    assert_eq!(
        editor.request("session/set_mode", mode).await["result"],
        json!({})
    );
    let option = json!({ "sessionId": session, "configId": "collaboration_mode", "value": "plan" });
    let reply = editor.request("session/set_config_option", option).await;
    let options = &reply["result"]["configOptions"];
    assert_eq!(current(options, "mode"), "read-only");
    assert_eq!(current(options, "collaboration_mode"), "plan");
    let model = current(options, "model");
    let older =
        json!({ "sessionId": session, "modelId": format!("{}[low]", model.as_str().unwrap()) });
    let reply = editor.request("session/set_model", older).await;
    assert_eq!(reply["result"], json!({}), "{reply}");
    editor.prompt(session.as_str().unwrap(), "/status").await;
    assert!(
        editor.agent_text().contains("- Effort: low"),
        "{}",
        editor.agent_text()
    );
    let odd = json!({ "sessionId": session, "configId": "mode", "value": "odd" });
    let reply = editor.request("session/set_config_option", odd).await;
    assert_eq!(reply["error"]["code"], -32602);
}

#[tokio::test]
async fn questions_are_forms_where_offered() {
    let forms = json!({ "elicitation": { "form": {} } });
    let mut editor = Editor::start("ask-the-person.toml", forms).await;
    let accept = json!({ "action": "accept", "content": { "licence": "MIT" } });
    editor.answer("elicitation/create", accept);
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "set it up").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    let form = &editor.asked[0]["params"];
    let choices = form["requestedSchema"]["properties"]["licence"]["oneOf"]
        .as_array()
        .unwrap();
    assert_eq!(choices.len(), 2);
    let mut editor = Editor::start("ask-the-person.toml", nothing()).await;
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "set it up").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn");
    assert!(editor.asked.is_empty());
}

#[tokio::test]
async fn commands_without_a_turn_are_answered_here() {
    let mut editor = Editor::start("hello.toml", nothing()).await;
    let session = editor.new_session().await;
    for (command, said) in [
        ("/status", "- Model: "),
        ("/context", "- Tools: "),
        ("/mcp", "MCP servers"),
        ("/skills", ""),
    ] {
        let reply = editor.prompt(&session, command).await;
        assert_eq!(
            reply["result"]["stopReason"], "end_turn",
            "{command}: {reply}"
        );
        assert!(
            editor.agent_text().contains(said),
            "{command}: {}",
            editor.agent_text()
        );
    }
    let reply = editor.prompt(&session, "/review-branch").await;
    assert_eq!(reply["error"]["code"], -32602);
}

#[tokio::test]
async fn review_text_is_sent_once() {
    let mut editor = Editor::start("chat.toml", nothing()).await;
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "/review the parser").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert_eq!(
        editor.agent_text().matches("I only know my script").count(),
        1
    );
}

#[tokio::test]
async fn a_compaction_is_a_turn() {
    let mut editor = Editor::start("chat.toml", nothing()).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "hi").await;
    let reply = editor.prompt(&session, "/compact").await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    let calls = editor.of_kind("tool_call");
    assert_eq!(calls.last().unwrap()["kind"], "think");
    assert_eq!(
        editor.of_kind("tool_call_update").last().unwrap()["status"],
        "completed"
    );
}

#[tokio::test]
async fn a_failed_turn_is_an_error() {
    let mut editor = Editor::start("usage-limit.toml", nothing()).await;
    let session = editor.new_session().await;
    let reply = editor.prompt(&session, "hi").await;
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    assert_eq!(
        reply["error"]["data"]["codexErrorInfo"],
        "usageLimitExceeded"
    );
}

#[tokio::test]
async fn session_without_a_login_asks_for_one() {
    let mut editor = Editor::spawn(tempfile::tempdir().unwrap(), &[]);
    editor.initialize(nothing()).await;
    let params = json!({ "cwd": editor.work(), "mcpServers": [] });
    let reply = editor.request("session/new", params.clone()).await;
    assert_eq!(reply["error"]["code"], -32000, "{reply}");
    let login = json!({ "methodId": "api-key", "_meta": { "api-key": { "apiKey": "sk-test" } } });
    assert_eq!(
        editor.request("authenticate", login).await["result"],
        json!({})
    );
    let reply = editor.request("session/new", params.clone()).await;
    assert!(reply["result"]["sessionId"].is_string(), "{reply}");
    assert_eq!(
        editor.request("logout", json!({})).await["result"],
        json!({})
    );
    let reply = editor.request("session/new", params).await;
    assert_eq!(reply["error"]["code"], -32000, "{reply}");
}

#[tokio::test]
async fn key_from_environment_is_never_stored() {
    let home = tempfile::tempdir().unwrap();
    let stored = home.path().join("auth.json");
    let mut editor = Editor::spawn_with_key(home, &[], Some("sk-environment"));
    editor.initialize(nothing()).await;
    let params = json!({ "cwd": editor.work(), "mcpServers": [] });
    let reply = editor.request("session/new", params.clone()).await;
    assert_eq!(reply["error"]["code"], -32000, "{reply}");
    let login = json!({ "methodId": "api-key" });
    let reply = editor.request("authenticate", login).await;
    assert_eq!(reply["result"], json!({}), "{reply}");
    let reply = editor.request("session/new", params.clone()).await;
    assert!(reply["result"]["sessionId"].is_string(), "{reply}");
    assert!(!stored.exists());
    editor.request("logout", json!({})).await;
    let reply = editor.request("session/new", params).await;
    assert_eq!(reply["error"]["code"], -32000, "{reply}");
}

#[tokio::test]
async fn environment_key_keeps_a_working_login() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("auth.json");
    let stored = r#"{"OPENAI_API_KEY":"sk-stored"}"#;
    std::fs::write(&path, stored).unwrap();
    let mut editor = Editor::spawn_with_key(home, &[], Some("sk-environment"));
    editor.initialize(nothing()).await;
    let login = json!({ "methodId": "api-key" });
    let reply = editor.request("authenticate", login).await;
    assert_eq!(reply["result"], json!({}), "{reply}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), stored);
}

#[tokio::test]
async fn no_key_is_stored_where_no_login_is_needed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("auth.json");
    let mut editor = Editor::start_in(home, "chat.toml");
    editor.initialize(nothing()).await;
    let login = json!({ "methodId": "api-key", "_meta": { "api-key": { "apiKey": "sk-test" } } });
    let reply = editor.request("authenticate", login).await;
    assert_eq!(reply["result"], json!({}), "{reply}");
    assert!(!path.exists());
}

#[tokio::test]
async fn output_is_streamed_to_terminals_by_convention() {
    let convention = json!({ "_meta": { "terminal_output": true } });
    let mut editor = Editor::start("approve-command.toml", convention).await;
    editor.answer("session/request_permission", selected("allow_once"));
    let session = editor.new_session().await;
    editor.prompt(&session, "go").await;
    let updates = editor.of_kind("tool_call_update");
    let output: String = updates
        .iter()
        .filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str())
        .collect();
    assert_eq!(output, "made\n");
    let exit = &updates.last().unwrap()["_meta"]["terminal_exit"];
    assert_eq!(exit["exit_code"], 0);
}

/// Three turns that each write the number of the turn into a file.
const WRITING_SCENARIO: &str = r#"description = "Writes numbers."
[settings]
approval_policy = "never"
sandbox_mode = "danger-full-access"
[[replies]]
steps = [{ command = "echo one > file" }]
[[replies]]
steps = [{ message = "first" }]
[[replies]]
steps = [{ command = "echo two > file; echo new > new" }]
[[replies]]
steps = [{ message = "second" }]
[[replies]]
steps = [{ message = "third" }]
"#;

#[tokio::test]
async fn session_rewinds_by_command_and_method() {
    let home = tempfile::tempdir().unwrap();
    let scenario = home.path().join("scenario.toml");
    std::fs::write(&scenario, WRITING_SCENARIO).unwrap();
    let mut editor = Editor::start_in(home, scenario.to_str().unwrap());
    let reply = editor.initialize(nothing()).await;
    let announced = &reply["result"]["agentCapabilities"]["_meta"]["codex.checkpoints"];
    assert_eq!(announced["rewind"], "_session/rewind");
    let session = editor.new_session().await;
    for text in ["write one", "write two", "only say something"] {
        editor.prompt(&session, text).await;
    }
    let file = editor.work().join("file");
    let content = || std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(content(), "two\n");
    editor.prompt(&session, "/rewind").await;
    let said = editor.agent_text();
    assert!(said.contains("1. write two (2 files, +2 -1)"), "{said}");
    assert!(said.contains("2. write one (1 files, +1 -0)"), "{said}");
    editor.prompt(&session, "/rewind 1 files preview").await;
    assert!(editor.agent_text().contains("would go back"));
    assert_eq!(content(), "two\n");
    editor.prompt(&session, "/rewind 1 files").await;
    assert_eq!(content(), "one\n");
    assert!(!editor.work().join("new").exists());
    editor.prompt(&session, "/rewind 1 files").await;
    assert_eq!(content(), "two\n");
    let reply = editor.prompt(&session, "/rewind 77").await;
    assert_eq!(reply["error"]["code"], -32602, "{reply}");

    let list = json!({ "sessionId": session });
    let listed = editor.request("_session/checkpoints", list).await;
    let listed = listed["result"]["checkpoints"].as_array().unwrap().clone();
    let second = listed
        .iter()
        .find(|one| one["label"] == "write two")
        .unwrap();
    let message = &second["messageId"];
    assert!(message.is_string(), "{second}");
    // Somebody else's change is not lost.
    std::fs::write(&file, "mine\n").unwrap();
    let rewind = json!({ "sessionId": session, "messageId": message });
    let refused = editor.request("_session/rewind", rewind.clone()).await;
    let conflicts = refused["result"]["conflicts"].as_array().unwrap().len();
    assert_eq!(conflicts, 1, "{refused}");
    assert_eq!(content(), "mine\n");
    std::fs::write(&file, "two\n").unwrap();
    let done = editor.request("_session/rewind", rewind.clone()).await;
    assert_eq!(
        done["result"]["changed"].as_array().unwrap().len(),
        2,
        "{done}"
    );
    assert_eq!(content(), "one\n");
    // The message is no longer part of the conversation.
    let gone = editor.request("_session/rewind", rewind).await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
}
