//! An editor that speaks ACP to the built binary, and checks everything that the agent writes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use codex_test_support::MessageCheck;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::acp_check::AcpCheck;
use crate::repository;

/// A message that has not come by then never comes.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The agent, the folder that it works in, and what it said.
pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    pub(crate) home: TempDir,
    /// Every update until now, with the session that it is of.
    pub(crate) updates: Vec<Value>,
    /// Every request of the agent until now.
    pub(crate) asked: Vec<Value>,
    /// What the agent is answered, by method.
    answers: Vec<(String, Value)>,
    check: AcpCheck,
    next_id: i64,
}

impl Editor {
    /// Starts the agent with this scenario and shakes hands.
    pub(crate) async fn start(scenario: &str, offers: Value) -> Self {
        let mut editor = Self::start_in(tempfile::tempdir().unwrap(), scenario);
        let reply = editor.initialize(offers).await;
        assert_eq!(reply["result"]["protocolVersion"], 1, "{reply}");
        editor
    }

    pub(crate) fn start_in(home: TempDir, scenario: &str) -> Self {
        let path = if scenario.contains('/') {
            PathBuf::from(scenario)
        } else {
            repository().join("scenarios").join(scenario)
        };
        Self::spawn(home, &["--scenario", path.to_str().unwrap()])
    }

    pub(crate) fn spawn(home: TempDir, arguments: &[&str]) -> Self {
        Self::spawn_with_key(home, arguments, None)
    }

    /// Starts the agent with an API key in its environment.
    pub(crate) fn spawn_with_key(home: TempDir, arguments: &[&str], key: Option<&str>) -> Self {
        std::fs::create_dir_all(home.path().join("work")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
            .arg("acp")
            .args(arguments)
            .env("HOME", home.path())
            .env("CODEX_HOME", home.path())
            .env_remove("OPENAI_API_KEY")
            .env_remove("CODEX_API_KEY")
            .envs(key.map(|key| ("OPENAI_API_KEY", key)))
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            home,
            updates: Vec::new(),
            asked: Vec::new(),
            answers: Vec::new(),
            check: AcpCheck::default(),
            next_id: 0,
        }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// From now on requests of this method are answered so.
    pub(crate) fn answer(&mut self, method: &str, result: Value) {
        self.answers.retain(|(known, _)| known != method);
        self.answers.push((method.to_owned(), result));
    }

    pub(crate) async fn initialize(&mut self, offers: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": offers });
        self.request("initialize", params).await
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        if let Ok(message) = serde_json::from_str(line) {
            self.check.sent(&message);
        }
        let input = self.input.as_mut().unwrap();
        input
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
        input.flush().await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send_line(&message.to_string()).await;
    }

    /// Sends a request, and tells its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_line(&message.to_string()).await;
        id
    }

    /// Sends a request and waits for its reply, answering what the agent asks meanwhile.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.reply_to(&id).await
    }

    pub(crate) async fn reply_to(&mut self, id: &Value) -> Value {
        loop {
            let message = self.receive().await;
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
        }
    }

    /// The next message, which is kept, and answered if it is a request that has an answer.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(TEST_TIMEOUT, self.output.next_line()).await;
        let line = line
            .unwrap_or_else(|_| panic!("nothing comes"))
            .unwrap()
            .unwrap_or_else(|| panic!("the agent is gone"));
        let message: Value = serde_json::from_str(&line).unwrap();
        self.check.received(&message);
        match message["method"].as_str() {
            Some("session/update") => self.updates.push(message["params"].clone()),
            Some(method) if message.get("id").is_some() => {
                self.asked.push(message.clone());
                let known = self.answers.iter().find(|(known, _)| known == method);
                if let Some((_, result)) = known {
                    let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                    self.send_line(&reply.to_string()).await;
                }
            }
            _ => {}
        }
        message
    }

    /// Waits for the first update of this kind from here on.
    pub(crate) async fn update(&mut self, kind: &str) -> Value {
        loop {
            let message = self.receive().await;
            if message["params"]["update"]["sessionUpdate"] == kind {
                return message["params"]["update"].clone();
            }
        }
    }

    /// Waits for a request of this method.
    pub(crate) async fn question(&mut self, method: &str) -> Value {
        loop {
            let message = self.receive().await;
            if message["method"] == method && message.get("id").is_some() {
                return message;
            }
        }
    }

    pub(crate) async fn new_session(&mut self) -> String {
        let params = json!({ "cwd": self.work(), "mcpServers": [] });
        let reply = self.request("session/new", params).await;
        reply["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{reply}"))
            .to_owned()
    }

    /// Says something and waits for the end of the turn.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.request("session/prompt", prompt(session, text)).await
    }

    /// The updates of one kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        let updates = self.updates.iter().map(|params| &params["update"]);
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// All that the agent said.
    pub(crate) fn agent_text(&self) -> String {
        let chunks = self.of_kind("agent_message_chunk").into_iter();
        chunks
            .filter_map(|chunk| chunk["content"]["text"].as_str())
            .collect()
    }

    /// Closes the input and waits for the end; tells whether it was a good one.
    pub(crate) async fn close(mut self) -> (bool, TempDir) {
        self.input = None;
        while let Ok(Some(line)) = self.output.next_line().await {
            self.check.received(&serde_json::from_str(&line).unwrap());
        }
        let status = tokio::time::timeout(TEST_TIMEOUT, self.child.wait())
            .await
            .unwrap();
        (status.unwrap().success(), self.home)
    }
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
