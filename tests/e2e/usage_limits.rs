//! Limits on what turns, threads and trees of agents use: a hard stop with an error of its own, and what was used.

use std::fs;
use std::time::Duration;

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{PROGRAM, scripted_home, server};
use crate::threads::message_reply;

const NEVER_SETTINGS: &str = "approval_policy = \"never\"\n";
const FEATURES: &str = "[features]\nunified_exec = false\n";

/// What each scripted response uses.
const TOKENS: i64 = 15;

fn runs(id: &str, script: &str) -> HttpReply {
    let call = sse::function_call(id, "shell_command", &json!({ "command": script }));
    HttpReply::stream(&sse::items(&[call]))
}

/// Two commands and an answer. The items have names of their own.
fn work(name: &str) -> Vec<HttpReply> {
    vec![
        runs(&format!("{name}-1"), "echo one"),
        runs(&format!("{name}-2"), "exit 1"),
        message_reply(&format!("{name}-3"), "done"),
    ]
}

/// A server for a client that knows what is newer than 0.117.
async fn newer_server(home: &TempDir) -> AppServer {
    let arguments = ["--newer-clients"];
    let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
    server.initialize_experimental().await;
    server
}

fn home_with_limits(model: &ModelServer, limits: &str) -> TempDir {
    scripted_home(model, &format!("{NEVER_SETTINGS}{limits}{FEATURES}"))
}

/// Runs a turn and answers the params of its end.
async fn turn(server: &mut AppServer, thread: &str, limits: Value) -> Value {
    let mut params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    if !limits.is_null() {
        params["limits"] = limits;
    }
    let reply = server.call("turn/start", params).await.unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    server.wait_for("turn/completed").await.unwrap()["params"].clone()
}

fn assert_stopped(ended: &Value, scope: &str, limit: &str) {
    let error = &ended["turn"]["error"];
    assert_eq!(ended["turn"]["status"], "failed", "{ended}");
    assert_eq!(error["codexErrorInfo"], "sessionBudgetExceeded", "{ended}");
    assert_eq!(
        error["exceededLimit"],
        json!({ "scope": scope, "limit": limit })
    );
}

#[tokio::test]
async fn no_request_begins_beyond_a_limit_of_a_turn() {
    for (limits, kind, requests) in [
        (json!({ "maxRequests": 2 }), "maxRequests", 2),
        (json!({ "maxTokens": TOKENS + 1 }), "maxTokens", 2),
        (json!({ "maxTokens": 1, "maxRequests": 3 }), "maxTokens", 1),
        (json!({ "maxTokens": 0 }), "maxTokens", 0),
    ] {
        let mut replies = work("a");
        replies.truncate(requests);
        replies.extend(work("b"));
        let model = ModelServer::start(replies).await.unwrap();
        let home = home_with_limits(&model, "");
        let mut server = newer_server(&home).await;
        let thread = server.start_thread().await;
        let ended = turn(&mut server, &thread, limits).await;
        assert_stopped(&ended, "turn", kind);
        assert_eq!(model.requests().len(), requests);
        let used = if requests == 0 {
            Value::Null
        } else {
            json!(requests)
        };
        assert_eq!(ended["usage"]["requests"], used);
        // The limit was of that turn alone.
        let ended = turn(&mut server, &thread, Value::Null).await;
        assert_eq!(ended["turn"]["status"], "completed", "{ended}");
        // What the calls did is known to the model.
        let request = model.requests().pop().unwrap().json();
        let outputs = request["input"].as_array().unwrap().iter();
        let outputs = outputs.filter(|item| item["type"] == "function_call_output");
        assert_eq!(outputs.count(), requests + 2);
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn turn_end_has_its_usage() {
    let model = ModelServer::start(work("a")).await.unwrap();
    let home = home_with_limits(&model, "");
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    // Limits that are not reached change nothing.
    let limits = json!({ "maxRequests": 4, "maxTokens": 1000, "maxSeconds": 600 });
    let usage = turn(&mut server, &thread, limits).await["usage"].clone();
    assert_eq!(usage["requests"], 3);
    assert_eq!(usage["tokens"]["totalTokens"], 3 * TOKENS);
    assert_eq!(usage["agents"], json!([]));
    // No price of the model is known.
    assert!(usage.get("cost").is_none());
    let tool = &usage["tools"][0];
    let counts = [&tool["tool"], &tool["calls"]];
    assert_eq!(counts, [&json!("shell_command"), &json!(2)]);
    assert!(tool["outputTokens"].as_u64().unwrap() > 0, "{tool}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn thread_limits_survive_kill() {
    let mut replies = vec![message_reply("a", "one"), message_reply("b", "two")];
    replies.extend([message_reply("c", "three"), message_reply("d", "four")]);
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with_limits(&model, "");
    let mut server = newer_server(&home).await;
    let limits = json!({ "maxTokens": 2 * TOKENS, "turn": { "maxRequests": 1 } });
    let thread = server.start_thread_with(json!({ "limits": limits })).await;
    assert_eq!(
        turn(&mut server, &thread, Value::Null).await["turn"]["status"],
        "completed"
    );
    server.kill().await.unwrap();

    let mut server = newer_server(&home).await;
    server
        .call("thread/resume", json!({ "threadId": thread }))
        .await
        .unwrap();
    assert_eq!(
        turn(&mut server, &thread, Value::Null).await["turn"]["status"],
        "completed"
    );
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "thread",
        "maxTokens",
    );
    assert_eq!(model.requests().len(), 2);
    server.finish().await.unwrap();

    // Higher limits let it go on.
    let mut server = newer_server(&home).await;
    let resume = json!({ "threadId": thread, "limits": { "maxTokens": 3 * TOKENS } });
    server.call("thread/resume", resume).await.unwrap();
    assert_eq!(
        turn(&mut server, &thread, Value::Null).await["turn"]["status"],
        "completed"
    );
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "thread",
        "maxTokens",
    );
    let more = json!({ "threadId": thread, "limits": { "maxRequests": 4 } });
    server.call("thread/settings/update", more).await.unwrap();
    let updated = server.wait_for("thread/settings/updated").await.unwrap();
    assert_eq!(
        updated["params"]["threadSettings"]["limits"],
        json!({ "maxRequests": 4 })
    );
    assert_eq!(
        turn(&mut server, &thread, Value::Null).await["turn"]["status"],
        "completed"
    );
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "thread",
        "maxRequests",
    );
    assert_eq!(model.requests().len(), 4);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn running_work_is_stopped_at_the_time_limit() {
    let replies = [
        runs("1", "echo $$ > pid; echo more; exec sleep 600"),
        HttpReply::silence(),
        message_reply("m", "done"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with_limits(&model, "[limits.turn]\nmax_seconds = 1\n");
    let mut server = newer_server(&home).await;
    let cwd = home.path();
    let thread = server.start_thread_with(json!({ "cwd": cwd })).await;
    let begun = std::time::Instant::now();
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "turn",
        "maxSeconds",
    );
    assert!(begun.elapsed() < Duration::from_secs(60));
    let pid = fs::read_to_string(cwd.join("pid")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
    // A request that takes too long, too.
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "turn",
        "maxSeconds",
    );
    let more = json!({ "maxSeconds": 600 });
    let ended = turn(&mut server, &thread, more).await;
    assert_eq!(ended["turn"]["status"], "completed", "{ended}");
    let request = model.requests().pop().unwrap().json()["input"].to_string();
    assert!(request.contains("aborted at the time limit"), "{request}");
    server.finish().await.unwrap();
}

/// An entry of a model catalogue.
pub(crate) fn catalogue(prices: Value) -> String {
    let mut entry = json!({
        "slug": "scripted", "display_name": "Scripted", "description": "Ours.",
        "supported_reasoning_levels": [], "shell_type": "shell_command", "visibility": "list",
        "supported_in_api": true, "priority": 1, "supports_reasoning_summaries": false,
        "support_verbosity": false, "supports_parallel_tool_calls": false,
        "truncation_policy": { "mode": "bytes", "limit": 1000 },
    });
    if !prices.is_null() {
        entry["prices"] = prices;
    }
    json!({ "models": [entry] }).to_string()
}

#[tokio::test]
async fn costs_follow_the_prices_of_the_catalogue() {
    let model = ModelServer::start(work("a")).await.unwrap();
    let settings = format!("{NEVER_SETTINGS}model_catalog_json = \"models.json\"\n{FEATURES}");
    let home = scripted_home(&model, &settings);
    // Ten tokens sent and five received cost 0.02 dollars.
    let prices = json!({ "input": 1000.0, "output": 2000.0 });
    fs::write(home.path().join("models.json"), catalogue(prices)).unwrap();
    let mut server = newer_server(&home).await;
    let thread = server
        .start_thread_with(json!({ "limits": { "maxCost": 0.05 } }))
        .await;
    let ended = turn(&mut server, &thread, json!({ "maxCost": 0.03 })).await;
    assert_stopped(&ended, "turn", "maxCost");
    assert_eq!(ended["usage"]["cost"], 0.04);
    let ended = turn(&mut server, &thread, Value::Null).await;
    assert_eq!(ended["turn"]["status"], "completed", "{ended}");
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "thread",
        "maxCost",
    );
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }],
        "limits": { "maxCost": -1 } });
    let refused = server.call("turn/start", params).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    server.finish().await.unwrap();

    // Without a price, nothing is done that could cost too much.
    fs::write(home.path().join("models.json"), catalogue(Value::Null)).unwrap();
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    let ended = turn(&mut server, &thread, json!({ "maxCost": 1 })).await;
    let error = &ended["turn"]["error"];
    assert_eq!(error["codexErrorInfo"], "badRequest");
    assert!(
        error["message"].as_str().unwrap().contains("prices"),
        "{error}"
    );
    assert_eq!(model.requests().len(), 3);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn older_clients_get_an_error_that_they_know() {
    let model = ModelServer::start(work("a")).await.unwrap();
    let home = home_with_limits(&model, "[limits.thread]\nmax_requests = 1\n");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    let failed = server.wait_for("error").await.unwrap();
    assert_eq!(failed["params"]["error"]["codexErrorInfo"], "other");
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["error"]["codexErrorInfo"], "other");
    let limit = json!({ "scope": "thread", "limit": "maxRequests" });
    assert_eq!(ended["error"]["exceededLimit"], limit);
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.contains("1 requests"), "{message}");
    // As it is told, it is read.
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", read).await.unwrap();
    let stored = &read["result"]["thread"]["turns"][0];
    assert_eq!(stored["error"], ended["error"], "{read}");
    server.finish().await.unwrap();
}

fn calls(name: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(name, name, arguments)]))
}

/// A model that starts an agent and waits for it.
async fn with_agent(of_agent: Vec<HttpReply>) -> ModelServer {
    let spawn = calls(
        "spawn_agent",
        &json!({ "message": "work", "agent_type": "worker" }),
    );
    let model = ModelServer::start([spawn]).await.unwrap();
    for reply in of_agent {
        model.push_for_agent(reply);
    }
    model
}

/// The ends of the turns of two threads: that of `thread`, and the other.
async fn both_ends(server: &mut AppServer, thread: &str) -> (Value, Value) {
    let one = server.wait_for("turn/completed").await.unwrap()["params"].clone();
    let other = server.wait_for("turn/completed").await.unwrap()["params"].clone();
    if one["threadId"] == thread {
        (one, other)
    } else {
        (other, one)
    }
}

#[tokio::test]
async fn agent_usage_counts_for_its_tree_and_the_turn() {
    let model = with_agent(work("a")).await;
    let home = home_with_limits(&model, "[limits.tree]\nmax_requests = 3\n");
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    // The agent makes one request, or two if it is before the second one of its parent.
    model.push(message_reply("p", "started"));
    let (own, agent) = both_ends(&mut server, &thread).await;
    let last = turn(&mut server, &thread, Value::Null).await;
    assert_stopped(&last, "tree", "maxRequests");
    assert_eq!(model.requests().len(), 3);
    let stopped = [&own, &agent]
        .into_iter()
        .filter(|end| end["turn"]["status"] == "failed");
    assert!(stopped.count() >= 1, "{own} {agent}");
    server.finish().await.unwrap();

    // Its use is in the files.
    let mut server = newer_server(&home).await;
    server
        .call("thread/resume", json!({ "threadId": thread }))
        .await
        .unwrap();
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "tree",
        "maxRequests",
    );
    assert_eq!(model.requests().len(), 3);
    let more = json!({ "threadId": thread, "limits": { "tree": { "maxRequests": 4 } } });
    server.call("thread/settings/update", more).await.unwrap();
    model.push(message_reply("q", "fine"));
    let ended = turn(&mut server, &thread, Value::Null).await;
    assert_eq!(ended["turn"]["status"], "completed", "{ended}");
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "tree",
        "maxRequests",
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn agent_usage_counts_for_the_starting_turn() {
    let latch = Latch::new();
    let first = HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(&latch)
        .body(sse::frames(&sse::text("made")));
    let model = with_agent(vec![first, message_reply("b", "made again")]).await;
    model.push(message_reply("p", "started"));
    let home = home_with_limits(&model, "");
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    server.wait_for("turn/completed").await.unwrap();
    latch.open();
    let of_agent = server.wait_for("turn/completed").await.unwrap()["params"].clone();
    let agent = &of_agent["threadId"];
    model.push(calls(
        "send_input",
        &json!({ "target": agent, "message": "more" }),
    ));
    model.push(calls("wait_agent", &json!({ "targets": [agent] })));
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }],
        "limits": { "maxRequests": 3 } });
    server.call("turn/start", params).await.unwrap();
    let (own, of_agent) = both_ends(&mut server, &thread).await;
    assert_eq!(of_agent["turn"]["status"], "completed");
    assert_stopped(&own, "turn", "maxRequests");
    let usage = &own["usage"];
    assert_eq!(usage["requests"], 3, "{usage}");
    assert_eq!(usage["agents"][0]["threadId"], *agent);
    assert_eq!(usage["agents"][0]["requests"], 1);
    assert_eq!(usage["agents"][0]["tokens"]["totalTokens"], TOKENS);
    let tools = usage["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = tools.map(|tool| tool["tool"].as_str().unwrap()).collect();
    assert_eq!(names, ["send_input", "wait_agent"]);
    assert_eq!(model.requests().len(), 6);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn continued_turn_uses_the_remaining_limits() {
    let mut replies = work("a");
    replies.insert(1, HttpReply::silence());
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with_limits(&model, "");
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }],
        "limits": { "maxRequests": 2 } });
    server.call("turn/start", params).await.unwrap();
    model.request(1).await;
    // A read waits for the file.
    let read = json!({ "threadId": thread });
    server.call("thread/read", read).await.unwrap();
    server.kill().await.unwrap();
    let mut server = newer_server(&home).await;
    let resume = json!({ "threadId": thread, "continueTurn": "always" });
    server.call("thread/resume", resume).await.unwrap();
    let ended = server.wait_for("turn/completed").await.unwrap()["params"].clone();
    // The request that had no answer is not in the file.
    assert_stopped(&ended, "turn", "maxRequests");
    assert_eq!(model.requests().len(), 3);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn queued_messages_wait_at_a_limit() {
    let model = ModelServer::start([message_reply("m", "one"), message_reply("n", "two")])
        .await
        .unwrap();
    let home = home_with_limits(&model, "");
    let mut server = newer_server(&home).await;
    let limits = json!({ "maxRequests": 1 });
    let thread = server.start_thread_with(json!({ "limits": limits })).await;
    turn(&mut server, &thread, Value::Null).await;
    assert_stopped(
        &turn(&mut server, &thread, Value::Null).await,
        "thread",
        "maxRequests",
    );
    let queued = json!({ "threadId": thread, "clientUserMessageId": "q",
        "input": [{ "type": "text", "text": "later" }] });
    let reply = server.call("thread/queue/add", queued).await.unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    let list = json!({ "threadId": thread });
    let listed = server
        .call("thread/queue/list", list.clone())
        .await
        .unwrap();
    assert_eq!(
        listed["result"]["data"].as_array().unwrap().len(),
        1,
        "{listed}"
    );
    let more = json!({ "threadId": thread, "limits": { "maxRequests": 2 } });
    server.call("thread/settings/update", more).await.unwrap();
    server.call("thread/queue/start", list).await.unwrap();
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed", "{ended}");
    server.finish().await.unwrap();
}
