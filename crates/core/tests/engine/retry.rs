//! Failures of the model: which ones are repeated and which ones end the turn.

use std::time::Duration;

use codex_model_client::{BreakCause, ModelError, ModelEvent};
use codex_protocol::*;

use crate::support::*;

async fn recovers(replies: Vec<ModelReply>) -> Driver {
    let mut driver = Driver::new().await;
    let repeats = replies.len();
    for reply in replies {
        driver.model.push(reply);
    }
    driver
        .model
        .push(ModelReply::Events(message_events("fine", &[])));
    driver.submit_text("hi").await;
    let over = driver.turn_over().await;
    let EventMsg::TurnComplete(complete) = over.msg else {
        panic!("{over:?}")
    };
    assert_eq!(complete.last_agent_message.as_deref(), Some("fine"));
    let notices = driver
        .names()
        .iter()
        .filter(|name| *name == "stream_error")
        .count();
    assert_eq!(notices, repeats);
    assert!(!driver.names().contains(&"error".to_owned()));
    driver.assert_ends();
    driver
}

#[tokio::test]
async fn before_the_first_byte() {
    let driver = recovers(vec![
        ModelReply::Refused(broken()),
        ModelReply::Events(vec![Err(ModelError::Disconnected {
            cause: BreakCause::CutStream,
            detail: "test".to_owned(),
            retry_after: Some(Duration::from_secs(7)),
        })]),
    ])
    .await;
    let waits = driver.clock.sleeps();
    assert_eq!(waits, [Duration::from_millis(200), Duration::from_secs(7)]);
}

#[tokio::test]
async fn at_the_end_of_a_stream_that_was_cut() {
    let driver = recovers(vec![ModelReply::Events(starts("hello", &["hel"]))]).await;
    let notice = driver.seen.iter().find_map(|event| match &event.msg {
        EventMsg::StreamError(notice) => Some(notice.clone()),
        _ => None,
    });
    let notice = notice.unwrap();
    assert_eq!(notice.message, "Reconnecting... 1/5");
    assert!(
        notice
            .additional_details
            .unwrap()
            .contains("before response.completed")
    );
}

#[tokio::test]
async fn tool_call_before_cut_is_kept() {
    let events = vec![Ok(ModelEvent::ItemDone(plan_call("a"))), Err(broken())];
    let driver = recovers(vec![ModelReply::Events(events)]).await;
    assert_eq!(outputs(&driver.model.inputs()[1]), ["Plan updated"]);
}

async fn fails(replies: Vec<ModelReply>, message: &str) -> Driver {
    let mut driver = Driver::with_config(|config| config.options.stream_max_retries = 1).await;
    for reply in replies {
        driver.model.push(reply);
    }
    driver.submit_text("hi").await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
    let errors: Vec<String> = driver
        .seen
        .iter()
        .filter_map(|event| match &event.msg {
            EventMsg::Error(error) => Some(error.message.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(errors, [message]);
    driver.assert_ends();
    driver
        .model
        .push(ModelReply::Events(message_events("again", &[])));
    driver.submit_text("again").await;
    driver.turn_over().await;
    driver.assert_ends();
    driver
}

#[tokio::test]
async fn fatal_errors_are_reported_without_retry() {
    let error = fatal("no such model");
    fails(vec![ModelReply::Refused(error.clone())], "no such model").await;
    let mut events = starts("hello", &["hel"]);
    events.push(Err(error));
    fails(vec![ModelReply::Events(events)], "no such model").await;
}

#[tokio::test]
async fn exhausted_retries_report_the_error() {
    let refused = || ModelReply::Refused(broken());
    fails(
        vec![refused(), refused()],
        "stream disconnected before completion: test",
    )
    .await;
}

#[tokio::test]
async fn a_full_window_is_counted() {
    let error = ModelError::ContextWindowExceeded { window: None };
    let message = error.to_string();
    let driver = fails(vec![ModelReply::Refused(error)], &message).await;
    let counted = driver.seen.iter().find_map(|event| match &event.msg {
        EventMsg::TokenCount(count) => count.info,
        _ => None,
    });
    assert_eq!(counted.unwrap().total_token_usage.total_tokens, 258_400);
}
