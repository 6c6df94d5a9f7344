//! Hooks that a client answers.

use codex_test_support::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::hooks::{Hooked, answer_with, runs_command};
use crate::setup::{experimental_server, untrusted_home};

/// A server whose client has registered a hook.
async fn registered(params: &Value, replies: impl IntoIterator<Item = HttpReply>) -> Hooked {
    let model = ModelServer::start(replies).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = experimental_server(&home).await;
    let reply = server.call("hooks/register", params.clone()).await.unwrap();
    assert!(reply["result"]["hookId"].is_string(), "{reply}");
    let thread = server.start_thread().await;
    Hooked {
        model,
        home,
        server,
        thread,
    }
}

/// Starts a turn and answers the question of the hook.
async fn answered(hooked: &mut Hooked, answer: &Value) -> (Value, Vec<String>) {
    hooked.server.start_turn(&hooked.thread, "hello").await;
    let asked = hooked.until("hook/run").await;
    let question = asked.messages.last().unwrap().clone();
    let mut reply = answer.clone();
    reply["id"] = question["id"].clone();
    hooked.server.send(&reply).await.unwrap();
    let turn = hooked.until("turn/completed").await;
    (question["params"].clone(), turn.runs())
}

#[tokio::test]
async fn a_client_refuses_a_command() {
    let params = json!({ "eventName": "preToolUse", "matcher": "^Bash$" });
    let replies = [runs_command("touch made"), answer_with("done")];
    let mut hooked = registered(&params, replies).await;
    let answer = json!({ "result": { "output": { "decision": "block", "reason": "not now" } } });
    let (question, runs) = answered(&mut hooked, &answer).await;
    assert_eq!(question["threadId"], hooked.thread);
    assert_eq!(question["eventName"], "preToolUse");
    assert_eq!(question["input"]["tool_input"]["command"], "touch made");
    assert_eq!(runs, ["preToolUse blocked feedback:not now"]);
    assert!(!hooked.home.path().join("made").exists());
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_client_adds_context() {
    let params = json!({ "eventName": "userPromptSubmit" });
    let mut hooked = registered(&params, [answer_with("done")]).await;
    let answer = json!({ "result": { "output": "FROM-CLIENT" } });
    let (_, runs) = answered(&mut hooked, &answer).await;
    assert_eq!(runs, ["userPromptSubmit completed context:FROM-CLIENT"]);
    assert!(hooked.sent(0).contains("FROM-CLIENT"));
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn failing_client_hook_decides_only_if_required() {
    for (on_error, status) in [("ignore", "failed"), ("block", "blocked")] {
        let params = json!({ "eventName": "userPromptSubmit", "onError": on_error });
        let mut hooked = registered(&params, [answer_with("done")]).await;
        let answer = json!({ "error": { "code": -1, "message": "broken" } });
        let (_, runs) = answered(&mut hooked, &answer).await;
        assert_eq!(
            runs,
            [format!(
                "userPromptSubmit {status} error:the client refused: broken"
            )]
        );
        hooked.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn client_hook_without_answer_times_out() {
    let params = json!({ "eventName": "userPromptSubmit", "timeoutSec": 1, "onError": "block" });
    let mut hooked = registered(&params, []).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(
        turn.runs(),
        ["userPromptSubmit blocked error:hook timed out after 1s"]
    );
    assert!(hooked.model.requests().is_empty());
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_registration_is_checked_and_can_be_taken_back() {
    let params = json!({ "eventName": "userPromptSubmit" });
    let mut hooked = registered(&params, [answer_with("done")]).await;
    let bad = json!({ "eventName": "preToolUse", "matcher": "(" });
    let refused = hooked.server.call("hooks/register", bad).await.unwrap();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("invalid matcher: "), "{refused}");
    let taken = json!({ "hookId": "client-1" });
    let reply = hooked
        .server
        .call("hooks/unregister", taken.clone())
        .await
        .unwrap();
    assert_eq!(reply["result"], json!({}));
    let again = hooked.server.call("hooks/unregister", taken).await.unwrap();
    assert!(again["error"].is_object(), "{again}");
    let turn = hooked.turn("hello").await;
    assert_eq!(turn.runs(), Vec::<String>::new());
    hooked.server.finish().await.unwrap();
}
