//! What clients newer than 0.117 add to requests that are as old as that.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scripted_home::scripted_home;
use crate::soak::message;

/// A thread with a model that has this to say.
struct Scripted {
    server: AppServer,
    model: ModelServer,
    _home: TempDir,
    thread: Value,
}

impl Scripted {
    async fn start(replies: impl IntoIterator<Item = HttpReply>, params: Value) -> Self {
        let model = ModelServer::start(replies).await.unwrap();
        let home = scripted_home(&model, "");
        let mut server = AppServer::start(env!("CARGO_BIN_EXE_codex"), home.path()).unwrap();
        let client = json!({
            "clientInfo": { "name": "tests", "version": "1" },
            "capabilities": { "experimentalApi": true },
        });
        server.call("initialize", client).await.unwrap();
        let started = server.call("thread/start", params).await.unwrap();
        let thread = started["result"].clone();
        assert!(thread["thread"]["id"].is_string(), "{started}");
        Self {
            server,
            model,
            _home: home,
            thread,
        }
    }

    fn id(&self) -> Value {
        self.thread["thread"]["id"].clone()
    }

    /// What a request about the thread is answered.
    async fn call(&mut self, method: &str, mut params: Value) -> Value {
        params["threadId"] = self.id();
        self.server.call(method, params).await.unwrap()
    }

    /// Runs a turn with this besides what is said.
    async fn turn(&mut self, params: Value) {
        let mut params = params;
        params["input"] = json!([{ "type": "text", "text": "hi" }]);
        let started = self.call("turn/start", params).await;
        assert!(started["result"].is_object(), "{started}");
        self.server.wait_for("turn/completed").await.unwrap();
    }
}

#[tokio::test]
async fn a_tier_of_one_turn_is_of_that_turn_alone() {
    let steps = [
        (json!({ "serviceTier": "flex" }), json!("flex")),
        (
            json!({ "serviceTierForTurn": "priority" }),
            json!("priority"),
        ),
        (json!({ "serviceTierForTurn": "default" }), Value::Null),
        (json!({ "serviceTierForTurn": null }), json!("flex")),
        (json!({ "serviceTier": "default" }), Value::Null),
        (json!({}), Value::Null),
    ];
    let replies = (0..steps.len()).map(|number| message(number, "done"));
    let mut scripted = Scripted::start(replies, json!({ "serviceTier": "default" })).await;
    assert_eq!(scripted.thread["serviceTier"], "default");
    for (number, (params, tier)) in steps.into_iter().enumerate() {
        scripted.turn(params.clone()).await;
        let request = scripted.model.request(number).await.json();
        assert_eq!(request["service_tier"], tier, "{params}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_reviewer_is_known_by_its_newer_name() {
    let params = json!({ "approvalsReviewer": "auto_review" });
    let scripted = Scripted::start([], params).await;
    assert_eq!(scripted.thread["approvalsReviewer"], "guardian_subagent");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_list_takes_the_filters_of_newer_clients() {
    let mut scripted = Scripted::start([message(0, "done")], json!({})).await;
    scripted.turn(json!({})).await;
    let (id, cwd) = (scripted.id(), scripted.thread["cwd"].clone());
    let found = [
        (
            json!({ "sortKey": "recency_at", "useStateDbOnly": true }),
            true,
        ),
        (json!({ "cwd": ["/nowhere", cwd] }), true),
        (json!({ "cwd": ["/nowhere"] }), false),
        (json!({ "cwd": cwd }), true),
        (
            json!({ "sectionId": "any", "sortKey": "section_position" }),
            false,
        ),
        (json!({ "parentThreadId": id }), false),
        (json!({ "ancestorThreadId": id }), false),
        (json!({ "originators": [] }), true),
    ];
    for (params, is_found) in found {
        let page = scripted
            .server
            .call("thread/list", params.clone())
            .await
            .unwrap();
        let threads = page["result"]["data"].as_array().unwrap();
        let ids: Vec<&Value> = threads.iter().map(|thread| &thread["id"]).collect();
        let expected = is_found.then_some(&id);
        assert_eq!(ids, expected.into_iter().collect::<Vec<_>>(), "{params}");
    }
    let refused = [
        (json!({ "sortKey": "section_position" }), -32600),
        (json!({ "projectId": "any" }), -32602),
        (json!({ "originators": ["other"] }), -32602),
        (
            json!({ "parentThreadId": id, "ancestorThreadId": id }),
            -32600,
        ),
    ];
    for (params, code) in refused {
        let reply = scripted
            .server
            .call("thread/list", params.clone())
            .await
            .unwrap();
        assert_eq!(reply["error"]["code"], code, "{params}: {reply}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_terminal_that_is_stopped_from_outside_has_failed() {
    let waits = json!({ "cmd": "sleep 600", "yield_time_ms": 250 });
    let call = sse::items(&[sse::function_call("call", "exec_command", &waits)]);
    let replies = [HttpReply::stream(&call), message(1, "it waits")];
    let settings = json!({ "features.unified_exec": true });
    let params = json!({ "approvalPolicy": "never", "config": settings });
    let mut scripted = Scripted::start(replies, params).await;
    scripted.turn(json!({})).await;
    let cleaned = scripted
        .call("thread/backgroundTerminals/clean", json!({}))
        .await;
    assert_eq!(cleaned["result"], json!({}));
    let ended = scripted.server.wait_for("item/completed").await.unwrap();
    let item = &ended["params"]["item"];
    assert_eq!(item["status"], "failed");
    assert_eq!(item["exitCode"], -1);
    scripted.server.finish().await.unwrap();
}
