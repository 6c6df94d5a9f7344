//! What becomes of a thread: how its items end, how it is read back in pages, how it is resumed, and
//! what happens to answers that make no sense.

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};

use crate::app_server::shape;
use crate::serving::Serving;
use crate::setup::{experimental_server, server, untrusted_home};

/// A response of one message.
pub(crate) fn message_reply(id: &str, text: &str) -> HttpReply {
    let item = |text: &str| {
        let mut item = sse::message(text);
        item["id"] = id.into();
        item
    };
    HttpReply::stream(&[
        sse::created("resp"),
        sse::added(&item("")),
        sse::delta(text),
        sse::done(&item(text)),
        sse::completed("resp"),
    ])
}

fn command(id: &str) -> HttpReply {
    let arguments = json!({ "command": "touch made.txt" });
    HttpReply::stream(&sse::items(&[sse::function_call(
        id,
        "shell_command",
        &arguments,
    )]))
}

async fn answer(server: &mut AppServer, question: &Value, answer: &Value) {
    let message = json!({ "id": question["id"], "result": answer });
    server.send(&message).await.unwrap();
}

async fn turn_read_back(server: &mut AppServer, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    let turns = read["result"]["thread"]["turns"].as_array().unwrap();
    turns.last().unwrap().clone()
}

#[tokio::test]
async fn a_declined_command_is_read_back_as_it_ended() {
    let model = ModelServer::start([command("call"), message_reply("m", "done")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "make it").await;
    let question = "item/commandExecution/requestApproval";
    let question = server.wait_for(question).await.unwrap();
    answer(&mut server, &question, &json!({ "decision": "decline" })).await;
    // Clients of the oldest release get two ends of it.
    let bare = server.wait_for("item/completed").await.unwrap();
    let bare = &bare["params"]["item"];
    assert_eq!(bare["status"], "declined");
    assert!(bare["aggregatedOutput"].is_null());
    let ended = server.wait_for("item/completed").await.unwrap();
    let ended = &ended["params"]["item"];
    assert_eq!(ended["id"], bare["id"]);
    assert!(ended["aggregatedOutput"].is_string());
    let turn = &server.completed_turn().await;
    assert_eq!(turn["items"][1], *ended);
    let read = turn_read_back(&mut server, &thread).await;
    assert_eq!(shape(&read), shape(turn));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_start_during_a_turn_joins_it() {
    let latch = Latch::new();
    let model = ModelServer::start([]).await.unwrap();
    let [created, rest @ ..] = &*sse::text("one") else {
        panic!("a response has events");
    };
    let begin = HttpReply::stream([created]).wait(&latch);
    model.push(begin.body(sse::frames(rest)));
    for id in ["second", "third", "fourth"] {
        model.push(message_reply(id, "more"));
    }
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let first = server.start_turn(&thread, "first").await;
    let active = &first["id"];
    for text in ["second", "third"] {
        let turn = server.start_turn(&thread, text).await;
        assert_eq!(turn["id"], *active);
        assert_eq!(turn["status"], "inProgress");
    }
    latch.open();
    let ended = server.completed_turn().await;
    assert_eq!(ended["id"], *active);
    let words: Vec<_> = ended["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "userMessage")
        .map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(words, ["first", "second", "third"]);
    // The next one is another one again.
    let next = server.start_turn(&thread, "fourth").await;
    assert_ne!(next["id"], *active);
    let ended = server.completed_turn().await;
    assert_eq!(ended["id"], next["id"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn senseless_answer_is_a_refusal_with_a_warning() {
    let model = ModelServer::start([command("call"), message_reply("m", "done")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "make it").await;
    let question = "item/commandExecution/requestApproval";
    let question = server.wait_for(question).await.unwrap();
    let result = json!({ "decision": { "maybe": 7 } });
    let wrong = json!({ "id": question["id"], "result": result });
    server.send_wrong_answer(&wrong).await.unwrap();
    let warning = server.wait_for("warning").await.unwrap();
    assert_eq!(warning["params"]["threadId"], thread.as_str());
    let turn = &server.completed_turn().await;
    assert_eq!(turn["status"], "completed");
    assert_eq!(turn["items"][1]["status"], "declined");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn cut_message_ends_with_turn() {
    let begun = HttpReply::stream(&[
        sse::created("resp"),
        sse::added(&sse::message("")),
        sse::delta("half a"),
    ]);
    let model = ModelServer::start([begun.stall()]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let started = server.start_turn(&thread, "talk").await;
    server.wait_for("item/agentMessage/delta").await.unwrap();
    let turn = &started["id"];
    let params = json!({ "threadId": thread, "turnId": turn });
    server.call("turn/interrupt", params).await.unwrap();
    let turn = &server.completed_turn().await;
    assert_eq!(turn["status"], "interrupted");
    assert_eq!(turn["items"][1]["text"], "half a");
    let read = turn_read_back(&mut server, &thread).await;
    assert_eq!(shape(&read), shape(turn));
    for time in ["startedAt", "completedAt", "durationMs"] {
        assert_eq!(read[time], turn[time]);
        assert!(read[time].is_i64(), "{time}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turns_are_paged_and_optional() {
    let replies = ["a", "b", "c"].map(|id| message_reply(id, id));
    let model = ModelServer::start(replies).await.unwrap();
    let home = untrusted_home(&model);
    let mut first = server(&home).await;
    let thread = first.start_thread().await;
    for text in ["one", "two", "three"] {
        first.run_turn(&thread, text).await;
    }
    let page = |cursor: &Value| json!({ "threadId": thread, "limit": 2, "cursor": cursor });
    let newest = first.call("thread/turns/list", page(&Value::Null)).await;
    let newest = &newest.unwrap()["result"];
    let text = |page: &Value, at: usize| page["data"][at]["items"][0]["content"][0]["text"].clone();
    assert_eq!(
        (text(newest, 0), text(newest, 1)),
        ("three".into(), "two".into())
    );
    let oldest = first
        .call("thread/turns/list", page(&newest["nextCursor"]))
        .await;
    let oldest = &oldest.unwrap()["result"];
    assert_eq!(text(oldest, 0), "one");
    assert_eq!(oldest["nextCursor"], Value::Null);
    first.finish().await.unwrap();

    let mut second = server(&home).await;
    let params = json!({ "threadId": thread, "excludeTurns": true });
    let resumed = second.call("thread/resume", params.clone()).await.unwrap();
    assert_eq!(resumed["result"]["thread"]["turns"], json!([]));
    assert_eq!(resumed["result"]["thread"]["preview"], "one");
    let forked = second.call("thread/fork", params).await.unwrap();
    let forked = &forked["result"]["thread"];
    assert_eq!(forked["turns"], json!([]));
    assert_eq!(forked["forkedFromId"], thread.as_str());
    let params = json!({ "threadId": forked["id"] });
    let turns = second.call("thread/turns/list", params).await.unwrap();
    assert_eq!(turns["result"]["data"].as_array().unwrap().len(), 3);
    second.finish().await.unwrap();
}

#[tokio::test]
async fn an_empty_path_is_none() {
    let model = ModelServer::start([message_reply("a", "hello")])
        .await
        .unwrap();
    let home = untrusted_home(&model);
    let mut first = experimental_server(home.path()).await;
    let thread = first.start_thread().await;
    first.run_turn(&thread, "hi").await;
    let params = json!({ "threadId": thread, "path": "" });
    // Loaded, and stored.
    for restarts in [false, true] {
        if restarts {
            first.finish().await.unwrap();
            first = experimental_server(home.path()).await;
        }
        let forked = first.result("thread/fork", params.clone()).await;
        assert_eq!(forked["thread"]["forkedFromId"], thread.as_str());
        let resumed = first.result("thread/resume", params.clone()).await;
        assert_eq!(resumed["thread"]["id"], thread.as_str());
    }
    for method in ["thread/resume", "thread/fork"] {
        let unknown = json!({ "threadId": "00000000-0000-7000-8000-000000000000", "path": "" });
        let refused = first.call(method, unknown).await.unwrap();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("no rollout found for thread id"),
            "{message}"
        );
    }
    first.finish().await.unwrap();
}

#[tokio::test]
async fn resumed_threads_keep_their_model() {
    let model = ModelServer::start([message_reply("a", "hello")])
        .await
        .unwrap();
    let home = untrusted_home(&model);
    let mut first = server(&home).await;
    let thread = first.start_thread().await;
    let params = json!({ "threadId": thread, "model": "another", "effort": "high",
        "input": [{ "type": "text", "text": "hi" }] });
    first.call("turn/start", params).await.unwrap();
    first.wait_for("turn/completed").await.unwrap();
    first.finish().await.unwrap();

    let mut second = server(&home).await;
    let params = json!({ "threadId": thread });
    let resumed = second.call("thread/resume", params).await.unwrap();
    assert_eq!(resumed["result"]["model"], "another");
    assert_eq!(resumed["result"]["reasoningEffort"], "high");
    second.finish().await.unwrap();

    let mut third = experimental_server(home.path()).await;
    let params = json!({ "threadId": thread, "model": "scripted" });
    let resumed = third.call("thread/resume", params).await.unwrap();
    assert_eq!(resumed["result"]["model"], "scripted");
    let message = json!({ "type": "message", "role": "user",
        "content": [{ "type": "input_text", "text": "told before" }] });
    let params = json!({ "threadId": "anything", "history": [message] });
    let told = third.call("thread/resume", params).await.unwrap();
    let told = &told["result"]["thread"];
    assert_eq!(told["preview"], "told before");
    model.push(message_reply("b", "yes"));
    third
        .run_turn(told["id"].as_str().unwrap(), "and now")
        .await;
    let request = model.requests().pop().unwrap();
    assert!(request.json()["input"].to_string().contains("told before"));
    third.finish().await.unwrap();
}

#[tokio::test]
async fn time_limit_pauses_are_counted() {
    let Serving { mut server, home } = Serving::start().await;
    let thread = server.start_thread().await;
    let more = "thread/increment_elicitation";
    let fewer = "thread/decrement_elicitation";
    let params = json!({ "threadId": thread });
    let none = server.call(fewer, params.clone()).await.unwrap();
    assert_eq!(none["error"]["code"], -32600, "{none}");
    for (method, expected) in [
        (more, json!({ "count": 1, "paused": true })),
        (more, json!({ "count": 2, "paused": true })),
        (fewer, json!({ "count": 1, "paused": true })),
        (fewer, json!({ "count": 0, "paused": false })),
    ] {
        let reply = server.call(method, params.clone()).await.unwrap();
        assert_eq!(reply["result"], expected, "{reply}");
    }
    drop(home);
}
