//! `codex mcp-server`, as an MCP client sees it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use codex_test_support::MessageCheck;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_check::McpCheck;
use crate::repository;

pub(crate) struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub(crate) home: TempDir,
    received: Vec<Value>,
    check: McpCheck,
    next_id: i64,
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl McpClient {
    /// Starts a server with a ready scenario, or with that of a path, and shakes hands.
    pub(crate) fn start(scenario: &str, capabilities: &Value) -> Self {
        let mut client = Self::spawn(scenario);
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
                             "clientInfo": info });
        let reply = client.request("initialize", params);
        assert_eq!(reply["result"]["protocolVersion"], "2025-06-18");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn spawn(scenario: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let scenario = repository().join("scenarios").join(scenario);
        let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
            .arg("mcp-server")
            .arg("--scenario")
            .arg(scenario)
            .env("HOME", home.path())
            .env("CODEX_HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            home,
            received: Vec::new(),
            check: McpCheck::default(),
            next_id: 0,
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.check.sent(message);
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&message);
        id
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(
            self.output.read_line(&mut line).unwrap(),
            0,
            "the server is gone"
        );
        let message: Value = serde_json::from_str(&line).unwrap();
        self.check.received(&message);
        self.received.push(message.clone());
        message
    }

    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.receive();
            if is_it(&message) {
                return message;
            }
        }
    }

    fn reply_to(&mut self, id: &Value) -> Value {
        self.until(|message| message.get("method").is_none() && message["id"] == *id)
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.reply_to(&id)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params)["result"].take()
    }

    fn events(&self) -> Vec<&str> {
        let events = self
            .received
            .iter()
            .filter(|message| message["method"] == "codex/event");
        events
            .filter_map(|event| event["params"]["msg"]["type"].as_str())
            .collect()
    }
}

/// The capability of a client that reads events.
fn reads_events() -> Value {
    json!({ "experimental": { "codex/event": {} } })
}

#[test]
fn client_without_events_gets_progress() {
    let mut client = McpClient::start("hello.toml", &json!({ "elicitation": {} }));
    let params = json!({ "name": "codex", "arguments": { "prompt": "go" },
                         "_meta": { "progressToken": 7 } });
    let done = client.request("tools/call", params);
    assert_eq!(done["result"].get("isError"), None, "{done}");
    let methods = client.received.iter();
    let mut methods: Vec<_> = methods.filter_map(|one| one["method"].as_str()).collect();
    assert!(methods.contains(&"notifications/progress"), "{methods:?}");
    methods.retain(|method| *method != "notifications/progress");
    assert!(methods.is_empty(), "{methods:?}");
    client.received.clear();
    let params = json!({ "name": "codex", "arguments": { "prompt": "go" } });
    client.request("tools/call", params);
    assert_eq!(client.received.len(), 1, "{:?}", client.received);
}

#[test]
fn a_known_client_gets_events_without_asking() {
    let mut client = McpClient::spawn("hello.toml");
    let info = json!({ "name": "happy-codex-client", "version": "1.0.0" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
                         "clientInfo": info });
    client.request("initialize", params);
    client.call("codex", json!({ "prompt": "hi" }));
    assert!(
        client.events().contains(&"task_complete"),
        "{:?}",
        client.events()
    );
}

#[test]
fn a_task_is_done_and_gone_on_with() {
    let mut client = McpClient::start("chat.toml", &reads_events());
    let tools = client.request("tools/list", json!({}));
    let names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(names, ["codex", "codex-reply"]);
    let done = client.call("codex", json!({ "prompt": "hi" }));
    assert_eq!(done.get("isError"), None, "{done}");
    let structured = &done["structuredContent"];
    assert_eq!(structured["content"], done["content"][0]["text"]);
    assert!(!structured["content"].as_str().unwrap().is_empty());
    for event in [
        "session_configured",
        "task_started",
        "agent_message",
        "task_complete",
    ] {
        assert!(
            client.events().contains(&event),
            "{event}: {:?}",
            client.events()
        );
    }
    let more = json!({ "threadId": structured["threadId"], "prompt": "and now?" });
    let done = client.call("codex-reply", more);
    assert_eq!(
        done["structuredContent"]["threadId"], structured["threadId"],
        "{done}"
    );
    client.input = None;
    assert!(client.child.wait().unwrap().success());
}

/// Plays a scenario whose questions are approved. Returns what was asked and the events, by type.
fn play_with_events(scenario: &str) -> (Vec<Value>, impl Fn(&str) -> Vec<Value>) {
    let mut capabilities = reads_events();
    capabilities["elicitation"] = json!({});
    let mut client = McpClient::start(scenario, &capabilities);
    let greeting = "#!/bin/sh\necho \"hello\"\n";
    fs::write(client.home.path().join("greet.sh"), greeting).unwrap();
    let params = json!({ "name": "codex", "arguments": { "prompt": "go" } });
    let id = client.ask("tools/call", params);
    let mut asked = Vec::new();
    loop {
        let message = client.receive();
        if message["method"] == "elicitation/create" {
            let answer = json!({ "decision": "approved" });
            client.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer }));
            asked.push(message["params"].clone());
        } else if message["id"] == id {
            break;
        }
    }
    let messages = std::mem::take(&mut client.received);
    let of_type = move |wanted: &str| {
        let events = messages.iter().map(|message| &message["params"]["msg"]);
        let wanted = events.filter(|event| event["type"] == wanted);
        wanted.cloned().collect()
    };
    (asked, of_type)
}

#[test]
fn patch_events_have_first_protocol_members() {
    let (asked, of_type) = play_with_events("approve-patch.toml");
    let configured = &of_type("session_configured")[0];
    let sandbox = &configured["sandbox_policy"]["type"];
    assert!(sandbox.is_string(), "{configured}");
    assert_eq!(configured["history_entry_count"], 0);
    let patch = &of_type("patch_apply_begin")[0];
    assert_eq!(patch["changes"].as_object().unwrap().len(), 2, "{patch}");
    assert_eq!(patch["auto_approved"], false);
    assert_eq!(asked[0]["codex_changes"], patch["changes"]);
    let question = &of_type("apply_patch_approval_request")[0];
    assert_eq!(question["call_id"], patch["call_id"]);
    assert_eq!(question["changes"], patch["changes"]);
    let text = asked[0]["message"].as_str().unwrap();
    let files = patch["changes"].as_object().unwrap();
    assert!(
        files.keys().all(|file| text.contains(file.as_str())),
        "{text}"
    );
    let end = &of_type("patch_apply_end")[0];
    assert_eq!(end["status"], "completed");
    assert_eq!(end["changes"], patch["changes"]);
    let complete = &of_type("task_complete")[0];
    let last = of_type("agent_message");
    let last = &last.last().unwrap()["message"];
    assert_eq!(complete["last_agent_message"], *last);
}

#[test]
fn command_events_have_first_protocol_members() {
    let (asked, of_type) = play_with_events("approve-command.toml");
    let question = &of_type("exec_approval_request")[0];
    assert_eq!(question["command"], asked[0]["codex_command"]);
    assert_eq!(question["available_decisions"][0], "approved");
    let (begin, end) = (of_type("exec_command_begin"), of_type("exec_command_end"));
    assert_eq!(begin[0]["command"], question["command"]);
    assert_eq!(end[0]["command"], question["command"]);
    assert_eq!(end[0]["exit_code"], 0);
    assert_eq!(end[0]["status"], "completed");
    assert!(end[0]["parsed_cmd"].is_array(), "{}", end[0]);
}

#[test]
fn invalid_mcp_requests_are_refused() {
    let mut client = McpClient::start("hello.toml", &json!({}));
    let again = client.request("initialize", json!({}));
    assert_eq!(
        again["error"]["message"],
        "initialize called more than once"
    );
    assert_eq!(
        client.request("resources/list", json!({}))["error"]["code"],
        -32601
    );
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let unknown = client.call("odd", json!({}));
    assert_eq!(unknown["isError"], true);
    assert_eq!(unknown["content"][0]["text"], "Unknown tool 'odd'");
    for (tool, arguments) in [
        ("codex", json!({})),
        ("codex-reply", json!({ "prompt": "x" })),
    ] {
        assert_eq!(client.call(tool, arguments)["isError"], true, "{tool}");
    }
}

#[test]
fn command_approval_needs_elicitation_support() {
    let mut client = McpClient::start("approve-command.toml", &json!({ "elicitation": {} }));
    let meta = json!({ "progressToken": "p" });
    let params = json!({ "name": "codex", "arguments": { "prompt": "go" }, "_meta": meta });
    let id = client.ask("tools/call", params);
    let asked = client.until(|message| message["method"] == "elicitation/create");
    assert_eq!(asked["params"]["codex_elicitation"], "exec-approval");
    assert!(client.events().is_empty());
    let answer =
        json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "decision": "approved" } });
    client.send(&answer);
    let done = client.reply_to(&id);
    assert_eq!(done["result"].get("isError"), None, "{done}");
    assert!(client.home.path().join("release-notes").is_dir());
    let steps = client
        .received
        .iter()
        .filter(|message| message["method"] == "notifications/progress");
    let steps: Vec<_> = steps
        .map(|step| step["params"]["progress"].clone())
        .collect();
    assert!(steps.len() > 1, "{steps:?}");
    assert_eq!(steps[0], 1);
}

#[test]
fn a_command_is_refused_where_nobody_can_be_asked() {
    let mut client = McpClient::start("approve-command.toml", &json!({}));
    let done = client.call("codex", json!({ "prompt": "go" }));
    assert_eq!(done.get("isError"), None, "{done}");
    assert!(!client.home.path().join("release-notes").exists());
}

#[test]
fn a_call_that_is_cancelled_ends() {
    let mut client = McpClient::start("slow-answer.toml", &reads_events());
    let params = json!({ "name": "codex", "arguments": { "prompt": "go" } });
    let id = client.ask("tools/call", params);
    client.until(|message| message["params"]["msg"]["type"] == "agent_message_delta");
    let cancelled = json!({ "requestId": id });
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
    );
    let done = client.reply_to(&id);
    assert_eq!(done["result"]["isError"], true);
    assert!(client.events().contains(&"turn_aborted"));
}

#[test]
fn invalid_messages_get_errors_and_the_server_continues() {
    let mut client = McpClient::start("chat.toml", &json!({}));
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": { "requestId": 999 } });
    client.send(&cancelled);
    client.send(&json!({ "jsonrpc": "2.0", "id": 777, "result": {}, "error": { "code": 1 } }));
    client.send(&json!({ "jsonrpc": "2.0", "id": "x", "method": 5 }));
    assert_eq!(client.reply_to(&json!("x"))["error"]["code"], -32600);
    // An id that was cancelled before it was used is not cancelled.
    let params = json!({ "name": "codex", "arguments": { "prompt": "hi" } });
    let call = json!({ "jsonrpc": "2.0", "id": 999, "method": "tools/call", "params": params });
    client.send(&call);
    let done = client.reply_to(&json!(999));
    assert_eq!(done["result"].get("isError"), None, "{done}");
}

#[test]
fn a_request_with_an_id_in_use_is_refused() {
    let mut client = McpClient::start("approve-command.toml", &json!({ "elicitation": {} }));
    let id = client.ask(
        "tools/call",
        json!({ "name": "codex", "arguments": { "prompt": "go" } }),
    );
    let asked = client.until(|message| message["method"] == "elicitation/create");
    let again = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    client.send(&again);
    assert_eq!(client.reply_to(&id)["error"]["code"], -32600);
    // A reply that is no reply is a refusal; the call ends all the same.
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": "no" }));
    assert!(client.reply_to(&id)["result"]["content"].is_array());
}

/// A request of the revision without a handshake, from a client with these capabilities.
fn stateless(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

#[test]
fn stateless_results_have_the_required_members() {
    let mut client = McpClient::spawn("chat.toml");
    let found = client.request("server/discover", stateless(json!({}), &json!({})));
    let versions = &found["result"]["supportedVersions"];
    assert_eq!(versions[0], "2026-07-28", "{found}");
    assert_eq!(found["result"]["capabilities"], json!({ "tools": {} }));
    let listed = client.request("tools/list", stateless(json!({}), &json!({})));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);
    let call = json!({ "name": "codex", "arguments": { "prompt": "hi" } });
    let done = client.request("tools/call", stateless(call, &json!({})));
    assert!(
        done["result"]["structuredContent"]["threadId"].is_string(),
        "{done}"
    );
    for reply in [&found, &listed, &done] {
        let result = &reply["result"];
        assert_eq!(result["resultType"], "complete", "{reply}");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "codex-mcp-server", "{reply}");
    }
    assert!(found["result"]["ttlMs"].is_u64() && listed["result"]["cacheScope"].is_string());
    assert!(client.events().is_empty(), "{:?}", client.events());
    let mut unknown = stateless(json!({}), &json!({}));
    unknown["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let refused = client.request("tools/list", unknown);
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(refused["error"]["data"]["requested"], "2030-01-01");
}

#[test]
fn without_a_handshake_questions_come_with_the_reply() {
    let forms = json!({ "elicitation": { "form": {} } });
    let mut client = McpClient::spawn("approve-command.toml");
    let mut call = json!({ "name": "codex", "arguments": { "prompt": "go" } });
    let asked = client.request("tools/call", stateless(call.clone(), &forms));
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "form");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({ key: { "action": "accept", "content": {} } });
    let done = client.request("tools/call", stateless(call.clone(), &forms));
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(done["result"].get("isError"), None, "{done}");
    assert!(client.home.path().join("release-notes").is_dir());
    let late = client.request("tools/call", stateless(call, &forms));
    assert_eq!(late["error"]["code"], -32602, "{late}");
}
