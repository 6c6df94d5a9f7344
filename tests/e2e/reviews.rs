//! Reviews through the built server, with a scripted model and a real repository.

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::git::git;
use crate::mcp_process::configured;
use crate::setup::{server, untrusted_home};

fn texts(replies: &[&str]) -> Vec<HttpReply> {
    let reply = |text: &&str| HttpReply::stream(&sse::text(text));
    replies.iter().map(reply).collect()
}

fn items(turn: &Value) -> Vec<(&str, &str)> {
    let items = turn["items"].as_array().unwrap().iter();
    let word = |item: &Value, name: &str| item[name].as_str().map(str::len);
    items
        .map(|item| {
            let text = match word(item, "review") {
                Some(_) => item["review"].as_str(),
                None => item["text"].as_str(),
            };
            (item["type"].as_str().unwrap(), text.unwrap_or_default())
        })
        .collect()
}

#[tokio::test]
async fn branch_review_reads_back_as_streamed() {
    let model = ModelServer::start(texts(&["It is fine."])).await.unwrap();
    let home = untrusted_home(&model);
    git(home.path(), &["init", "-q", "-b", "main"]);
    git(home.path(), &["commit", "-q", "--allow-empty", "-m", "one"]);
    let base = git(home.path(), &["rev-parse", "HEAD"]);
    git(home.path(), &["checkout", "-q", "-b", "mine"]);
    git(home.path(), &["commit", "-q", "--allow-empty", "-m", "two"]);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let target = json!({ "type": "baseBranch", "branch": "main" });
    let params = json!({ "threadId": thread, "target": target });
    let reply = server.call("review/start", params).await.unwrap();
    assert_eq!(reply["result"]["reviewThreadId"], json!(thread), "{reply}");
    let turn = &reply["result"]["turn"];
    let hint = "changes against 'main'";
    let title = format!("Review {hint}");
    assert_eq!(turn["items"][0]["content"][0]["text"], title);
    let ended = server.completed_turn().await;
    let seen = items(&ended);
    assert_eq!(seen[0], ("enteredReviewMode", hint));
    let request = model.requests()[0].json();
    assert!(request["input"].to_string().contains(&base));
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    assert_eq!(items(&read["result"]["thread"]["turns"][0]), seen);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_detached_review_leaves_the_thread_alone() {
    let model = ModelServer::start(texts(&["hello", "fine"])).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let target = json!({ "type": "custom", "instructions": "look" });
    let params = json!({ "threadId": thread, "delivery": "detached", "target": target });
    let early = server.call("review/start", params.clone()).await.unwrap();
    assert_eq!(early["error"]["code"], -32603, "nothing is stored yet");
    server.run_turn(&thread, "hi").await;
    let reply = server.call("review/start", params).await.unwrap();
    let copy = reply["result"]["reviewThreadId"].clone();
    assert_ne!(copy, json!(thread));
    let ended = server.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["threadId"], copy);
    let blank = json!({ "type": "commit", "sha": " " });
    let params = json!({ "threadId": thread, "target": blank });
    let refused = server.call("review/start", params).await.unwrap();
    assert_eq!(refused["error"]["message"], "sha must not be empty");
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    let turns = &read["result"]["thread"]["turns"];
    assert_eq!(turns.as_array().unwrap().len(), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_review_can_be_interrupted() {
    let model = ModelServer::start([HttpReply::silence()]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let target = json!({ "type": "uncommittedChanges" });
    let params = json!({ "threadId": thread, "target": target });
    let reply = server.call("review/start", params).await.unwrap();
    let turn = reply["result"]["turn"]["id"].clone();
    server.wait_for("turn/started").await.unwrap();
    let steer = json!({
        "threadId": thread, "expectedTurnId": turn, "input": [{ "type": "text", "text": "x" }],
    });
    let refused = server.call("turn/steer", steer).await.unwrap();
    let data = &refused["error"]["data"]["codexErrorInfo"];
    let kind = json!({ "activeTurnNotSteerable": { "turnKind": "review" } });
    assert_eq!(*data, kind, "{refused}");
    let params = json!({ "threadId": thread, "turnId": turn });
    let interrupted = server.call("turn/interrupt", params).await.unwrap();
    assert!(interrupted.get("result").is_some(), "{interrupted}");
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "interrupted");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn reviewers_call_the_tools_of_servers() {
    let arguments = json!({ "text": "hi" });
    let call = sse::function_call("call", "mcp__scripted__echo", &arguments);
    let call = HttpReply::stream(&sse::items(&[call]));
    let replies = [call].into_iter().chain(texts(&["It is fine."]));
    let model = ModelServer::start(replies).await.unwrap();
    let home = untrusted_home(&model);
    let file = home.path().join("config.toml");
    let table = configured("scripted", &json!({}), "");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + &table).unwrap();
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let target = json!({ "type": "custom", "instructions": "look" });
    let params = json!({ "threadId": thread, "target": target });
    server.call("review/start", params).await.unwrap();
    let ended = server.wait_for("turn/completed").await.unwrap();
    let ended = &ended["params"]["turn"];
    assert_eq!(ended["status"], "completed", "{ended}");
    let kinds: Vec<_> = items(ended).iter().map(|item| item.0).collect();
    assert!(kinds.contains(&"mcpToolCall"), "{kinds:?}");
    let request = model.request(1).await.json();
    let input = request["input"].as_array().unwrap();
    assert_eq!(
        input.last().unwrap()["output"],
        r#"[{"type":"text","text":"hi"}]"#
    );
    server.finish().await.unwrap();
}
