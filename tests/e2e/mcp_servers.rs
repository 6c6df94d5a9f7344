//! MCP servers: how they start, calls of their tools, what they ask, and that nothing of them is left.

use std::fs;
use std::process::Command;
use std::time::Duration;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::app_server::shape;
use crate::mcp_process::configured;
use crate::setup::{PROGRAM, server, untrusted_home};
use crate::trace_record::Traced;

const QUESTION: &str = "mcpServer/elicitation/request";
const STARTUP: &str = "mcpServer/startupStatus/updated";
/// A busy machine gets much more time than it takes.
const START_TIMEOUT: Duration = Duration::from_secs(10);

fn call(id: &str, tool: &str, arguments: &Value) -> HttpReply {
    let call = sse::function_call(id, tool, arguments);
    HttpReply::stream(&sse::items(&[call]))
}

/// A message whose id is its text.
pub(crate) fn text_reply(text: &str) -> HttpReply {
    let mut message = sse::message(text);
    message["id"] = text.into();
    HttpReply::stream(&sse::items(&[message]))
}

fn add(home: &TempDir, tables: &str) {
    let file = home.path().join("config.toml");
    let config = fs::read_to_string(&file).unwrap() + tables;
    fs::write(file, config).unwrap();
}

/// A server, and a model that calls one of its tools.
struct McpToolTurn {
    model: ModelServer,
    home: TempDir,
    server: AppServer,
    thread: String,
}

impl McpToolTurn {
    async fn start(tool: &str, arguments: &Value, policy: &str, keys: &str) -> Self {
        let tool = format!("mcp__scripted__{tool}");
        Self::start_with_tool(&tool, arguments, policy, keys).await
    }

    async fn start_with_tool(tool: &str, arguments: &Value, policy: &str, keys: &str) -> Self {
        let model = ModelServer::start([call("call", tool, arguments), text_reply("done")]);
        let model = model.await.unwrap();
        let home = untrusted_home(&model);
        let log = home.path().join("log");
        add(&home, &configured("scripted", &json!({ "log": log }), keys));
        let mut server = server(&home).await;
        let params = json!({ "approvalPolicy": policy, "sandbox": "workspace-write" });
        let reply = server.call("thread/start", params).await.unwrap();
        let thread = reply["result"]["thread"]["id"].as_str().unwrap().to_owned();
        server.start_turn(&thread, "go").await;
        Self {
            model,
            home,
            server,
            thread,
        }
    }

    /// Waits for a question and answers it with this.
    async fn answer(&mut self, answer: Value) -> Value {
        let question = self.server.wait_for(QUESTION).await.unwrap();
        let mut reply = json!({ "id": question["id"] });
        let parts = answer.as_object().unwrap().clone();
        reply.as_object_mut().unwrap().extend(parts);
        let result = &reply["result"];
        let sent = if result.is_string() || result["action"].is_number() {
            self.server.send_wrong_answer(&reply).await
        } else {
            self.server.send(&reply).await
        };
        sent.unwrap();
        question["params"].clone()
    }

    /// What the model was told, and the item of the call; that is the same live and stored.
    async fn end(self) -> (Value, Value) {
        let ended = self.end_with_home().await;
        (ended.0, ended.1)
    }

    async fn end_with_home(mut self) -> (Value, Value, TempDir) {
        let ended = self.server.completed_turn().await;
        let turn = ended.clone();
        let params = json!({ "threadId": self.thread, "includeTurns": true });
        let read = self.server.call("thread/read", params).await.unwrap();
        let stored = &read["result"]["thread"]["turns"][0];
        assert_eq!(shape(stored), shape(&turn));
        self.server.finish().await.unwrap();
        let is_call = |item: &&Value| item["type"] == "mcpToolCall";
        let items = turn["items"].as_array().unwrap();
        let item = items.iter().find(is_call).unwrap().clone();
        let told = if turn["status"] == "completed" {
            output(&self.model, 1).await
        } else {
            Value::Null
        };
        (told, item, self.home)
    }
}

/// What a request tells the model of the call before it.
async fn output(model: &ModelServer, request: usize) -> Value {
    let body = model.request(request).await.json();
    let input = body["input"].as_array().unwrap();
    input.last().unwrap()["output"].clone()
}

fn one_text(text: &str) -> String {
    json!([{ "type": "text", "text": text }]).to_string()
}

#[tokio::test]
async fn tools_of_a_server_are_offered_and_called() {
    let arguments = json!({ "text": "hi" });
    let mut call = McpToolTurn::start("echo", &arguments, "on-request", "").await;
    for status in ["starting", "ready"] {
        let told = call.server.wait_for(STARTUP).await.unwrap();
        let expected = json!({ "name": "scripted", "status": status, "error": null,
            "threadId": call.thread, "environmentId": null });
        assert_eq!(told["params"], expected);
    }
    let request = call.model.request(0).await.json();
    let tools = request["tools"].as_array().unwrap();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let names: Vec<_> = names.filter(|name| name.contains("mcp")).collect();
    let own = [
        "ask",
        "ask_form",
        "die",
        "echo",
        "fail",
        "hang",
        "refuse",
        "variables",
        "write",
    ];
    let own = own.map(|name| format!("mcp__scripted__{name}"));
    let mut expected = vec![
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
    ];
    expected.extend(own.iter().map(String::as_str));
    assert_eq!(names, expected);
    let (told, item) = call.end().await;
    assert_eq!(told, one_text("hi"));
    assert_eq!(item["status"], "completed");
    assert_eq!(
        (&item["server"], &item["tool"]),
        (&"scripted".into(), &"echo".into())
    );
    assert_eq!(item["arguments"], arguments);
    assert_eq!(item["result"]["content"][0]["text"], "hi");
}

#[tokio::test]
async fn mcp_server_gets_only_configured_variables() {
    let call = McpToolTurn::start("variables", &json!({}), "on-request", "").await;
    let (told, _) = call.end().await;
    let names: Vec<String> = serde_json::from_str(told.as_str().unwrap()).unwrap();
    assert!(names.iter().any(|name| name == "PATH"));
    assert!(names.iter().any(|name| name == "SCRIPTED_MCP"));
    assert!(!names.iter().any(|name| name == "CODEX_HOME"), "{names:?}");
}

#[tokio::test]
async fn failed_calls_are_sent_to_the_model() {
    let context = "tool call error: tool call failed for `scripted/";
    let table = [
        ("fail", "it failed".to_owned()),
        (
            "refuse",
            format!("{context}refuse`\n\nCaused by:\n    Mcp error: -32000: not today"),
        ),
        (
            "die",
            format!("{context}die`\n\nCaused by:\n    Transport closed"),
        ),
        (
            "hang",
            format!("{context}hang`\n\nCaused by:\n    timed out awaiting tools/call after 1s"),
        ),
    ];
    for (tool, expected) in table {
        let keys = match tool {
            "hang" => "tool_timeout_sec = 1",
            _ => "",
        };
        let call = McpToolTurn::start(tool, &json!({}), "on-request", keys).await;
        let (told, item) = call.end().await;
        assert_eq!(told, one_text(&expected), "{tool}");
        assert_eq!(item["status"], "failed", "{tool}");
        let message = match tool {
            "fail" => &item["result"]["content"][0]["text"],
            _ => &item["error"]["message"],
        };
        assert_eq!(message, &expected, "{tool}");
    }
}

#[tokio::test]
async fn failing_mcp_servers_are_reported_without_delay() {
    let failed = "MCP client for `scripted` failed to start: MCP startup failed: ";
    let table = [
        ("dies", format!("{failed}Transport closed")),
        ("refuses", format!("{failed}Mcp error: -32000: no thanks")),
        (
            "hangs",
            "MCP client for `scripted` timed out after 1 seconds. Add or adjust \
             `startup_timeout_sec` in your config.toml:\n[mcp_servers.scripted]\n\
             startup_timeout_sec = XX"
                .to_owned(),
        ),
    ];
    for (start, expected) in table {
        let model = ModelServer::start([text_reply("hello")]).await.unwrap();
        let home = untrusted_home(&model);
        let behaviour = json!({ "start": start });
        add(
            &home,
            &configured("scripted", &behaviour, "startup_timeout_sec = 1"),
        );
        let mut server = server(&home).await;
        let thread = server.start_thread().await;
        let told = server.wait_for(STARTUP).await.unwrap();
        assert_eq!(told["params"]["status"], "starting");
        server.start_turn(&thread, "go").await;
        let told = server.wait_for(STARTUP).await.unwrap();
        assert_eq!(told["params"]["status"], "failed");
        assert_eq!(told["params"]["error"], expected);
        let ended = server.completed_turn().await;
        assert_eq!(ended["status"], "completed");
        let request = model.request(0).await.json();
        assert!(!request["tools"].to_string().contains("mcp__"));
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn there_is_no_thread_without_a_required_server() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let keys = "required = true";
    add(
        &home,
        &configured("scripted", &json!({ "start": "dies" }), keys),
    );
    let mut server = server(&home).await;
    let reply = server.call("thread/start", json!({})).await.unwrap();
    let message = reply["error"]["message"].as_str().unwrap();
    let expected = "required MCP servers failed to initialize: scripted: Transport closed";
    assert!(message.ends_with(expected), "{message}");
    let loaded = server.call("thread/loaded/list", json!({})).await.unwrap();
    assert_eq!(loaded["result"]["data"], json!([]));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn people_are_asked_about_tools_that_may_change_things() {
    let table = [
        (
            json!({ "result": { "action": "accept" } }),
            "written",
            "completed",
        ),
        (
            json!({ "result": { "action": "decline" } }),
            "user rejected MCP tool call",
            "failed",
        ),
        (
            json!({ "result": { "action": "cancel" } }),
            "user cancelled MCP tool call",
            "failed",
        ),
        (
            json!({ "result": { "action": 7 } }),
            "user rejected MCP tool call",
            "failed",
        ),
        (
            json!({ "error": { "code": -1, "message": "x" } }),
            "user rejected MCP tool call",
            "failed",
        ),
    ];
    for (answer, expected, status) in table {
        let mut call = McpToolTurn::start("write", &json!({ "a": 1 }), "on-request", "").await;
        let asked = call.answer(answer.clone()).await;
        assert_eq!(asked["_meta"]["codex_approval_kind"], "mcp_tool_call");
        assert_eq!(asked["_meta"]["tool_params"], json!({ "a": 1 }));
        let (told, item) = call.end().await;
        assert_eq!(told, one_text(expected), "{answer}");
        assert_eq!(item["status"], status, "{answer}");
    }
}

#[tokio::test]
async fn leave_to_call_a_tool_is_remembered() {
    let arguments = json!({});
    let mut call_one = McpToolTurn::start("write", &arguments, "on-request", "").await;
    let always = json!({ "action": "accept", "_meta": { "persist": "always" } });
    call_one.answer(json!({ "result": always })).await;
    call_one.server.wait_for("turn/completed").await.unwrap();
    let file = fs::read_to_string(call_one.home.path().join("config.toml")).unwrap();
    assert!(file.contains("approval_mode = \"approve\""), "{file}");
    call_one
        .model
        .push(call("call-2", "mcp__scripted__write", &arguments));
    call_one.model.push(text_reply("done again"));
    let thread = call_one.thread.clone();
    call_one.server.start_turn(&thread, "again").await;
    loop {
        let message = call_one.server.receive().await.unwrap();
        assert_ne!(message["method"], QUESTION);
        if message["method"] == "turn/completed" {
            break;
        }
    }
    assert_eq!(output(&call_one.model, 3).await, one_text("written"));
    call_one.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_server_can_ask_the_user() {
    let accepted = json!({ "action": "accept", "content": { "name": "Ann" } });
    let table = [
        (json!({ "result": accepted }), accepted.clone()),
        (
            json!({ "result": { "action": "accept" } }),
            json!({ "action": "accept", "content": {} }),
        ),
        (
            json!({ "result": { "action": "decline", "content": { "name": "Ann" } } }),
            json!({ "action": "decline" }),
        ),
        (
            json!({ "result": { "action": "cancel" } }),
            json!({ "action": "cancel" }),
        ),
        (
            json!({ "result": "yes please" }),
            json!({ "action": "decline" }),
        ),
        (
            json!({ "error": { "code": -1, "message": "x" } }),
            json!({ "action": "decline" }),
        ),
    ];
    for (answer, expected) in table {
        let mut call = McpToolTurn::start("ask", &json!({}), "on-request", "").await;
        let asked = call.answer(answer.clone()).await;
        assert_eq!(
            (&asked["mode"], &asked["message"]),
            (&"form".into(), &"Who?".into())
        );
        let (told, _) = call.end().await;
        let told: Value = serde_json::from_str(told.as_str().unwrap()).unwrap();
        let log: Value = serde_json::from_str(told[0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(log, expected, "{answer}");
    }
}

/// A server may ask whatever it likes, but nothing of it is hidden.
#[tokio::test]
async fn a_question_of_a_server_hides_nothing() {
    let odd = "Go\u{202e} on?\u{1b}[1m\u{2028}";
    let field = json!({ "type": "string", "title": odd, "description": odd, "enum": [odd, "b"] });
    let form = json!({ "type": "object", "properties": { "field": field } });
    let meta = json!({ "note": odd });
    for question in [
        json!({ "message": odd, "requestedSchema": form, "_meta": meta }),
        json!({ "mode": "url", "message": odd, "url": format!("https://a.test/{odd}"),
                "elicitationId": "e", "_meta": meta }),
    ] {
        let arguments = json!({ "question": question });
        let mut call = McpToolTurn::start("ask", &arguments, "on-request", "").await;
        let decline = json!({ "result": { "action": "decline" } });
        let mut asked = call.answer(decline).await;
        if asked["mode"] == "form" {
            let field = &mut asked["requestedSchema"]["properties"]["field"];
            let choice = &mut field["oneOf"][0];
            assert_eq!(choice["const"], odd, "the answer stays as it is");
            choice["const"] = json!("");
            let seen = r"Go\u{202e} on?\u{1b}[1m\u{2028}";
            let texts = [
                &field["title"],
                &field["description"],
                &field["oneOf"][0]["title"],
            ];
            assert_eq!(texts, [seen; 3]);
        } else {
            assert_eq!(
                asked["url"],
                "https://a.test/Go%E2%80%AE%20on?%1B[1m%E2%80%A8"
            );
        }
        let hidden = ['\u{202e}', '\u{2028}'];
        let shown = asked.to_string();
        assert!(
            !shown.contains(hidden) && !shown.contains("u001b"),
            "{shown}"
        );
        call.end().await;
    }
}

#[tokio::test]
async fn url_elicitation_needs_client_support() {
    for shows in [true, false] {
        let model = ModelServer::start([]).await.unwrap();
        let home = untrusted_home(&model);
        let log = home.path().join("log");
        add(&home, &configured("scripted", &json!({ "log": log }), ""));
        let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
        let extensions = if shows {
            json!({ "openai/form": {} })
        } else {
            json!({})
        };
        let params = json!({
            "clientInfo": { "name": "tests", "version": "1" },
            "capabilities": { "experimentalApi": true, "extensions": extensions },
        });
        server.result("initialize", params).await;
        let params = json!({ "approvalPolicy": "on-request" });
        let thread = server.start_thread_with(params).await;
        let params = json!({ "threadId": thread, "server": "scripted", "tool": "ask_form" });
        let called = server.begin("mcpServer/tool/call", params).await.unwrap();
        if shows {
            let question = server.wait_for(QUESTION).await.unwrap();
            let asked = &question["params"];
            assert_eq!(
                [&asked["mode"], &asked["message"]],
                ["openai/form", "Which?"]
            );
            assert_eq!(asked["requestedSchema"], json!({ "any": [1] }));
            assert_eq!(
                asked["_meta"],
                json!({ "own": 1 }),
                "what clients trust is left out"
            );
            let answer = json!({ "action": "accept", "content": { "a": 1 }, "_meta": { "b": 2 } });
            let reply = json!({ "id": question["id"], "result": answer });
            server.send(&reply).await.unwrap();
        }
        let reply = server.reply_to(called).await.unwrap();
        let heard = reply["result"]["content"][0]["text"].as_str().unwrap();
        let heard: Value = serde_json::from_str(heard).unwrap();
        let expected = if shows {
            json!({ "action": "accept", "content": { "a": 1 }, "_meta": { "b": 2 } })
        } else {
            Value::Null
        };
        assert_eq!(heard, expected);
        server.finish().await.unwrap();
        let log = fs::read_to_string(log).unwrap();
        let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let announced = &first["params"]["capabilities"]["extensions"]["openai/form"];
        assert_eq!(announced.is_object(), shows, "{first}");
    }
}

#[tokio::test]
async fn approval_policy_never_declines_elicitations() {
    let call = McpToolTurn::start("ask", &json!({}), "never", "").await;
    let (told, _) = call.end().await;
    assert_eq!(told, one_text(r#"{"action":"decline"}"#));
}

#[tokio::test]
async fn a_call_is_interrupted_with_its_turn() {
    let mut call = McpToolTurn::start("ask", &json!({}), "on-request", "").await;
    let thread = call.thread.clone();
    // What the server asks shows that it has the call.
    let question = call.server.wait_for(QUESTION).await.unwrap();
    let turn = &question["params"]["turnId"];
    let params = json!({ "threadId": thread, "turnId": turn });
    call.server.call("turn/interrupt", params).await.unwrap();
    let (_, item, home) = call.end_with_home().await;
    assert_eq!(item["status"], "failed");
    // The server has ended by now, so all that it was told is there.
    let text = fs::read_to_string(home.path().join("log")).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    let log: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    let is = |method: &str| log.iter().find(|message| message["method"] == method);
    let called = is("tools/call").unwrap();
    let cancelled = is("notifications/cancelled").unwrap();
    assert_eq!(cancelled["params"]["requestId"], called["id"]);
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let listed =
        json!({ "resources": [{ "server": "scripted", "name": "one", "uri": "memo://1" }] });
    let read = json!({ "server": "scripted", "uri": "memo://1",
        "contents": [{ "uri": "memo://1", "text": "hello" }] });
    let table = [
        ("list_mcp_resources", json!({}), listed),
        (
            "list_mcp_resource_templates",
            json!({}),
            json!({ "resourceTemplates": [] }),
        ),
        (
            "read_mcp_resource",
            json!({ "server": "scripted", "uri": "memo://1" }),
            read,
        ),
    ];
    for (tool, arguments, expected) in table {
        let call = McpToolTurn::start_with_tool(tool, &arguments, "on-request", "").await;
        let (told, item) = call.end().await;
        let told: Value = serde_json::from_str(told.as_str().unwrap()).unwrap();
        assert_eq!(told, expected, "{tool}");
        assert_eq!(item["tool"], tool);
    }
}

#[tokio::test]
async fn status_is_listed_and_configuration_read_anew() {
    let model = ModelServer::start([text_reply("one"), text_reply("two")])
        .await
        .unwrap();
    let home = untrusted_home(&model);
    let original = fs::read_to_string(home.path().join("config.toml")).unwrap();
    add(
        &home,
        "[mcp_servers.off]\ncommand = \"none\"\nenabled = false\n",
    );
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "one").await;
    let tables = configured(
        "scripted",
        &json!({}),
        "enabled_tools = [\"echo\", \"fail\"]\ndisabled_tools = [\"fail\"]",
    );
    let off = "[mcp_servers.off]\ncommand = \"none\"\nenabled = false\n";
    fs::write(home.path().join("config.toml"), original + off + &tables).unwrap();
    let reply = server.call("config/mcpServer/reload", json!({})).await;
    assert_eq!(reply.unwrap()["result"], json!({}));
    let listed = server
        .call("mcpServerStatus/list", json!({}))
        .await
        .unwrap();
    let data = listed["result"]["data"].as_array().unwrap();
    let names: Vec<_> = data.iter().map(|status| status["name"].clone()).collect();
    assert_eq!(names, ["off", "scripted"]);
    let tools = data[1]["tools"].as_object().unwrap();
    assert_eq!(tools.keys().collect::<Vec<_>>(), ["echo"]);
    assert_eq!(data[1]["resources"][0]["uri"], "memo://1");
    assert_eq!(data[1]["authStatus"], "unsupported");
    server.run_turn(&thread, "two").await;
    assert_eq!(data[1]["runtimeStatus"], Value::Null);
    let of_thread = json!({ "threadId": thread });
    let listed = server
        .call("mcpServerStatus/list", of_thread)
        .await
        .unwrap();
    let statuses = listed["result"]["data"].as_array().unwrap().iter();
    let statuses: Vec<_> = statuses
        .map(|status| status["runtimeStatus"].clone())
        .collect();
    assert_eq!(statuses, ["disabled", "connected"]);
    let offers = |request: Value| request["tools"].to_string().contains("mcp__scripted__echo");
    assert!(!offers(model.request(0).await.json()));
    assert!(offers(model.request(1).await.json()));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn servers_of_a_project_start_once_it_is_trusted() {
    for trusted in [false, true] {
        let model = ModelServer::start([text_reply("hello")]).await.unwrap();
        let home = untrusted_home(&model);
        let project = tempfile::tempdir().unwrap();
        let path = project.path().canonicalize().unwrap();
        fs::create_dir_all(path.join(".git")).unwrap();
        fs::create_dir_all(path.join(".codex")).unwrap();
        let table = configured("scripted", &json!({}), "");
        fs::write(path.join(".codex/config.toml"), table).unwrap();
        if trusted {
            let trust = format!("[projects.{path:?}]\ntrust_level = \"trusted\"\n");
            add(&home, &trust);
        }
        let mut server = server(&home).await;
        let reply = server.call("thread/start", json!({ "cwd": path })).await;
        let reply = reply.unwrap();
        let thread = reply["result"]["thread"]["id"].as_str().unwrap();
        server.run_turn(thread, "go").await;
        let tools = model.request(0).await.json()["tools"].to_string();
        assert_eq!(tools.contains("mcp__scripted__echo"), trusted);
        server.finish().await.unwrap();
    }
}

/// A server with a started MCP server, which holds a pipe together with a child of its own.
async fn held() -> (AppServer, String, pipe::Receiver, TempDir) {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let pipe = home.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let held = pipe::OpenOptions::new().open_receiver(&pipe).unwrap();
    add(&home, &configured("scripted", &json!({ "held": pipe }), ""));
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    loop {
        let told = server.wait_for(STARTUP).await.unwrap();
        if told["params"]["status"] == "ready" {
            return (server, thread, held, home);
        }
    }
}

async fn check_nothing_is_left(mut held: pipe::Receiver) {
    let ended = tokio::time::timeout(START_TIMEOUT, held.read_to_end(&mut Vec::new())).await;
    ended.unwrap().unwrap();
}

#[tokio::test]
async fn mcp_servers_end_with_thread_or_process() {
    let (server, _, held, _home) = self::held().await;
    server.finish().await.unwrap();
    check_nothing_is_left(held).await;

    let (server, _, held, _home) = self::held().await;
    server.kill().await.unwrap();
    check_nothing_is_left(held).await;

    let (mut server, thread, held, _home) = self::held().await;
    let params = json!({ "threadId": thread });
    server.call("thread/unsubscribe", params).await.unwrap();
    check_nothing_is_left(held).await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn traced_call_id_is_sent_to_the_mcp_server() {
    let call = sse::function_call("call", "mcp__scripted__echo", &json!({ "text": "hi" }));
    let mut traced = Traced::start(&[sse::items(&[call])]).await;
    let log = traced.home.path().join("log");
    let table = configured("scripted", &json!({ "log": log }), "");
    add(&traced.home, &table);
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let (bundles, home) = traced.finish().await;
    let state = bundles[&thread].reduce();
    let calls = state["tool_calls"].as_object().unwrap();
    let id = calls["call"]["mcp_call_id"].as_str().unwrap();
    let log = fs::read_to_string(home.path().join("log")).unwrap();
    let expected = format!("\"codex_bridge_mcp_call_id\":\"{id}\"");
    assert!(log.contains(&expected), "{log}");
}

#[test]
fn doctor_reports_failing_servers() {
    let home = tempfile::tempdir().unwrap();
    let examine = |command: &str| {
        let table = format!("[mcp_servers.docs]\ncommand = \"{command}\"\n");
        fs::write(home.path().join("config.toml"), table).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(["doctor", "--json"])
            .env("HOME", home.path())
            .env("CODEX_HOME", home.path())
            .current_dir(home.path())
            .output();
        let report: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["check"] == "mcp").unwrap();
        (check["state"].clone(), check["details"].clone())
    };
    assert_eq!(examine("sh"), (json!("ok"), json!([])));
    let problem = json!(["docs: there is no program `no-such-program`"]);
    assert_eq!(examine("no-such-program"), (json!("warning"), problem));
}
