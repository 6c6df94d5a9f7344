//! Other models go on with a turn where its own cannot, if the user names some.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::json;
use tempfile::TempDir;

use crate::setup::{experimental_server, home_with, scripted_config};

/// What the reply of a model to each request is: a status, or an answer.
async fn with_fallbacks(settings: &str) -> (ModelServer, TempDir) {
    let model = ModelServer::start([]).await.unwrap();
    model.answer(|request| {
        let asked = request.json()["model"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let refused = |status: u16, error: serde_json::Value| {
            Some(HttpReply::status(status).body(json!({ "error": error }).to_string()))
        };
        match asked.as_str() {
            "gone" => refused(
                404,
                json!({ "message": "no such model", "code": "model_not_found" }),
            ),
            "busy" => refused(
                503,
                json!({ "message": "busy", "code": "server_is_overloaded" }),
            ),
            "limited" => refused(429, json!({ "message": "slow down" })),
            "wrong" => refused(400, json!({ "message": "bad input" })),
            _ => Some(HttpReply::stream(&sse::text("done"))),
        }
    });
    let home = home_with(&scripted_config(&model, settings));
    (model, home)
}

fn models_asked(model: &ModelServer) -> Vec<String> {
    let asked = model.requests().into_iter();
    let asked = asked.map(|request| request.json()["model"].as_str().unwrap().to_owned());
    asked.collect()
}

#[tokio::test]
async fn fallbacks_go_on_where_a_model_cannot() {
    let settings = "model_fallbacks = [\"busy\", \"limited\", \"able\"]";
    let (model, home) = with_fallbacks(settings).await;
    let mut server = experimental_server(&home).await;
    let params = json!({ "model": "gone" });
    let thread = server.start_thread_with(params).await;
    for _ in 0..2 {
        server.start_turn(&thread, "go").await;
        let mut told = Vec::new();
        let turn = loop {
            let message = server.receive().await.unwrap();
            match message["method"].as_str() {
                Some("warning") => {
                    let text = message["params"]["message"].as_str().unwrap();
                    if text.contains("goes on with") {
                        told.push(text.to_owned());
                    }
                }
                Some("turn/completed") => break message["params"]["turn"].clone(),
                _ => {}
            }
        };
        assert_eq!(turn["status"], "completed", "{turn}");
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].contains("no such model") && told[2].contains("`able`"),
            "{told:?}"
        );
    }
    // The next turn begins with the model that the user has chosen.
    let once = ["gone", "busy", "limited", "able"];
    assert_eq!(models_asked(&model), [once, once].concat());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn request_errors_do_not_trigger_model_fallback() {
    let (model, home) = with_fallbacks("model_fallbacks = [\"able\"]").await;
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread_with(json!({ "model": "wrong" })).await;
    let turn = server.run_turn(&thread, "go").await;
    assert_eq!(turn["status"], "failed", "{turn}");
    assert_eq!(models_asked(&model), ["wrong"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn last_fallback_that_fails_ends_the_turn() {
    let (model, home) = with_fallbacks("model_fallbacks = [\"busy\", \"gone\"]").await;
    let mut server = experimental_server(&home).await;
    let thread = server
        .start_thread_with(json!({ "model": "limited" }))
        .await;
    let turn = server.run_turn(&thread, "go").await;
    let message = turn["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("no such model"), "{turn}");
    assert_eq!(models_asked(&model), ["limited", "busy", "gone"]);
    server.finish().await.unwrap();
}

/// A model at a limit that is reset so many seconds from now, once or always, and a home that waits for limits.
async fn with_usage_limit(seconds: i64, is_once: bool, settings: &str) -> (ModelServer, TempDir) {
    let model = ModelServer::start([]).await.unwrap();
    let error = json!({
        "type": "usage_limit_reached",
        "plan_type": "pro",
        "resets_at": jiff::Timestamp::now().as_second() + seconds,
    });
    let limit = HttpReply::json(429, &json!({ "error": error }));
    if is_once {
        model.push(limit);
        model.always(HttpReply::stream(&sse::text("done")));
    } else {
        model.always(limit);
    }
    let home = home_with(&scripted_config(&model, settings));
    (model, home)
}

async fn warning_about_wait(server: &mut AppServer) -> String {
    loop {
        let told = server.wait_for("warning").await.unwrap()["params"]["message"].clone();
        let told = told.as_str().unwrap();
        if told.contains("goes on by itself") {
            return told.to_owned();
        }
    }
}

#[tokio::test]
async fn turn_goes_on_when_its_usage_limit_resets() {
    let settings = "usage_limit_wait_seconds = 60";
    let (model, home) = with_usage_limit(1, true, settings).await;
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    let told = warning_about_wait(&mut server).await;
    assert!(told.starts_with("You've hit your usage limit."), "{told}");
    let turn = server.completed_turn().await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(model.requests().len(), 2);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn wait_for_a_usage_limit_can_be_interrupted() {
    let settings = "usage_limit_wait_seconds = 1000000";
    let (model, home) = with_usage_limit(100_000, false, settings).await;
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "go").await;
    let told = warning_about_wait(&mut server).await;
    assert!(told.contains("27 h 4"), "{told}");
    let params = json!({ "threadId": thread, "turnId": turn["id"] });
    server.result("turn/interrupt", params).await;
    assert_eq!(server.completed_turn().await["status"], "interrupted");
    assert_eq!(model.requests().len(), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn longer_wait_than_the_user_allows_fails_the_turn() {
    for (seconds, settings) in [
        (1, ""),
        (100, "usage_limit_wait_seconds = 60"),
        // The clock of the server is ahead: each wait counts, and none is shorter than the last.
        (-100, "usage_limit_wait_seconds = 2"),
    ] {
        let (model, home) = with_usage_limit(seconds, false, settings).await;
        let mut server = experimental_server(&home).await;
        let thread = server.start_thread().await;
        let turn = server.run_turn(&thread, "go").await;
        assert_eq!(turn["status"], "failed", "{turn}");
        let info = &turn["error"]["codexErrorInfo"];
        assert_eq!(info, "usageLimitExceeded", "{turn}");
        let waits = usize::from(seconds < 0);
        assert_eq!(model.requests().len(), 1 + waits);
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn fallback_precedes_wait_for_usage_limit() {
    let settings = "usage_limit_wait_seconds = 60\nmodel_fallbacks = [\"able\"]";
    let (model, home) = with_usage_limit(50, true, settings).await;
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.run_turn(&thread, "go").await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(models_asked(&model)[1], "able");
    server.finish().await.unwrap();
}
