//! A client that shows in the middle of a turn that it is newer than release 0.117.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::json;

use crate::setup::{experimental_server, untrusted_home};

const APPROVAL: &str = "item/commandExecution/requestApproval";

/// Two turns of a thread, each with a command that is approved and a message.
async fn model() -> ModelServer {
    let arguments = json!({ "cmd": "touch made" });
    let turn = |number: usize| {
        let call = sse::function_call(&format!("call-{number}"), "exec_command", &arguments);
        let mut message = sse::message("done");
        message["id"] = json!(format!("message-{number}"));
        [call, message].map(|item| HttpReply::stream(&sse::items(&[item])))
    };
    ModelServer::start([turn(1), turn(2)].concat())
        .await
        .unwrap()
}

/// A thread whose commands begin after their approval for clients of 0.117, and before it for newer ones.
async fn thread(server: &mut AppServer) -> String {
    let params = json!({ "config": { "features.unified_exec": true } });
    server.start_thread_with(params).await
}

/// Plays a turn. This many messages after its begin the client sends something that release 0.117 does not know. Returns what was
/// told about the command, and the number of messages.
async fn play(
    server: &mut AppServer,
    thread: &str,
    sign_after: Option<usize>,
) -> (Vec<String>, usize) {
    let mut told = Vec::new();
    let mut count = 0;
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    server.begin("turn/start", params).await.unwrap();
    server.wait_for("turn/started").await.unwrap();
    loop {
        if sign_after == Some(count) {
            let params = json!({ "threadId": thread });
            server.begin("thread/goal/get", params).await.unwrap();
        }
        let message = server.receive().await.unwrap();
        count += 1;
        let method = message["method"].as_str().unwrap_or_default();
        if method == APPROVAL {
            let answer = json!({ "id": message["id"], "result": { "decision": "accept" } });
            server.send(&answer).await.unwrap();
        }
        let is_end = method == "turn/completed";
        if method == APPROVAL
            || (!is_end && message["params"]["item"]["type"] == "commandExecution")
        {
            told.push(method.to_owned());
        }
        if is_end {
            return (told, count);
        }
    }
}

#[tokio::test]
async fn release_shown_in_a_turn_counts_for_items_from_the_next_turn_on() {
    let older = [APPROVAL, "item/started", "item/completed"];
    let newer = ["item/started", APPROVAL, "item/completed"];
    let mut position = 0;
    loop {
        let model = model().await;
        let home = untrusted_home(&model);
        let mut server = experimental_server(&home).await;
        let thread = thread(&mut server).await;
        let (told, count) = play(&mut server, &thread, Some(position)).await;
        assert_eq!(told, older, "after {position} messages");
        let is_after_the_turn = position >= count;
        if !is_after_the_turn {
            let (told, _) = play(&mut server, &thread, None).await;
            assert_eq!(told, newer, "the turn after that");
        }
        server.finish().await.unwrap();
        if is_after_the_turn {
            return;
        }
        position += 1;
    }
}
