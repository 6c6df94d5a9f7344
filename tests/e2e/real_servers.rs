//! Servers that others wrote, in front of a small model and of the scripted one: llama.cpp's own and the proxy of LiteLLM.
//! `tests/servers/install.sh` installs them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};

use crate::cut_answers::response_answer;
use crate::exec::{ExecFolders, events, kinds};
use crate::repository;
use crate::setup::{experimental_server, numbered};

/// The variable that names the Python that has the servers.
const PYTHON: &str = "CODEX_SERVERS_PYTHON";

/// What is asked of the proxy, and for which of its models.
const ROUTES: [(&str, &str); 3] = [
    ("chat", "scripted"),
    ("responses", "scripted"),
    ("responses", "bridged"),
];

/// A server, until it is dropped.
struct RealServer {
    child: Child,
    address: String,
}

impl RealServer {
    fn start(script: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(std::env::var_os(PYTHON).unwrap())
            .arg(repository().join("tests/servers").join(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self {
            child,
            address: String::new(),
        };
        let mut lines = printed.lines().map(Result::unwrap);
        server.address = lines.find(|line| line.starts_with("http://")).unwrap();
        // What it prints later would fail if nobody read it.
        std::thread::spawn(move || lines.for_each(drop));
        server
    }

    /// A home whose model is this server's.
    fn folders(&self, wire: &str, model: &str) -> ExecFolders {
        let folders = ExecFolders::new();
        // A small model reads slowly.
        fs::write(folders.home.path().join("short.md"), "Be brief.").unwrap();
        let config = format!(
            "model = {model:?}\nmodel_provider = \"real\"\nmodel_instructions_file = \"short.md\"\n\
             web_search = \"disabled\"\ninclude_permissions_instructions = false\n\
             [model_providers.real]\nname = \"Real\"\nbase_url = \"{}/v1\"\nwire_api = {wire:?}\n\
             request_max_retries = 0\nstream_max_retries = 0\n",
            self.address
        );
        fs::write(folders.home.path().join("config.toml"), config).unwrap();
        folders
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn exec(folders: &ExecFolders, arguments: &[&str]) -> Output {
    let arguments = [&["--json", "-s", "danger-full-access"], arguments].concat();
    let mut command = folders.command(&arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}

fn find<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().find(|event| event["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {events:?}"))
}

/// The items of a kind that the events complete.
fn items<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let items = events
        .iter()
        .filter(|event| event["type"] == "item.completed");
    let items = items.map(|event| &event["item"]);
    items.filter(|item| item["type"] == kind).collect()
}

/// Why the turn failed, as a script reads it.
fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    let events = events(output);
    let message = find(&events, "turn.failed")["error"]["message"].clone();
    let message = message.as_str().unwrap().to_owned();
    assert!(!message.contains('{'), "raw: {message}");
    message
}

#[tokio::test]
#[ignore = "needs Python with the servers, which CODEX_SERVERS_PYTHON names"]
async fn llama_cpp_answers_over_both_interfaces() {
    let server = RealServer::start("llama.py", &["4", "8192"]);
    for wire in ["chat", "responses"] {
        let folders = server.folders(wire, "smollm2");
        let output = exec(&folders, &["Count to a hundred."]).await;
        let told = events(&output);
        assert!(output.status.success(), "{wire}: {told:?}");
        let answers = items(&told, "agent_message");
        assert!(!answers[0]["text"].as_str().unwrap().is_empty(), "{told:?}");
        assert_eq!(answers.len(), 1, "{told:?}");
        // Over responses the server calls an answer complete that it cut.
        let is_cut = told
            .iter()
            .any(|event| event.to_string().contains("limit on output tokens"));
        assert_eq!(is_cut, wire == "chat", "{told:?}");
        let usage = &find(&told, "turn.completed")["usage"];
        assert!(usage["input_tokens"].as_u64().unwrap() > 100, "{usage}");
        assert_eq!(usage["output_tokens"], 4, "{usage}");
        let output = exec(&folders, &["resume", "--last", "Go on."]).await;
        let told = events(&output);
        assert_eq!(kinds(&told).last(), Some(&"turn.completed"), "{told:?}");
        let usage = &find(&told, "turn.completed")["usage"];
        assert!(
            usage["cached_input_tokens"].as_u64().unwrap() > 100,
            "{usage}"
        );
    }
    let folders = server.folders("responses", "smollm2");
    let mut app_server = experimental_server(folders.home.path()).await;
    let listed = app_server.result("model/list", json!({})).await;
    let is_listed = |model: &Value| model["id"] == "smollm2";
    assert!(
        listed["data"].as_array().unwrap().iter().any(is_listed),
        "{listed}"
    );
    app_server.finish().await.unwrap();
}

#[tokio::test]
#[ignore = "needs Python with the servers, which CODEX_SERVERS_PYTHON names"]
async fn llama_cpp_refuses_what_its_window_does_not_hold() {
    let server = RealServer::start("llama.py", &["4", "256"]);
    for wire in ["chat", "responses"] {
        let folders = server.folders(wire, "smollm2");
        let told = failure(&exec(&folders, &["Say hello."]).await);
        assert!(told.contains("ran out of room"), "{wire}: {told}");
    }
    let folders = server.folders("chat", "smollm2");
    drop(server);
    let told = failure(&exec(&folders, &["Say hello."]).await);
    assert!(
        told.contains("No server answers at http://127.0.0.1"),
        "{told}"
    );
}

/// What the proxy has, and what its models are.
fn proxy(folder: &Path, model: &ModelServer) -> RealServer {
    let entry = |name: &str, kind: &str| {
        json!({ "model_name": name, "litellm_params": {
            "model": format!("{kind}/scripted"), "api_base": model.base_url(), "api_key": "none",
        } })
    };
    // What the second one gets as responses it asks for as a chat.
    let config = json!({
        "model_list": [entry("scripted", "openai"), entry("bridged", "custom_openai")],
        "router_settings": { "num_retries": 0, "disable_cooldowns": true },
        "litellm_settings": { "num_retries": 0 },
    });
    let file = folder.join("litellm.yaml");
    fs::write(&file, config.to_string()).unwrap();
    RealServer::start("lite.py", &[file.to_str().unwrap()])
}

fn chat_stream(deltas: &[Value], reason: &str) -> HttpReply {
    let chunk = |delta: &Value, reason: Value| {
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
    };
    let mut chunks: Vec<Value> = deltas
        .iter()
        .map(|delta| chunk(delta, Value::Null))
        .collect();
    chunks.push(chunk(&json!({}), reason.into()));
    chunks.push(json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [],
        "usage": { "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25,
            "prompt_tokens_details": { "cached_tokens": 7 } } }));
    let frames = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    let body = frames.collect::<String>() + "data: [DONE]\n\n";
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .body(body)
}

/// A call of a command, and then an answer.
fn scripted_answer(request: &ReceivedRequest) -> HttpReply {
    let has_output = String::from_utf8_lossy(&request.body).contains("from a tool");
    let arguments = json!({ "command": "echo from a tool", "cmd": "echo from a tool" });
    let asked = request.json();
    let tools = asked["tools"].to_string();
    let tool = ["exec_command", "shell_command"];
    let tool = tool.into_iter().find(|tool| tools.contains(tool)).unwrap();
    if request.path.ends_with("/chat/completions") {
        if has_output {
            let halves = [
                json!({ "role": "assistant", "content": "do" }),
                json!({ "content": "ne" }),
            ];
            return chat_stream(&halves, "stop");
        }
        let call = json!({ "role": "assistant", "tool_calls": [{ "index": 0, "id": "call_1", "type": "function",
            "function": { "name": tool, "arguments": arguments.to_string() } }] });
        return chat_stream(&[call], "tool_calls");
    }
    let mut events = if has_output {
        sse::text("done")
    } else {
        numbered(sse::items(&[sse::function_call(
            "call_1", tool, &arguments,
        )]))
    };
    for event in &mut events {
        if event["response"]["usage"].is_object() {
            event["response"]["usage"] = json!({
                "input_tokens": 20, "input_tokens_details": { "cached_tokens": 7 },
                "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 25,
            });
        }
    }
    HttpReply::stream(&events)
}

#[tokio::test]
#[ignore = "needs Python with the servers, which CODEX_SERVERS_PYTHON names"]
async fn litellm_passes_on_tools_usage_and_errors() {
    let model = ModelServer::start([]).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let server = proxy(place.path(), &model);
    for (wire, name) in ROUTES {
        model.answer(|request| Some(scripted_answer(request)));
        let folders = server.folders(wire, name);
        let output = exec(&folders, &["Go."]).await;
        let told = events(&output);
        assert!(output.status.success(), "{wire} {name}: {told:?}");
        let commands = items(&told, "command_execution");
        assert_eq!(commands.len(), 1, "{wire} {name}: {told:?}");
        assert_eq!(commands[0]["aggregated_output"], "from a tool\n");
        let answers = items(&told, "agent_message");
        assert_eq!(
            answers.last().unwrap()["text"],
            "done",
            "{wire} {name}: {told:?}"
        );
        let usage = &find(&told, "turn.completed")["usage"];
        assert_eq!(usage["input_tokens"], 40, "{wire} {name}: {usage}");
        assert_eq!(usage["cached_input_tokens"], 14, "{wire} {name}: {usage}");
    } // Cut answers, whether the server behind the proxy says so or the connection ends.
    for (wire, name) in ROUTES {
        model.answer(|request| Some(cut_answer(request)));
        let folders = server.folders(wire, name);
        let output = exec(&folders, &["Go."]).await;
        let told = events(&output);
        assert_eq!(
            kinds(&told).last(),
            Some(&"turn.completed"),
            "{wire} {name}: {told:?}"
        );
        assert_eq!(
            items(&told, "agent_message")[0]["text"],
            "The first half of"
        );
        let notices = items(&told, "error");
        let is_told = |notice: &&Value| {
            notice["message"]
                .to_string()
                .contains("limit on output tokens")
        };
        assert!(notices.iter().any(is_told), "{wire} {name}: {told:?}");
    }
    // What the server behind the proxy says is shown as it says it.
    for (wire, name) in ROUTES {
        for (status, shown) in [
            (400, "400"),
            (401, "401"),
            (403, "403"),
            (429, "429"),
            (500, "500"),
            (503, "503"),
        ] {
            model.answer(move |_| {
                let error = json!({ "error": { "message": "the words behind it", "type": "t", "code": "c" } });
                Some(HttpReply::status(status).body(error.to_string()))
            });
            let told = failure(&exec(&server.folders(wire, name), &["Go."]).await);
            for part in ["the words behind it", shown, "request id: "] {
                assert!(told.contains(part), "{wire} {name} {status}: {told}");
            }
        }
        let told = failure(&exec(&server.folders(wire, "wrong"), &["Go."]).await);
        assert!(
            told.contains("Invalid model name passed in model=wrong"),
            "{told}"
        );
    }
    check_wrong_name_for_clients(&server).await;
    let folders = server.folders("chat", "scripted");
    drop(model);
    let told = failure(&exec(&folders, &["Go."]).await);
    assert!(told.contains("Connection error"), "{told}");
    drop(server);
    let told = failure(&exec(&folders, &["Go."]).await);
    assert!(
        told.contains("No server answers at http://127.0.0.1"),
        "{told}"
    );
}

/// An answer that ends at a limit.
fn cut_answer(request: &ReceivedRequest) -> HttpReply {
    if request.path.ends_with("/chat/completions") {
        let text = json!({ "role": "assistant", "content": "The first half of" });
        return chat_stream(&[text], "length");
    }
    response_answer("The first half of", "max_output_tokens")
}

async fn check_wrong_name_for_clients(server: &RealServer) {
    let folders = server.folders("responses", "wrong");
    let mut app_server = experimental_server(folders.home.path()).await;
    let listed = app_server.result("model/list", json!({})).await;
    let is_listed = |model: &Value| model["id"] == "bridged";
    assert!(
        listed["data"].as_array().unwrap().iter().any(is_listed),
        "{listed}"
    );
    let thread = app_server.start_thread().await;
    app_server.start_turn(&thread, "Go.").await;
    let turn = app_server.completed_turn().await;
    assert_eq!(turn["status"], "failed", "{turn}");
    let error = &turn["error"];
    assert_eq!(error["codexErrorInfo"], "badRequest", "{turn}");
    app_server.finish().await.unwrap();
}
