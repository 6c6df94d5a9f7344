//! Requests that do not begin like the one before them: the trace says why and what it costs, and so does a warning to
//! those who want one.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_process::configured;
use crate::setup::{scripted_home, server_in};
use crate::trace_record::bundles;
use crate::{codex, stdout_of};

/// What the server's readers are told of every break.
const NOTICES: &str = "prompt_cache_notices = true";

/// A thread whose session is traced.
struct TracedThread {
    server: AppServer,
    model: ModelServer,
    home: TempDir,
    thread: String,
}

impl TracedThread {
    async fn start(settings: &str) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
        let home = scripted_home(&model, settings);
        let root = home.path().join("deep/traces");
        let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
        let mut server = server_in(&home, &variables).await;
        let work = json!({ "cwd": home.path() });
        let thread = server.start_thread_with(work).await;
        Self {
            server,
            model,
            home,
            thread,
        }
    }

    /// Runs a turn, and returns what the client is told of a break.
    async fn turn(&mut self, members: Value) -> Vec<String> {
        let input = json!([{ "type": "text", "text": "go" }]);
        let mut params = json!({ "threadId": self.thread, "input": input });
        let members = members.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(members);
        self.server.result("turn/start", params).await;
        let mut told = Vec::new();
        loop {
            let message = self.server.receive().await.unwrap();
            match message["method"].as_str() {
                Some("warning") => {
                    let text = message["params"]["message"].as_str().unwrap();
                    if text.contains("tokens again") {
                        told.push(text.to_owned());
                    }
                }
                Some("turn/completed") => return told,
                _ => {}
            }
        }
    }

    /// The breaks in the trace, without what identifies them.
    async fn finish(self) -> Vec<Value> {
        self.server.finish().await.unwrap();
        let bundles = bundles(self.home.path());
        let bundle = &bundles[&self.thread];
        let path = bundle.0.to_str().unwrap();
        stdout_of(&codex(&["debug", "trace-reduce", path, "--strict"]));
        let events = bundle.events().into_iter();
        let events = events.filter(|event| {
            event["payload"]["event_type"].as_str() == Some("prompt_prefix_broken")
        });
        let recorded = events.map(|event| {
            let path = &event["payload"]["event_payload"]["path"];
            let recorded = bundle.json(path.as_str().unwrap());
            assert_eq!(recorded["thread_id"], *self.thread);
            recorded
        });
        recorded.collect()
    }
}

fn lost(recorded: &Value) -> u64 {
    recorded["lost_tokens"].as_u64().unwrap()
}

#[tokio::test]
async fn changed_agents_file_breaks_no_prefix() {
    let mut thread = TracedThread::start(NOTICES).await;
    let file = thread.home.path().join("AGENTS.md");
    for text in ["be kind", "be quick", "be both"] {
        fs::write(&file, text).unwrap();
        assert_eq!(thread.turn(json!({})).await, Vec::<String>::new());
    }
    let last = thread.model.requests().last().unwrap().json().to_string();
    assert!(last.contains("be quick") && last.contains("be both"));
    // A compaction says itself that it replaces the history, and the first request of a fork is of another thread.
    let of_thread = json!({ "threadId": thread.thread });
    let compact = thread
        .server
        .result("thread/compact/start", of_thread.clone());
    compact.await;
    thread.server.completed_turn().await;
    assert_eq!(thread.turn(json!({})).await, Vec::<String>::new());
    let forked = thread.server.result("thread/fork", of_thread.clone()).await;
    let input = json!([{ "type": "text", "text": "go" }]);
    let turn = json!({ "threadId": forked["thread"]["id"], "input": input, "effort": "low" });
    thread.server.result("turn/start", turn).await;
    thread.server.completed_turn().await;
    // What a rollback takes away is not sent again.
    let rollback = json!({ "threadId": thread.thread, "numTurns": 1 });
    thread.server.result("thread/rollback", rollback).await;
    assert_eq!(thread.turn(json!({})).await, Vec::<String>::new());
    assert_eq!(thread.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn added_tool_server_is_named_with_its_cost() {
    let mut thread = TracedThread::start(NOTICES).await;
    thread.turn(json!({})).await;
    let file = thread.home.path().join("config.toml");
    let original = fs::read_to_string(&file).unwrap();
    let table = configured(
        "scripted",
        &json!({}),
        "enabled_tools = [\"echo\", \"fail\"]",
    );
    fs::write(&file, format!("{original}{table}")).unwrap();
    let reload = "config/mcpServer/reload";
    thread.server.result(reload, json!({})).await;
    let told = thread.turn(json!({})).await;
    let [told] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        told.contains("tools were added (") && told.contains("mcp__scripted__echo"),
        "{told}"
    );
    // It is told once, not with every later request.
    assert_eq!(thread.turn(json!({})).await, Vec::<String>::new());
    fs::write(&file, original).unwrap();
    thread.server.result(reload, json!({})).await;
    let told = thread.turn(json!({})).await;
    assert!(told[0].contains("tools were removed ("), "{told:?}");
    let recorded = thread.finish().await;
    let [added, removed] = &recorded[..] else {
        panic!("{recorded:?}");
    };
    let [change] = &added["changes"].as_array().unwrap()[..] else {
        panic!("{added}");
    };
    assert_eq!(change["type"], "tools");
    let names = json!(["mcp__scripted__echo", "mcp__scripted__fail"]);
    let is_named = |list: &Value| {
        let names = names.as_array().unwrap();
        names
            .iter()
            .all(|name| list.as_array().unwrap().contains(name))
    };
    assert!(is_named(&change["added"]), "{change}");
    assert_eq!(change["removed"], json!([]));
    assert!(is_named(&removed["changes"][0]["removed"]), "{removed}");
    assert!(lost(added) > 300, "{added}");
    assert!(lost(removed) > lost(added), "{removed}");
    assert_eq!(added["kept_tokens"], 0);
}

#[tokio::test]
async fn other_model_and_effort_are_recorded_without_a_notice() {
    let mut thread = TracedThread::start("").await;
    for members in [
        json!({}),
        json!({ "model": "gpt-5.5", "effort": "low" }),
        json!({ "effort": "high" }),
        json!({}),
    ] {
        assert_eq!(thread.turn(members).await, Vec::<String>::new());
    }
    let recorded = thread.finish().await;
    let [model, effort] = &recorded[..] else {
        panic!("{recorded:?}");
    };
    let changes = model["changes"].as_array().unwrap();
    let expected = json!({ "type": "model", "before": "scripted", "after": "gpt-5.5" });
    assert_eq!(changes[0], expected);
    assert!(lost(model) > 100, "{model}");
    let expected = json!([{ "type": "effort", "before": "low", "after": "high" }]);
    assert_eq!(effort["changes"], expected);
    let message = effort["message"].as_str().unwrap();
    assert!(
        message.contains("the effort is `high` instead of `low`"),
        "{message}"
    );
}

#[tokio::test]
async fn changed_schema_of_the_answer_is_named() {
    let mut thread = TracedThread::start(NOTICES).await;
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    thread.turn(json!({ "outputSchema": schema })).await;
    let told = thread.turn(json!({})).await;
    assert!(told[0].contains("the schema of the answer"), "{told:?}");
    thread.finish().await;
}
