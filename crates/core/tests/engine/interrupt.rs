//! Stopping a turn, beside what holds at every stage.

use codex_model_client::{ModelError, ModelEvent};
use codex_protocol::*;

use crate::support::*;

#[tokio::test]
async fn interrupted_message_ends_with_its_shown_text() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Stall(starts("hello", &["hel"])));
    driver.submit_text("hi").await;
    driver
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    driver.submit(Op::Interrupt).await;
    driver.turn_over().await;
    let shown = driver.seen.iter().any(
        |event| matches!(&event.msg, EventMsg::AgentMessage(message) if message.message.as_str() == "hel"),
    );
    assert!(shown, "the item ends with what was shown");
}

#[tokio::test]
async fn while_nothing_runs() {
    let mut driver = Driver::new().await;
    driver.submit(Op::Interrupt).await;
    driver
        .model
        .push(ModelReply::Events(message_events("ok", &[])));
    driver.submit_text("hi").await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)));
}

#[tokio::test]
async fn shutting_down_ends_the_turn_and_then_the_thread() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Stall(vec![Ok(ModelEvent::ItemAdded(message(
            "x",
        )))]));
    driver.submit_text("hi").await;
    driver
        .until(|msg| matches!(msg, EventMsg::ItemStarted(item) if item.item.id() == Some("msg_x")))
        .await;
    assert!(driver.manager.close(driver.thread.id()).await);
    driver
        .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
        .await;
    driver.assert_ends();
    assert!(driver.events.next().await.is_none());
    assert!(driver.thread.submit(Op::Interrupt).await.is_err());
}

#[tokio::test]
async fn turn_interrupted_during_calls_ends_as_interrupted() {
    let mut driver = Driver::new().await;
    let reply = vec![
        Ok(ModelEvent::ItemDone(script("held x", "call"))),
        Err(ModelError::ContextWindowExceeded { window: None }),
    ];
    driver.model.push(ModelReply::Events(reply));
    driver.submit_text("hi").await;
    driver
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    driver.submit(Op::Interrupt).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnAborted(_)), "{over:?}");
    assert_eq!(driver.count("error"), 0, "{:?}", driver.names());
    driver.assert_ends();
}
