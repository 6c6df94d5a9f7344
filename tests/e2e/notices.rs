//! What clients are told besides a conversation: warnings of the engine, and what is obsolete in their
//! settings.

use codex_test_support::{AppServer, ModelServer};
use serde_json::json;

use crate::serving::Serving;
use crate::setup::{server, untrusted_home};
use crate::threads::message_reply;

#[tokio::test]
async fn obsolete_settings_give_a_notice_when_a_thread_opens() {
    let Serving { mut server, home } = Serving::with_config("[features]\ncollab = true\n").await;
    server.start_thread().await;
    let notice = server.wait_for("deprecationNotice").await.unwrap();
    let summary = notice["params"]["summary"].as_str().unwrap();
    assert!(summary.contains("[features].collab"), "{notice}");
    server.finish().await.unwrap();
    drop(home);
}

#[tokio::test]
async fn repeated_engine_warning_is_reported_once() {
    let other = message_reply("c", "here I am").header("openai-model", "another");
    let replies = [
        message_reply("a", "hello"),
        message_reply("b", "they said hello"),
        other,
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    // That nothing is known of the model is no news, nor is it that compaction loses something.
    server.start_turn(&thread, "hi").await;
    assert_eq!(warnings_of_a_turn(&mut server).await, 0);
    let params = json!({ "threadId": thread });
    server.call("thread/compact/start", params).await.unwrap();
    assert_eq!(warnings_of_a_turn(&mut server).await, 0);
    server.start_turn(&thread, "who are you").await;
    assert_eq!(warnings_of_a_turn(&mut server).await, 1);
    server.finish().await.unwrap();
}

async fn warnings_of_a_turn(server: &mut AppServer) -> usize {
    let mut warnings = 0;
    loop {
        let message = server.receive().await.unwrap();
        match message["method"].as_str() {
            Some("warning") => warnings += 1,
            Some("turn/completed") => return warnings,
            _ => {}
        }
    }
}
