//! `codex acp --listen`: many editors on one agent, who may connect, and what becomes of questions when an editor leaves.

use std::path::Path;

use codex_test_support::WebSocket;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::acp_check::AcpCheck;
use crate::acp_client::prompt;
use crate::listeners::Listening;
use crate::repository;

/// An agent that listens, and its home folder.
struct Agent {
    server: Listening,
    home: TempDir,
}

impl Agent {
    async fn start(scenario: &str) -> Self {
        Self::start_with(scenario, &["--listen", "ws://127.0.0.1:0"]).await
    }

    async fn start_with(scenario: &str, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        let scenario = repository().join("scenarios").join(scenario);
        let scenario = ["--scenario", scenario.to_str().unwrap()];
        let arguments = [arguments, &scenario].concat();
        let server = Listening::start_command(home.path(), "acp", &arguments).await;
        Self { server, home }
    }

    async fn editor(&self) -> RemoteEditor<TcpStream> {
        let stream = self.server.tcp().await;
        RemoteEditor::initialized(stream, self.home.path(), json!({})).await
    }

    async fn editor_with(&self, offers: Value) -> RemoteEditor<TcpStream> {
        let stream = self.server.tcp().await;
        RemoteEditor::initialized(stream, self.home.path(), offers).await
    }

    /// Stops the agent and waits for its end.
    async fn stop(mut self) {
        self.server.terminate();
        assert!(self.server.child.wait().await.unwrap().success());
    }
}

/// An editor on a websocket.
struct RemoteEditor<S> {
    socket: WebSocket<S>,
    next_id: i64,
    work: String,
    updates: Vec<Value>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RemoteEditor<S> {
    async fn initialized(stream: S, home: &Path, offers: Value) -> Self {
        let check = Box::<AcpCheck>::default();
        let socket = WebSocket::connect_to_other(stream, "", check).await;
        let mut editor = Self {
            socket: socket.unwrap().unwrap(),
            next_id: 0,
            work: home.join("work").display().to_string(),
            updates: Vec::new(),
        };
        let params = json!({ "protocolVersion": 1, "clientCapabilities": offers });
        let reply = editor.request("initialize", params).await;
        assert_eq!(reply["result"]["protocolVersion"], 1, "{reply}");
        editor
    }

    async fn send(&mut self, message: Value) {
        self.socket.send(&message).await.unwrap();
    }

    async fn begin(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    async fn receive(&mut self) -> Value {
        // None if the agent has closed the connection.
        let message = self.socket.receive().await.unwrap().unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        if message["method"] == "session/update" {
            self.updates.push(message["params"]["update"].clone());
        }
        message
    }

    async fn reply_to(&mut self, id: &Value) -> Value {
        loop {
            let message = self.receive().await;
            if message["id"] == *id && message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.reply_to(&id).await
    }

    async fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let message = self.receive().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Waits for an update of this kind from here on.
    async fn update(&mut self, kind: &str) -> Value {
        loop {
            let message = self.wait_for("session/update").await;
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == kind {
                return update.clone();
            }
        }
    }

    async fn new_session(&mut self) -> String {
        let params = json!({ "cwd": self.work, "mcpServers": [] });
        let reply = self.request("session/new", params).await;
        let id = reply["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    async fn load(&mut self, session: &str) {
        let params = json!({ "sessionId": session, "cwd": self.work, "mcpServers": [] });
        let reply = self.request("session/load", params).await;
        assert!(reply.get("result").is_some(), "{reply}");
    }

    async fn answer(&mut self, question: &Value, option: &str) {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }))
            .await;
    }

    /// The text of all updates of a kind.
    fn text(&self, kind: &str) -> String {
        let updates = self.updates.iter();
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }
}

/// Whether a client is let in with these headers, or how it is refused.
async fn refusal(server: &Listening, headers: &str) -> Option<String> {
    let connected = WebSocket::connect(server.tcp().await, headers).await;
    let refused = connected.unwrap().err();
    refused.map(|refused| refused.status_line)
}

const SCRIPT_ANSWER: &str = "I only know my script.";

#[tokio::test]
async fn several_editors_have_one_session_live() {
    let agent = Agent::start("chat.toml").await;
    let (mut one, mut other) = (agent.editor().await, agent.editor().await);
    let session = one.new_session().await;
    other.load(&session).await;
    let reply = one
        .request("session/prompt", prompt(&session, "of one"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    // The other sees the message, and all of the answer.
    other.update("user_message_chunk").await;
    while !other.text("agent_message_chunk").contains("see a command.") {
        other.receive().await;
    }
    assert_eq!(other.text("user_message_chunk"), "of one");
    assert_eq!(one.text("user_message_chunk"), "");
    assert_eq!(
        one.text("agent_message_chunk"),
        other.text("agent_message_chunk")
    );
    // The next turn begins when the other knows that this one is over.
    let reply = other
        .request("session/prompt", prompt(&session, "of the other"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    one.update("user_message_chunk").await;
    assert_eq!(one.text("user_message_chunk"), "of the other");
    agent.stop().await;
}

#[tokio::test]
async fn first_answer_withdraws_the_other_questions() {
    let agent = Agent::start("approve-command.toml").await;
    let (mut one, mut other) = (agent.editor().await, agent.editor().await);
    let session = one.new_session().await;
    other.load(&session).await;
    let turn = one.begin("session/prompt", prompt(&session, "go")).await;
    let question = one.wait_for("session/request_permission").await;
    let same = other.wait_for("session/request_permission").await;
    assert_eq!(
        question["params"]["toolCall"]["toolCallId"],
        same["params"]["toolCall"]["toolCallId"]
    );
    other.answer(&same, "allow_once").await;
    let withdrawn = one.wait_for("$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // It comes too late, and changes nothing.
    one.answer(&question, "reject_once").await;
    let reply = one.reply_to(&turn).await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(one.text("agent_message_chunk").contains("is there."));
    assert!(agent.home.path().join("work/release-notes").is_dir());
    agent.stop().await;
}

#[tokio::test]
async fn a_question_waits_for_the_editor_to_come_back() {
    let agent = Agent::start("approve-command.toml").await;
    let mut editor = agent.editor().await;
    let session = editor.new_session().await;
    editor.begin("session/prompt", prompt(&session, "go")).await;
    editor.wait_for("session/request_permission").await;
    // The connection breaks.
    drop(editor);
    let mut again = agent.editor().await;
    again.load(&session).await;
    assert_eq!(again.text("user_message_chunk"), "go");
    assert_eq!(
        again.text("agent_message_chunk"),
        "I will make it next to the sources."
    );
    let question = again.wait_for("session/request_permission").await;
    assert!(!agent.home.path().join("work/release-notes").exists());
    again.answer(&question, "allow_once").await;
    while !again.text("agent_message_chunk").contains("is there.") {
        again.receive().await;
    }
    assert!(agent.home.path().join("work/release-notes").is_dir());
    // The turn of somebody else is over for this editor too.
    let reply = again
        .request("session/prompt", prompt(&session, "thanks"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    agent.stop().await;
}

#[tokio::test]
async fn an_editor_that_leaves_answers_nothing_for_the_others() {
    let agent = Agent::start("approve-command.toml").await;
    let (mut one, mut other) = (agent.editor().await, agent.editor().await);
    let session = one.new_session().await;
    other.load(&session).await;
    one.begin("session/prompt", prompt(&session, "go")).await;
    one.wait_for("session/request_permission").await;
    let question = other.wait_for("session/request_permission").await;
    one.socket.finish().await.unwrap();
    other.answer(&question, "allow_once").await;
    while !other.text("agent_message_chunk").contains("is there.") {
        other.receive().await;
    }
    agent.stop().await;
}

#[tokio::test]
async fn form_question_goes_to_editors_with_form_support() {
    let agent = Agent::start("ask-the-person.toml").await;
    let mut plain = agent.editor().await;
    let mut able = agent
        .editor_with(json!({ "elicitation": { "form": {} } }))
        .await;
    let session = plain.new_session().await;
    able.load(&session).await;
    let turn = plain.begin("session/prompt", prompt(&session, "go")).await;
    let question = able.wait_for("elicitation/create").await;
    let properties = &question["params"]["requestedSchema"]["properties"];
    let content: serde_json::Map<_, _> = properties
        .as_object()
        .unwrap()
        .keys()
        .map(|name| (name.clone(), json!("x")))
        .collect();
    able.send(json!({ "jsonrpc": "2.0", "id": question["id"],
        "result": { "action": "accept", "content": content } }))
        .await;
    let reply = plain.reply_to(&turn).await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    agent.stop().await;
}

#[tokio::test]
async fn session_without_turn_is_found_again() {
    let agent = Agent::start("chat.toml").await;
    let mut editor = agent.editor().await;
    let session = editor.new_session().await;
    drop(editor);
    let mut again = agent.editor().await;
    again.load(&session).await;
    let reply = again
        .request("session/prompt", prompt(&session, "hi"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    agent.stop().await;
}

#[tokio::test]
async fn acp_listener_needs_the_token_and_refuses_web_pages() {
    let home = tempfile::tempdir().unwrap();
    let token = home.path().join("token");
    std::fs::write(&token, "open sesame").unwrap();
    let token = token.display().to_string();
    let flags = [
        "--listen",
        "ws://127.0.0.1:0",
        "--ws-auth",
        "capability-token",
        "--ws-token-file",
        &token,
    ];
    let agent = Agent::start_with("chat.toml", &flags).await;
    let table = [
        ("", "401"),
        ("Authorization: Bearer wrong\r\n", "401"),
        (
            "Authorization: Bearer open sesame\r\nOrigin: http://localhost\r\n",
            "403",
        ),
    ];
    for (headers, status) in table {
        let refused = refusal(&agent.server, headers).await.unwrap();
        assert!(refused.contains(status), "{headers}: {refused}");
    }
    assert_eq!(
        refusal(&agent.server, "Authorization: Bearer open sesame\r\n").await,
        None
    );
    agent.stop().await;
    // Without a token, names that others can point at this machine are refused.
    let agent = Agent::start("chat.toml").await;
    let refused = refusal(&agent.server, "Host: agent.example\r\n").await;
    assert!(refused.is_some_and(|refused| refused.contains("403")));
    agent.stop().await;
    let open = crate::codex(&["acp", "--listen", "ws://0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(1));
    let unnamed = crate::codex(&["acp", "--listen", "unix://"]);
    assert_eq!(unnamed.status.code(), Some(1));
}

#[tokio::test]
async fn oversized_acp_message_is_refused_and_the_session_continues() {
    let flags = [
        "--listen",
        "ws://127.0.0.1:0",
        "--max-message-bytes",
        "4096",
    ];
    let agent = Agent::start_with("chat.toml", &flags).await;
    let mut editor = agent.editor().await;
    let session = editor.new_session().await;
    let long = "x".repeat(5000);
    editor
        .begin("session/prompt", prompt(&session, &long))
        .await;
    let refused = loop {
        let message = editor.receive().await;
        if message.get("error").is_some() {
            break message;
        }
    };
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
    let reply = editor
        .request("session/prompt", prompt(&session, "hi"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    agent.stop().await;
}

#[tokio::test]
async fn a_hundred_editors_are_served_at_once_and_leave() {
    let agent = Agent::start("chat.toml").await;
    let mut first = agent.editor().await;
    let session = first.new_session().await;
    let mut editors = Vec::new();
    for _ in 0..100 {
        let mut editor = agent.editor().await;
        editor.load(&session).await;
        editors.push(editor);
    }
    let reply = first
        .request("session/prompt", prompt(&session, "hi"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    for editor in &mut editors {
        while !editor.text("agent_message_chunk").contains(SCRIPT_ANSWER) {
            editor.receive().await;
        }
    }
    drop(editors);
    let reply = first
        .request("session/prompt", prompt(&session, "hi"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    agent.stop().await;
}

#[tokio::test]
async fn unreading_editor_blocks_no_other() {
    // Far more than the buffers on the way take.
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("scenario.toml");
    let text = r#"
        description = "A long output."
        [settings]
        approval_policy = "never"
        sandbox_mode = "danger-full-access"
        [[replies]]
        steps = [{ command = "i=0; while [ $i -lt 12000 ]; do printf '%01000d\\n' $i; i=$((i+1)); done" }]
        [[replies]]
        steps = [{ message = "Done." }]
    "#;
    std::fs::write(&scenario, text).unwrap();
    let agent = Agent::start(scenario.to_str().unwrap()).await;
    let offers = json!({ "_meta": { "terminal_output": true } });
    let mut reading = agent.editor_with(offers.clone()).await;
    let mut silent = agent.editor_with(offers).await;
    let session = reading.new_session().await;
    silent.load(&session).await;
    let reply = reading
        .request("session/prompt", prompt(&session, "count"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(reading.text("agent_message_chunk").contains("Done."));
    // The other one has missed a part, and finds all of it when it comes back.
    drop(silent);
    let mut again = agent.editor().await;
    again.load(&session).await;
    assert_eq!(again.text("user_message_chunk"), "count");
    assert!(again.text("agent_message_chunk").contains("Done."));
    agent.stop().await;
}

#[tokio::test]
async fn a_unix_socket_serves_editors_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    let url = format!("unix://{}", path.display());
    let agent = Agent::start_with("chat.toml", &["--listen", &url]).await;
    let stream = UnixStream::connect(&path).await.unwrap();
    let mut editor = RemoteEditor::initialized(stream, agent.home.path(), json!({})).await;
    let session = editor.new_session().await;
    let reply = editor
        .request("session/prompt", prompt(&session, "hi"))
        .await;
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    agent.stop().await;
    assert!(!path.exists());
}

/// Commands run once, so none runs in a terminal of one of several editors.
#[tokio::test]
async fn shared_agent_does_not_use_editor_terminals() {
    let agent = Agent::start("chat.toml").await;
    let mut editor = agent.editor_with(json!({ "terminal": true })).await;
    let session = editor.new_session().await;
    let prompted = editor.begin("session/prompt", prompt(&session, "run something"));
    prompted.await;
    let question = editor.wait_for("session/request_permission").await;
    assert_eq!(question["params"]["sessionId"], session);
    editor.answer(&question, "reject_once").await;
    editor.update("tool_call_update").await;
    agent.stop().await;
}
