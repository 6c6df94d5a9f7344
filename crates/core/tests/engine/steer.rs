//! Input for a running turn, in addition to the matrix in `stages`.

use codex_core::{SteerError, TurnInput};
use codex_model_client::ModelEvent;
use codex_protocol::*;

use crate::support::*;

/// A turn whose model does not respond until the test sends events.
async fn running() -> (Driver, String, Feed) {
    let driver = Driver::new().await;
    let (feed, reply) = fed();
    driver.model.push(reply);
    let turn = driver.submit_text("hi").await;
    driver.model.wait_for_request(1).await;
    (driver, turn, feed)
}

fn end(feed: &Feed) {
    feed.send(Ok(ModelEvent::ItemDone(message("one")))).unwrap();
    feed.send(Ok(completed("r"))).unwrap();
}

#[tokio::test]
async fn steering_without_a_matching_turn_is_refused() {
    let (mut driver, _, feed) = running().await;
    let steer = |expected: Option<&str>, items| {
        let expected = expected.map(str::to_owned);
        driver.steer(expected, items)
    };
    let other = steer(Some("other"), vec![text_input("x")]).await;
    assert!(matches!(other, Err(SteerError::OtherTurn { .. })));
    assert_eq!(steer(None, Vec::new()).await, Err(SteerError::Empty));
    end(&feed);
    driver.turn_over().await;
    let late = driver.steer(None, vec![text_input("late")]).await;
    assert_eq!(late, Err(SteerError::NoTurn));
    assert_eq!(driver.model.inputs().len(), 1);
}

#[tokio::test]
async fn plain_input_steers_too() {
    let (mut driver, turn, feed) = running().await;
    driver
        .model
        .push(ModelReply::Events(message_events("both", &[])));
    driver.submit_text("also this").await;
    // The session handles requests in order: after this reply it has the input.
    let other = driver.steer(Some("x".to_owned()), vec![text_input("y")]);
    other.await.unwrap_err();
    end(&feed);
    assert_eq!(driver.turn_over().await.id, turn);
    driver.assert_ends();
    let last = driver.model.inputs().pop().unwrap();
    assert_eq!(texts(&last, "user")[1..], ["hi", "also this"]);
}

#[tokio::test]
async fn steering_message_keeps_client_id() {
    let (mut driver, turn, feed) = running().await;
    driver
        .model
        .push(ModelReply::Events(message_events("both", &[])));
    let more = TurnInput {
        items: vec![text_input("also this")],
        client_id: Some("mine".to_owned()),
        ..TurnInput::default()
    };
    driver.steer(Some(turn), more).await.unwrap();
    end(&feed);
    driver.turn_over().await;
    let ids: Vec<_> = driver.seen.iter().filter_map(client_id).collect();
    assert_eq!(ids, [None, Some("mine".to_owned())]);
}

/// The client id of a message of the user.
fn client_id(event: &Event) -> Option<Option<String>> {
    match &event.msg {
        EventMsg::UserMessage(said) => Some(said.client_id.clone()),
        _ => None,
    }
}

/// Clients return it to the user, who may have changed their mind.
#[tokio::test]
async fn interrupted_steering_is_dropped() {
    let (mut driver, turn, _feed) = running().await;
    let more = vec![text_input("also this")];
    driver.steer(Some(turn), more).await.unwrap();
    driver.submit(Op::Interrupt).await;
    driver.turn_over().await;
    driver
        .model
        .push(ModelReply::Events(message_events("after", &[])));
    driver.submit_text("go on").await;
    driver.turn_over().await;
    let last = driver.model.inputs().pop().unwrap();
    assert!(!texts(&last, "user").contains(&"also this".to_owned()));
}
