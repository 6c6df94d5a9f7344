//! `thread/sample` and `thread/prepareApprovedPlan`.

use codex_test_support::{HttpReply, Latch};
use serde_json::{Value, json};

use crate::newer_requests::{ScriptedThread, texts_of};
use crate::soak::message;

/// The id of the newest turn.
async fn newest_turn(scripted: &mut ScriptedThread) -> Value {
    let page = scripted.call("thread/turns/list", json!({})).await;
    page["result"]["data"][0]["id"].clone()
}

#[tokio::test]
async fn sample_uses_the_thread_context_and_records_nothing() {
    let replies = [message(0, "one"), message(1, "A title"), message(2, "two")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let early = json!({ "expectedTurnId": "none", "prompt": "title?" });
    let refused = scripted.call("thread/sample", early).await;
    let stale = "sample source turn must be the latest finished turn";
    assert_eq!(refused["error"]["message"], stale);
    scripted.turn(json!({})).await;
    let turn = newest_turn(&mut scripted).await;
    let question = json!({ "expectedTurnId": turn, "prompt": "title?" });
    let sampled = scripted.call("thread/sample", question.clone()).await;
    assert_eq!(sampled["result"]["text"], "A title");
    assert_eq!(sampled["result"]["sourceTurnId"], turn);
    scripted.turn(json!({})).await;
    // The turn after it has the same start of the request, without the question.
    let requests = scripted.model.requests();
    let texts = |index: usize| texts_of(&requests[index].json(), "user");
    let [.., last] = &texts(1)[..] else {
        panic!("nothing was asked");
    };
    assert_eq!(last, "title?");
    assert_eq!(requests[1].json()["tools"], requests[2].json()["tools"]);
    assert!(!texts(2).contains(last));
    let refused = scripted.call("thread/sample", question).await;
    assert_eq!(refused["error"]["message"], stale);
    for prompt in [" ".to_owned(), "x".repeat(4001)] {
        let params = json!({ "expectedTurnId": turn, "prompt": prompt });
        let refused = scripted.call("thread/sample", params).await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }
}

#[tokio::test]
async fn a_sample_waits_for_the_turn_or_is_refused() {
    let latch = Latch::new();
    let replies = [HttpReply::status(500).wait(&latch), message(1, "later")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let input = json!({ "input": [{ "type": "text", "text": "hi" }] });
    let started = scripted.call("turn/start", input).await;
    let turn = started["result"]["turn"]["id"].clone();
    let question = json!({ "expectedTurnId": turn, "prompt": "title?" });
    let refused = scripted.call("thread/sample", question).await;
    assert_eq!(refused["error"]["message"], "sample source must be idle");
    latch.reached().await;
    let mut waiting =
        json!({ "expectedTurnId": turn, "prompt": "title?", "allowInProgressTurn": true });
    waiting["threadId"] = scripted.thread["thread"]["id"].clone();
    let waiting = scripted
        .server
        .begin("thread/sample", waiting)
        .await
        .unwrap();
    let interrupt = json!({ "turnId": turn });
    scripted.call("turn/interrupt", interrupt).await;
    let sampled = scripted.server.reply_to(waiting).await.unwrap();
    assert_eq!(sampled["result"]["text"], "later", "{sampled}");
    latch.open();
}

#[tokio::test]
async fn a_sample_can_be_cancelled() {
    let latch = Latch::new();
    let replies = [message(0, "one"), HttpReply::status(200).wait(&latch)];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    let turn = newest_turn(&mut scripted).await;
    let mut question = json!({ "expectedTurnId": turn, "prompt": "title?" });
    question["threadId"] = scripted.thread["thread"]["id"].clone();
    let server = &mut scripted.server;
    let pending = server.begin("thread/sample", question).await.unwrap();
    latch.reached().await;
    for id in [json!("other"), json!(pending)] {
        let cancelled = server.call("thread/sample/cancel", json!({ "requestId": id }));
        assert_eq!(cancelled.await.unwrap()["result"], json!({}));
    }
    let outcome = server.reply_to(pending).await.unwrap();
    assert_eq!(outcome["error"]["message"], "sample canceled");
    scripted.model.disconnected().await;
    latch.open();
}

#[tokio::test]
async fn an_approved_plan_is_shown_to_the_model() {
    let mut scripted = ScriptedThread::start([message(0, "done")], json!({})).await;
    let blank = scripted.call("thread/prepareApprovedPlan", json!({ "markdown": " " }));
    assert_eq!(
        blank.await["error"]["message"],
        "The approved plan is empty."
    );
    let plan = json!({ "markdown": "# Plan\n- one", "attachmentPath": "/plans/one.md" });
    let prepared = scripted.call("thread/prepareApprovedPlan", plan).await;
    assert!(prepared["result"]["prompt"].is_string(), "{prepared}");
    scripted.turn(json!({})).await;
    let shown = texts_of(&scripted.model.requests()[0].json(), "developer");
    let is_plan = |text: &String| text.contains("# Plan\n- one") && text.contains("/plans/one.md");
    assert!(shown.iter().any(is_plan), "{shown:?}");
}

#[tokio::test]
async fn a_sample_has_the_effort_that_was_asked_for() {
    let replies = [message(0, "one"), message(1, "A title")];
    let mut scripted = ScriptedThread::start(replies, json!({ "model": "gpt-5.4" })).await;
    scripted.turn(json!({})).await;
    let turn = newest_turn(&mut scripted).await;
    let question = json!({ "expectedTurnId": turn, "prompt": "title?", "effort": "high" });
    scripted.call("thread/sample", question).await;
    let requests = scripted.model.requests();
    let efforts = requests
        .iter()
        .map(|sent| sent.json()["reasoning"]["effort"].clone());
    let efforts: Vec<Value> = efforts.collect();
    assert_ne!(efforts[0], "high");
    assert_eq!(efforts[1], "high");
}
