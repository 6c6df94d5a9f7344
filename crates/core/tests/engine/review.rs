//! Reviews: events, the context for the model, and early ends.

use codex_core::{SteerError, TaskKind};
use codex_protocol::*;
use serde_json::json;

use crate::support::*;

fn review(instructions: &str) -> Op {
    let instructions = instructions.to_owned();
    Op::Review {
        review_request: ReviewRequest {
            target: ReviewTarget::Custom { instructions },
            user_facing_hint: None,
        },
    }
}

fn result(driver: &Driver) -> Option<ReviewOutput> {
    let exited = driver.seen.iter().filter_map(|event| match &event.msg {
        EventMsg::ExitedReviewMode(exited) => Some(exited.review_output.clone()),
        _ => None,
    });
    let exited: Vec<_> = exited.collect();
    assert_eq!(exited.len(), 1);
    exited.into_iter().next().flatten()
}

#[tokio::test]
async fn conversation_has_result_of_review_only() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Events(message_events("hello", &[])));
    driver.submit_text("hi").await;
    driver.turn_over().await;
    driver.seen.clear();
    let finding = json!({ "title": "Close it", "body": "It leaks." });
    let answer = json!({ "findings": [finding], "overall_explanation": "Not yet." });
    driver
        .model
        .push(ModelReply::Events(calls(vec![script("print x", "c1")])));
    let answer = answer.to_string();
    driver.model.push(ModelReply::Events(message_events(
        &answer,
        &["{\"findings\""],
    )));
    let id = driver.submit(review(" look ")).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
    assert!(driver.seen.iter().all(|event| event.id == id));
    driver.assert_ends();
    let names = driver.names();
    assert_eq!(names[..2], ["entered_review_mode", "task_started"]);
    assert_eq!(driver.count("exec_command_end"), 1);
    assert_eq!(driver.count("agent_message"), 1, "only the result");
    assert_eq!(driver.count("agent_message_content_delta"), 0);
    assert_eq!(driver.count("token_count"), 0);
    assert_eq!(result(&driver).unwrap().findings[0].title, "Close it");

    let own = &driver.model.inputs()[1];
    assert_eq!(texts(own, "user").last().unwrap(), "look");
    assert!(!own.to_string().contains("hello"), "its own history");
    driver
        .model
        .push(ModelReply::Events(message_events("more", &[])));
    driver.submit_text("and now?").await;
    driver.turn_over().await;
    let next = driver.model.inputs().pop().unwrap();
    let said = texts(&next, "user");
    assert!(
        said.iter()
            .any(|text| text.contains("<action>review</action>"))
    );
    let text = "Not yet.\n\nReview comment:\n\n- Close it — :0-0\n  It leaks.";
    assert_eq!(texts(&next, "assistant")[1], text);
    assert!(outputs(&next).is_empty());
    driver.thread.flush().await.unwrap();
    let calls = |line: &&String| line.starts_with("function_call");
    assert_eq!(driver.lines().iter().filter(calls).count(), 0);
}

#[tokio::test]
async fn a_reviewer_asks_nobody() {
    let mut driver = Driver::with_config(|config| {
        config.options.settings.approval_policy = AskForApproval::UnlessTrusted;
        config.options.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
    })
    .await;
    let question = json!({ "questions": [] });
    let items = vec![
        script("rm -rf x", "c1"),
        call("request_user_input", question, "c2"),
    ];
    driver.model.push(ModelReply::Events(calls(items)));
    driver
        .model
        .push(ModelReply::Events(message_events("fine", &[])));
    driver.submit(review("look")).await;
    driver.turn_over().await;
    assert_eq!(driver.count("exec_approval_request"), 0);
    assert_eq!(driver.count("request_user_input"), 0);
    let fine = "fine".to_owned();
    assert_eq!(result(&driver).unwrap().overall_explanation, fine);
    driver.assert_ends();
}

#[tokio::test]
async fn interrupted_review_is_reported() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Stall(starts("hello", &["hel"])));
    driver.submit(review("look")).await;
    driver.model.wait_for_request(1).await;
    driver.submit(Op::Interrupt).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnAborted(_)), "{over:?}");
    assert_eq!(result(&driver), None);
    driver.assert_ends();
    driver
        .model
        .push(ModelReply::Events(message_events("more", &[])));
    driver.submit_text("and now?").await;
    driver.turn_over().await;
    let next = driver.model.inputs().pop().unwrap();
    assert!(texts(&next, "assistant")[0].starts_with("Review was interrupted."));
    assert!(
        texts(&next, "user")
            .iter()
            .any(|text| text.contains("None."))
    );
}

#[tokio::test]
async fn a_review_that_fails_fails_its_turn() {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Refused(fatal("no such model")));
    driver.submit(review("look")).await;
    let over = driver.turn_over().await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
    assert_eq!(driver.count("error"), 1);
    assert_eq!(result(&driver), None);
    driver.assert_ends();
}

#[tokio::test]
async fn invalid_review_target_is_an_error() {
    let mut driver = Driver::new().await;
    driver.submit(review("  ")).await;
    driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert_eq!(driver.count("task_started"), 0);
    let branch = "main".to_owned();
    driver
        .submit(Op::Review {
            review_request: ReviewRequest {
                target: ReviewTarget::BaseBranch { branch },
                user_facing_hint: None,
            },
        })
        .await;
    driver.turn_over().await;
    assert_eq!(driver.count("error"), 2);
    assert!(driver.model.inputs().is_empty());
    driver.assert_ends();
}

#[tokio::test]
async fn input_during_a_review_waits() {
    let mut driver = Driver::new().await;
    driver.clock.hold();
    driver.model.push(ModelReply::Refused(broken()));
    driver.submit(review("look")).await;
    driver
        .until(|msg| matches!(msg, EventMsg::StreamError(_)))
        .await;
    let steered = driver.steer(None, vec![text_input("x")]).await;
    assert_eq!(steered, Err(SteerError::NotSteerable(TaskKind::Review)));
    assert_eq!(
        steered.unwrap_err().to_string(),
        "cannot steer a review turn"
    );
    driver
        .model
        .push(ModelReply::Events(message_events("later", &[])));
    driver.submit_text("and this").await;
    driver.submit(Op::Compact).await;
    let over = driver.turn_over().await;
    let EventMsg::TurnAborted(aborted) = over.msg else {
        panic!("{over:?}")
    };
    assert_eq!(aborted.reason, TurnAbortReason::Replaced);
}
