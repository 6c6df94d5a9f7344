//! `turn/settings/update`: settings of a running turn that change from its next request to the model on.

use codex_test_support::{AppServer, HttpReply, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{experimental_server, scripted_home};
use crate::soak::message;

const METHOD: &str = "turn/settings/update";
const SWITCHING_SETTINGS: &str = "[features]\nstep_model_switching = true\n";

/// A call of the tool `pause` of the client, which lasts until the test answers it.
fn pause(id: &str) -> HttpReply {
    let call =
        json!({ "type": "function_call", "name": "pause", "arguments": "{}", "call_id": id });
    let done = json!({ "type": "response.output_item.done", "item": call });
    let completed = json!({ "type": "response.completed", "response": { "id": id } });
    HttpReply::stream([&done, &completed])
}

/// A running turn that waits for the client, with the features of `settings`.
struct PausedTurn {
    server: AppServer,
    model: ModelServer,
    home: TempDir,
    thread: Value,
    turn: Value,
    pause: Value,
}

impl PausedTurn {
    async fn start(model_name: &str, settings: &str) -> Self {
        let replies = [
            pause("c1"),
            pause("c2"),
            message(1, "one"),
            message(2, "two"),
        ];
        let model = ModelServer::start(replies).await.unwrap();
        let home = scripted_home(&model, settings);
        let mut server = experimental_server(&home).await;
        let tool =
            json!({ "name": "pause", "description": "x", "inputSchema": { "type": "object" } });
        let params = json!({ "model": model_name, "dynamicTools": [tool] });
        let started = server.result("thread/start", params).await;
        let thread = started["thread"]["id"].clone();
        let input = json!([{ "type": "text", "text": "hi" }]);
        let params = json!({ "threadId": thread, "input": input });
        let turn = server.result("turn/start", params).await["turn"]["id"].clone();
        let pause = server.wait_for("item/tool/call").await.unwrap();
        Self {
            server,
            model,
            home,
            thread,
            turn,
            pause,
        }
    }

    /// Asks for other settings of this turn.
    async fn update(&mut self, mut params: Value) -> Value {
        params["threadId"] = self.thread.clone();
        if params["turnId"].is_null() {
            params["turnId"] = self.turn.clone();
        }
        self.server.call(METHOD, params).await.unwrap()
    }

    async fn applies(&mut self, params: Value) {
        let answer = self.update(params).await;
        assert_eq!(answer["result"]["status"], "applied", "{answer}");
    }

    /// Answers the call that the turn waits for.
    async fn go_on(&mut self) {
        let text = json!([{ "type": "inputText", "text": "go on" }]);
        let result = json!({ "contentItems": text, "success": true });
        let answer = json!({ "id": self.pause["id"], "result": result });
        self.server.send(&answer).await.unwrap();
    }

    async fn pause_again(&mut self) {
        self.go_on().await;
        self.pause = self.server.wait_for("item/tool/call").await.unwrap();
    }

    async fn request(&self, number: usize) -> Value {
        self.model.request(number).await.json()
    }
}

#[tokio::test]
async fn the_next_request_of_a_turn_has_other_settings() {
    let mut paused = PausedTurn::start("gpt-5.4", SWITCHING_SETTINGS).await;
    let first = json!({ "effort": "low" });
    paused.applies(first).await;
    let second = json!({
        "model": "gpt-5.2", "effort": "high", "summary": "concise", "serviceTier": "flex",
        "approvalsReviewer": "user", "environments": [{ "environmentId": "local", "cwd": "/" }],
    });
    paused.applies(second).await;
    paused.pause_again().await;
    let request = paused.request(1).await;
    assert_eq!(request["model"], "gpt-5.2");
    assert_eq!(request["reasoning"]["effort"], "high");
    assert_eq!(request["reasoning"]["summary"], "concise");
    assert_eq!(request["service_tier"], "flex");
    let input = request["input"].to_string();
    assert!(input.contains("<model_switch>"), "{input}");
    assert!(input.contains("<cwd>/</cwd>"), "{input}");

    paused.applies(json!({ "environments": [] })).await;
    paused.go_on().await;
    paused.server.wait_for("turn/completed").await.unwrap();
    let (before, after) = (paused.request(1).await, paused.request(2).await);
    assert!(before["tools"].to_string().contains("view_image"));
    assert!(!after["tools"].to_string().contains("view_image"));
    assert_eq!(after["model"], "gpt-5.2");

    // The thread has its own settings still, and so has its next turn.
    let read = json!({ "threadId": paused.thread });
    let read = paused.server.result("thread/read", read).await;
    assert_eq!(read["thread"]["model"], "gpt-5.4");
    let thread = paused.thread.as_str().unwrap().to_owned();
    paused.server.run_turn(&thread, "again").await;
    let request = paused.request(3).await;
    assert_eq!(request["model"], "gpt-5.4");
    assert_eq!(request["service_tier"], Value::Null);
    assert!(request["tools"].to_string().contains("view_image"));
    let (thread, home) = (paused.thread, paused.home);
    paused.server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let params = json!({ "threadId": thread, "excludeTurns": true });
    let resumed = server.result("thread/resume", params).await;
    assert_eq!(resumed["model"], "gpt-5.4");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn other_settings_are_refused_as_in_0_169() {
    let unknown = "thread not found: 01a0f5cf-7ed4-7003-9f30-08c4ff4b9b5d";
    let mut paused = PausedTurn::start("scripted", SWITCHING_SETTINGS).await;
    let nowhere = json!([{ "environmentId": "far", "cwd": "/" }]);
    for (params, refusal) in [
        (json!({}), "the active model has only fallback metadata"),
        (
            json!({ "summary": "none", "approvalsReviewer": "user" }),
            "the active model has only fallback metadata",
        ),
        (
            json!({ "environments": nowhere, "turnId": "other" }),
            "unknown turn environment id `far`",
        ),
        (
            json!({ "bogus": 1 }),
            "Invalid request: unknown field `bogus`, expected one of `threadId`, `turnId`, \
             `approvalsReviewer`, `environments`, `model`, `effort`, `summary`, `serviceTier`",
        ),
    ] {
        let answer = paused.update(params.clone()).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with(refusal), "{params}: {answer}");
    }
    let other = json!({ "turnId": "other", "model": "gpt-5.4" });
    let answer = paused.update(other).await;
    assert_eq!(answer["result"]["status"], "targetUnavailable");
    let folder = json!([{ "environmentId": "local", "cwd": "/" }]);
    paused.applies(json!({ "environments": folder })).await;
    paused
        .applies(json!({ "approvalsReviewer": "user", "model": null }))
        .await;
    let id = unknown.rsplit(' ').next();
    let params = json!({ "threadId": id, "turnId": "x", "environments": nowhere });
    let refused = paused.server.call(METHOD, params).await.unwrap();
    assert_eq!(refused["error"]["message"], unknown);
    paused.pause_again().await;
    paused.go_on().await;
    paused.server.wait_for("turn/completed").await.unwrap();
    let answer = paused.update(json!({ "effort": "low" })).await;
    assert_eq!(answer["result"]["status"], "targetUnavailable");
    paused.server.finish().await.unwrap();

    let mut known = PausedTurn::start("gpt-5.4", SWITCHING_SETTINGS).await;
    let answer = known.update(json!({ "model": "nope" })).await;
    let refusal = "the destination model has only fallback metadata";
    assert_eq!(answer["error"]["message"], refusal);
    known.server.abandon().await.unwrap();
}

#[tokio::test]
async fn a_turn_keeps_its_settings_without_the_feature() {
    let mut paused = PausedTurn::start("gpt-5.4", "").await;
    for turn in [paused.turn.clone(), json!("other")] {
        let answer = paused
            .update(json!({ "model": "gpt-5.2", "turnId": turn }))
            .await;
        let refusal = "turn settings updates require the step_model_switching feature";
        assert_eq!(answer["error"]["message"], refusal);
    }
    paused.pause_again().await;
    assert_eq!(paused.request(1).await["model"], "gpt-5.4");
    paused.server.abandon().await.unwrap();
}
