//! Calls to a session that does not answer at once: its queue is full, it is being closed, or nobody waits any more.

use codex_core::{
    Compact, InjectItems, ListPins, OperationError, OperationResult, ReadContext, RollBack,
    SampleError, SampleRequest, StartReview, Steer, SteerError, ThreadCall, ThreadClosed,
    TurnInput, Undo,
};
use codex_protocol::*;
use futures::FutureExt;
use tokio::sync::oneshot;
use tokio::task::unconstrained;

use crate::support::*;

/// How many calls may wait.
const QUEUE: usize = 512;

fn words(text: &str) -> Vec<ResponseItem> {
    vec![ResponseItem::Message {
        role: "user".to_owned(),
        content: vec![ContentItem::InputText {
            text: text.to_owned(),
        }],
        end_turn: None,
        phase: None,
        id: None,
    }]
}

/// Asks for something that is answered with the end of an operation, and does not wait.
async fn begin<C: ThreadCall<Reply = ()>>(
    driver: &Driver,
    call: impl FnOnce(oneshot::Sender<OperationResult>) -> C,
) -> oneshot::Receiver<OperationResult> {
    let (reply, end) = oneshot::channel();
    driver.thread.send(call(reply)).await.unwrap();
    end
}

/// A thread whose turn waits for the model.
async fn stalled() -> Driver {
    let driver = Driver::new().await;
    driver.model.push(ModelReply::Silence);
    driver.submit_text("hi").await;
    driver.model.wait_for_request(1).await;
    driver
}

fn roll_back(num_turns: u32) -> impl FnOnce(oneshot::Sender<OperationResult>) -> RollBack {
    move |reply| RollBack {
        num_turns,
        first_turn_id: None,
        token_usage: None,
        reply,
    }
}

/// A session with one turn.
async fn driver_after_turn() -> Driver {
    let mut driver = Driver::new().await;
    driver
        .model
        .push(ModelReply::Events(message_events("one", &[])));
    driver.submit_text("say one").await;
    driver.turn_over().await;
    driver
}

#[tokio::test]
async fn call_waits_for_room_in_a_full_queue() {
    let driver = Driver::new().await;
    // The session does not run before this test waits for something.
    for _ in 0..QUEUE {
        let sent = unconstrained(driver.thread.send(ListPins)).now_or_never();
        assert_eq!(sent, Some(Ok(())));
    }
    let mut waiting = Box::pin(driver.thread.call(ListPins));
    assert!(unconstrained(&mut waiting).now_or_never().is_none());
    assert_eq!(waiting.await, Ok(Vec::new()));
}

#[tokio::test]
async fn queued_call_of_a_closing_thread_is_refused() {
    let mut driver = Driver::new().await;
    driver.submit(Op::Shutdown).await;
    let (first, second) = tokio::join!(
        driver.thread.call(ListPins),
        driver.thread.ask(|reply| SampleRequest {
            prompt: "?".to_owned(),
            effort: None,
            reply,
        })
    );
    assert_eq!(first, Err(ThreadClosed));
    assert_eq!(second, Err(SampleError::Closed(ThreadClosed)));
    driver
        .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
        .await;
    assert_eq!(driver.thread.send(ListPins).await, Err(ThreadClosed));
}

#[tokio::test]
async fn call_is_carried_out_when_its_caller_is_gone() {
    let mut driver = Driver::new().await;
    let call = driver.thread.call(InjectItems(words("from nobody")));
    assert!(call.now_or_never().is_none());
    driver
        .model
        .push(ModelReply::Events(message_events("ok", &[])));
    driver.submit_text("hi").await;
    driver.turn_over().await;
    let input = driver.model.inputs().pop().unwrap();
    assert!(texts(&input, "user").contains(&"from nobody".to_owned()));
}

#[tokio::test]
async fn queued_question_is_answered_after_interrupt() {
    let mut driver = stalled().await;
    driver
        .model
        .push(ModelReply::Events(message_events("aside", &[])));
    let (reply, answer) = oneshot::channel();
    let question = SampleRequest {
        prompt: "?".to_owned(),
        effort: None,
        reply,
    };
    driver.thread.send(question).await.unwrap();
    driver.submit(Op::Interrupt).await;
    driver.turn_over().await;
    let sample = answer.await.unwrap().unwrap();
    assert_eq!(sample.text.as_deref(), Some("aside"));
}

#[tokio::test]
async fn queued_question_is_refused_when_thread_closes() {
    let driver = stalled().await;
    let asked = driver.thread.ask(|reply| SampleRequest {
        prompt: "?".to_owned(),
        effort: None,
        reply,
    });
    let (sample, closed) = tokio::join!(asked, driver.manager.close(driver.thread.id()));
    assert!(closed);
    assert_eq!(sample, Err(SampleError::Closed(ThreadClosed)));
}

#[tokio::test]
async fn context_can_be_read_while_a_turn_runs() {
    let driver = stalled().await;
    driver.thread.call(ReadContext).await.unwrap();
    let input = TurnInput::default();
    let steered = driver.thread.call(Steer {
        expected: None,
        input,
    });
    assert_eq!(steered.await, Err(SteerError::Empty));
}

#[tokio::test]
async fn rollback_replies_with_its_end_or_the_refusal() {
    let mut driver = driver_after_turn().await;
    let none = driver.thread.ask(roll_back(0)).await;
    let refused = OperationError::Refused("num_turns must be >= 1".to_owned());
    assert_eq!(none, Err(refused));
    assert_eq!(driver.thread.ask(roll_back(1)).await, Ok(()));
    driver
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack(_)))
        .await;
    assert_eq!(driver.count("error"), 1);
    driver.model.push(ModelReply::Silence);
    driver.submit_text("hi").await;
    driver.model.wait_for_request(2).await;
    let running = driver.thread.ask(roll_back(1)).await;
    let why = "Cannot rollback while a turn is in progress.".to_owned();
    assert_eq!(running, Err(OperationError::Refused(why)));
}

#[tokio::test]
async fn compaction_replies_when_it_has_ended_or_failed() {
    let mut driver = driver_after_turn().await;
    driver
        .model
        .push(ModelReply::Events(message_events("summary", &[])));
    let compacted = driver.thread.ask(|reply| Compact { reply }).await;
    assert_eq!(compacted, Ok(()));
    driver.turn_over().await;
    driver.assert_ends();
    driver.model.push(ModelReply::Refused(fatal("no model")));
    let failed = driver.thread.ask(|reply| Compact { reply }).await;
    let Err(OperationError::Failed(message)) = failed else {
        panic!("{failed:?}");
    };
    assert!(message.contains("no model"), "{message}");
}

#[tokio::test]
async fn compaction_reply_ignores_other_errors() {
    let driver = driver_after_turn().await;
    let (feed, reply) = fed();
    driver.model.push(reply);
    let compacting = begin(&driver, |reply| Compact { reply }).await;
    driver.model.wait_for_request(2).await;
    let refused = driver.thread.ask(roll_back(1)).await;
    assert!(refused.is_err());
    for event in message_events("summary", &[]) {
        feed.send(event).unwrap();
    }
    drop(feed);
    assert_eq!(compacting.await, Ok(Ok(())));
}

#[tokio::test]
async fn interrupted_or_replaced_operation_replies_stopped() {
    let mut driver = Driver::new().await;
    driver.model.push(ModelReply::Silence);
    let compacting = begin(&driver, |reply| Compact { reply }).await;
    driver.model.wait_for_request(1).await;
    driver.model.push(ModelReply::Silence);
    let request = ReviewRequest {
        target: ReviewTarget::Custom {
            instructions: "look".to_owned(),
        },
        user_facing_hint: None,
    };
    let reviewing = begin(&driver, |reply| StartReview {
        id: "review".to_owned(),
        request,
        reply,
    })
    .await;
    assert_eq!(compacting.await, Ok(Err(OperationError::Stopped)));
    driver.model.wait_for_request(2).await;
    driver.submit(Op::Interrupt).await;
    assert_eq!(reviewing.await, Ok(Err(OperationError::Stopped)));
    let blank = ReviewRequest {
        target: ReviewTarget::Custom {
            instructions: " ".to_owned(),
        },
        user_facing_hint: None,
    };
    let refused = begin(&driver, |reply| StartReview {
        id: "blank".to_owned(),
        request: blank,
        reply,
    })
    .await;
    let why = "Review prompt cannot be empty".to_owned();
    assert_eq!(refused.await, Ok(Err(OperationError::Refused(why))));
    driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
}

#[tokio::test]
async fn closing_thread_stops_operation() {
    let driver = Driver::new().await;
    driver.model.push(ModelReply::Silence);
    let compacting = begin(&driver, |reply| Compact { reply }).await;
    driver.model.wait_for_request(1).await;
    driver.manager.close(driver.thread.id()).await;
    assert_eq!(compacting.await, Ok(Err(OperationError::Stopped)));
}

#[tokio::test]
async fn undo_without_a_snapshot_replies_that_it_failed() {
    let driver = Driver::new().await;
    let undone = driver.thread.ask(|reply| Undo { reply }).await;
    let why = "No ghost snapshot available to undo.".to_owned();
    assert_eq!(undone, Err(OperationError::Failed(why)));
}
