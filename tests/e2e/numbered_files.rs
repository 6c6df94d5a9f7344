//! Files that newer engines read as well: each line has the next number, and each visible item a line of its own, which this
//! program skips.

use std::fs;
use std::path::PathBuf;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::until_both_ended;
use crate::setup::{PROGRAM, numbered, scripted_home};

struct Numbered {
    model: ModelServer,
    home: TempDir,
    server: AppServer,
    thread: String,
}

async fn server_for(home: &TempDir, arguments: &[&str]) -> AppServer {
    let mut server = AppServer::start_with(PROGRAM, home.path(), arguments).unwrap();
    server.initialize_experimental().await;
    server
}

impl Numbered {
    async fn start(arguments: &[&str]) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let home = scripted_home(&model, "approval_policy = \"never\"");
        let mut server = server_for(&home, arguments).await;
        let thread = server.start_thread().await;
        Self {
            model,
            home,
            server,
            thread,
        }
    }

    /// A turn with a command, a patch and an answer.
    async fn turn(&mut self, name: &str) {
        let command = json!({ "cmd": "echo out" });
        let command = sse::function_call(&format!("c-{name}"), "exec_command", &command);
        let patch = format!(
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch\nEOF\n"
        );
        let patch = sse::function_call(
            &format!("p-{name}"),
            "exec_command",
            &json!({ "cmd": patch }),
        );
        for call in [command, patch] {
            self.model.push(HttpReply::stream(&sse::items(&[call])));
        }
        self.model
            .push(HttpReply::stream(&numbered(sse::text(name))));
        self.server.run_turn(&self.thread, name).await;
    }

    async fn restart(&mut self, arguments: &[&str]) {
        let server = server_for(&self.home, arguments).await;
        std::mem::replace(&mut self.server, server)
            .finish()
            .await
            .unwrap();
        let params = json!({ "threadId": self.thread });
        self.server.result("thread/resume", params).await;
    }

    async fn path(&mut self) -> PathBuf {
        let params = json!({ "threadId": self.thread });
        let read = self.server.result("thread/read", params).await;
        read["thread"]["path"].as_str().unwrap().into()
    }

    async fn lines(&mut self) -> Vec<Value> {
        let text = fs::read_to_string(self.path().await).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The kinds of the items of each turn.
    async fn kinds(&mut self) -> Vec<Vec<String>> {
        let params = json!({ "threadId": self.thread, "includeTurns": true });
        let read = self.server.result("thread/read", params).await;
        let kinds = |turn: &Value| {
            let items = turn["items"].as_array().unwrap().iter();
            items
                .map(|item| item["type"].as_str().unwrap().to_owned())
                .collect()
        };
        read["thread"]["turns"]
            .as_array()
            .unwrap()
            .iter()
            .map(kinds)
            .collect()
    }
}

const NEWER_ARGUMENTS: &[&str] = &["--newer-clients"];
const SHOWN_FILES: [&str; 4] = [
    "userMessage",
    "commandExecution",
    "fileChange",
    "agentMessage",
];

#[tokio::test]
async fn newer_clients_get_numbered_item_lines() {
    let mut numbered = Numbered::start(NEWER_ARGUMENTS).await;
    numbered.turn("one").await;
    let name = json!({ "threadId": numbered.thread, "name": "a name" });
    numbered.server.result("thread/name/set", name).await;
    // Older clients go on with the same file.
    numbered.restart(&[]).await;
    numbered.turn("two").await;
    numbered.restart(NEWER_ARGUMENTS).await;

    let lines = numbered.lines().await;
    let ordinals: Vec<u64> = lines
        .iter()
        .map(|line| line["ordinal"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = (0..).take(lines.len()).collect();
    assert_eq!(ordinals, expected);
    assert_eq!(lines[0]["payload"]["history_mode"], "paginated");
    for turn in ["one", "two"] {
        let item = |kind: &str, id: &str| {
            lines
                .iter()
                .filter(|line| {
                    let item = &line["payload"]["item"];
                    item["type"] == kind && (id.is_empty() || item["id"] == format!("{id}-{turn}"))
                })
                .count()
        };
        assert_eq!(item("CommandExecution", "c"), 1, "{turn}");
        assert_eq!(item("FileChange", "p"), 1, "{turn}");
        assert_eq!(item("UserMessage", ""), 2);
        assert_eq!(item("AgentMessage", ""), 2);
    }
    // Each item is shown once.
    assert_eq!(numbered.kinds().await, [SHOWN_FILES, SHOWN_FILES]);
    numbered.server.finish().await.unwrap();
}

#[tokio::test]
async fn numbering_continues_after_torn_and_unnumbered_lines() {
    let mut numbered = Numbered::start(NEWER_ARGUMENTS).await;
    numbered.turn("one").await;
    let path = numbered.path().await;
    numbered.restart(NEWER_ARGUMENTS).await;
    let before = numbered.lines().await.len();
    numbered.server.finish().await.unwrap();
    let unnumbered =
        r#"{"timestamp":"2026-03-01T10:00:00.012Z","type":"event_msg","payload":{"type":"x"}}"#;
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{unnumbered}\n{{\"timestamp\":\"20")).unwrap();
    numbered.server = server_for(&numbered.home, NEWER_ARGUMENTS).await;
    let params = json!({ "threadId": numbered.thread });
    numbered.server.result("thread/resume", params).await;
    numbered.turn("two").await;
    let text = fs::read_to_string(&path).unwrap();
    let added = text.lines().skip(before + 2);
    let added: Vec<Value> = added
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let first = added[0]["ordinal"].as_u64().unwrap();
    assert!(first > before as u64, "{first}");
    let ordinals: Vec<u64> = added
        .iter()
        .map(|line| line["ordinal"].as_u64().unwrap())
        .collect();
    assert_eq!(ordinals, (first..).take(added.len()).collect::<Vec<_>>());
    assert_eq!(numbered.kinds().await, [SHOWN_FILES, SHOWN_FILES]);
    numbered.server.finish().await.unwrap();
}

#[tokio::test]
async fn threads_of_older_clients_have_no_numbers() {
    let mut numbered = Numbered::start(&[]).await;
    numbered.turn("one").await;
    let lines = numbered.lines().await;
    assert!(lines.iter().all(|line| line.get("ordinal").is_none()));
    assert!(
        lines
            .iter()
            .all(|line| line["payload"].get("mirrored").is_none())
    );
    numbered.server.finish().await.unwrap();
}

#[tokio::test]
async fn fork_of_a_numbered_thread_continues_its_numbers() {
    let mut numbered = Numbered::start(NEWER_ARGUMENTS).await;
    numbered.turn("one").await;
    let params = json!({ "threadId": numbered.thread });
    let forked = numbered.server.result("thread/fork", params).await;
    forked["thread"]["id"]
        .as_str()
        .unwrap()
        .clone_into(&mut numbered.thread);
    numbered.turn("two").await;
    numbered.restart(NEWER_ARGUMENTS).await;

    let lines = numbered.lines().await;
    let ordinals: Vec<u64> = lines
        .iter()
        .map(|line| line["ordinal"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = (0..).take(lines.len()).collect();
    assert_eq!(ordinals, expected);
    assert_eq!(lines[0]["payload"]["id"], numbered.thread);
    assert_eq!(lines[0]["payload"]["history_mode"], "paginated");
    let is_start = |line: &&Value| line["type"] == "session_meta";
    assert_eq!(lines.iter().filter(is_start).count(), 1);
    assert_eq!(numbered.kinds().await, [SHOWN_FILES, SHOWN_FILES]);
    numbered.server.finish().await.unwrap();
}

#[tokio::test]
async fn agent_lines_are_numbered_after_resume() {
    let mut numbered = Numbered::start(NEWER_ARGUMENTS).await;
    let parent = numbered.thread.clone();
    for turn in ["one", "two"] {
        let task = json!({ "message": "make it", "agent_type": "worker" });
        let call = sse::function_call(turn, "spawn_agent", &task);
        numbered.model.push(HttpReply::stream(&sse::items(&[call])));
        let answer = || HttpReply::stream(&crate::setup::numbered(sse::text("done")));
        numbered.model.push(answer());
        numbered.model.push_for_agent(answer());
        let params = json!({ "threadId": parent, "input": [{ "type": "text", "text": turn }] });
        numbered.server.result("turn/start", params).await;
        let ends = until_both_ended(&mut numbered.server).await;
        let of_agent = |end: &&Value| {
            let thread = &end["params"]["threadId"];
            end["method"] == "turn/completed" && *thread != parent.as_str()
        };
        let agent = ends.iter().find(of_agent).unwrap();
        numbered.thread = agent["params"]["threadId"].as_str().unwrap().to_owned();
        let lines = numbered.lines().await;
        assert_eq!(lines[0]["payload"]["history_mode"], "paginated", "{turn}");
        let is_numbered = |(index, line): (usize, &Value)| line["ordinal"] == index;
        assert!(lines.iter().enumerate().all(is_numbered), "{turn}");
        numbered.thread.clone_from(&parent);
        // The client that goes on is one of 0.117.
        numbered.restart(&[]).await;
    }
    numbered.server.finish().await.unwrap();
}
