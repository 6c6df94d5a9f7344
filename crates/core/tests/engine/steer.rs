//! Input for a turn that runs, at every stage.

use codex_core::{ModelEvent, Retry, SteerError};
use codex_protocol::*;
use tokio::sync::mpsc;

use crate::support::*;

/// Steers, lets the model answer, and checks that the steered words were in its last request.
async fn steer_and_finish(driver: &mut Driver, turn: &str) {
    let steered = driver
        .thread
        .steer(Some(turn.to_owned()), vec![text_input("also this")])
        .await;
    assert_eq!(steered.as_deref(), Ok(turn));
}

async fn finish(driver: &mut Driver, turn: &str) {
    let over = driver.turn_over().await;
    assert_eq!(over.id, turn);
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
    driver.assert_ends();
    let last = driver.model.inputs().pop().unwrap();
    assert_eq!(texts(&last, "user").last().unwrap(), "also this");
    let late = driver.thread.steer(None, vec![text_input("late")]).await;
    assert_eq!(late, Err(SteerError::NoTurn));
}

fn fed() -> (mpsc::UnboundedSender<ModelEvent>, Reply) {
    let (feed, events) = mpsc::unbounded_channel();
    (feed, Reply::Fed(events))
}

#[tokio::test]
async fn before_the_first_byte() {
    let mut driver = Driver::new().await;
    let (feed, reply) = fed();
    driver.model.push(reply);
    driver.model.push(Reply::Events(says("both", &[])));
    let turn = driver.say("hi").await;
    driver.model.wait_for_request(1).await;
    steer_and_finish(&mut driver, &turn).await;
    feed.send(ModelEvent::ItemDone(message("one"))).unwrap();
    feed.send(completed("r")).unwrap();
    finish(&mut driver, &turn).await;
}

#[tokio::test]
async fn in_a_text_delta() {
    let mut driver = Driver::new().await;
    let (feed, reply) = fed();
    driver.model.push(reply);
    driver.model.push(Reply::Events(says("both", &[])));
    let turn = driver.say("hi").await;
    feed.send(ModelEvent::ItemAdded(message("one"))).unwrap();
    feed.send(ModelEvent::TextDelta("o".to_owned())).unwrap();
    driver
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    let other = driver
        .thread
        .steer(Some("other".to_owned()), vec![text_input("x")])
        .await;
    assert!(matches!(other, Err(SteerError::OtherTurn { .. })));
    assert_eq!(
        driver.thread.steer(None, Vec::new()).await,
        Err(SteerError::Empty)
    );
    steer_and_finish(&mut driver, &turn).await;
    feed.send(ModelEvent::ItemDone(message("one"))).unwrap();
    feed.send(completed("r")).unwrap();
    finish(&mut driver, &turn).await;
}

#[tokio::test]
async fn during_a_retry_wait() {
    let mut driver = Driver::new().await;
    driver.model.push(Reply::Refused(broken(Retry::Soon)));
    let (feed, reply) = fed();
    driver.model.push(reply);
    driver.model.push(Reply::Events(says("both", &[])));
    let turn = driver.say("hi").await;
    driver
        .until(|msg| matches!(msg, EventMsg::StreamError(_)))
        .await;
    steer_and_finish(&mut driver, &turn).await;
    feed.send(completed("r")).unwrap();
    finish(&mut driver, &turn).await;
}

#[tokio::test]
async fn plain_input_steers_too() {
    let mut driver = Driver::new().await;
    let (feed, reply) = fed();
    driver.model.push(reply);
    driver.model.push(Reply::Events(says("both", &[])));
    let turn = driver.say("hi").await;
    driver.model.wait_for_request(1).await;
    driver.say("also this").await;
    // The session handles one thing after another: once it has answered this, it has the input.
    driver
        .thread
        .steer(Some("x".to_owned()), vec![text_input("y")])
        .await
        .unwrap_err();
    feed.send(completed("r")).unwrap();
    finish(&mut driver, &turn).await;
}
