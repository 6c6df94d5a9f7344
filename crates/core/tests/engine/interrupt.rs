//! Stopping a turn at every stage.

use std::time::{Duration, Instant};

use codex_core::{ModelEvent, Retry};
use codex_protocol::*;

use crate::support::*;

/// Stops the turn, checks that it is over soon, and that the thread goes on in good order.
async fn interrupt_and_go_on(driver: &mut Driver) {
    let asked = Instant::now();
    driver.submit(Op::Interrupt).await;
    let over = driver.turn_over().await;
    assert!(
        asked.elapsed() < Duration::from_millis(200),
        "took {:?}",
        asked.elapsed()
    );
    let EventMsg::TurnAborted(aborted) = &over.msg else {
        panic!("{over:?}")
    };
    assert_eq!(aborted.reason, TurnAbortReason::Interrupted);
    driver.assert_ends();
    driver.model.push(Reply::Events(says("after", &[])));
    driver.say("go on").await;
    driver.turn_over().await;
    driver.assert_ends();
    let last = driver.model.inputs().pop().unwrap();
    let said = texts(&last, "user");
    assert!(
        said.iter().any(|text| text.starts_with("<turn_aborted>")),
        "{said:?}"
    );
    assert_eq!(said.last().unwrap(), "go on");
}

#[tokio::test]
async fn before_the_first_byte() {
    let mut driver = Driver::new().await;
    driver.model.push(Reply::Silence);
    driver.say("hi").await;
    driver.model.wait_for_request(1).await;
    interrupt_and_go_on(&mut driver).await;
}

#[tokio::test]
async fn in_a_text_delta() {
    let mut driver = Driver::new().await;
    driver.model.push(Reply::Stall(starts("hello", &["hel"])));
    driver.say("hi").await;
    driver
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    interrupt_and_go_on(&mut driver).await;
    let shown = driver.seen.iter().any(
        |event| matches!(&event.msg, EventMsg::AgentMessage(message) if message.message == "hel"),
    );
    assert!(shown, "the item ends with what was shown");
}

#[tokio::test]
async fn during_a_retry_wait() {
    let mut driver = Driver::new().await;
    driver.clock.hold();
    driver.model.push(Reply::Refused(broken(Retry::Soon)));
    driver.say("hi").await;
    driver
        .until(|msg| matches!(msg, EventMsg::StreamError(_)))
        .await;
    interrupt_and_go_on(&mut driver).await;
}

#[tokio::test]
async fn while_nothing_runs() {
    let mut driver = Driver::new().await;
    driver.submit(Op::Interrupt).await;
    driver.model.push(Reply::Events(says("ok", &[])));
    driver.say("hi").await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)));
}

#[tokio::test]
async fn shutting_down_ends_the_turn_and_then_the_thread() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(Reply::Stall(vec![Ok(ModelEvent::ItemAdded(message("x")))]));
    driver.say("hi").await;
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
