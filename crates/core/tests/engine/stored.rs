//! Stored threads: resuming, forking, rolling back.

use std::sync::{Arc, mpsc};

use codex_core::{EndedTurn, ForkAt, TurnEnded};
use codex_protocol::*;
use parking_lot::Mutex;

use crate::support::*;

async fn three_turns() -> Driver {
    let mut driver = Driver::new().await;
    for text in ["one", "two", "three"] {
        driver
            .model
            .push(ModelReply::Events(message_events(text, &[])));
        driver.submit_text(&format!("say {text}")).await;
        driver.turn_over().await;
    }
    driver
}

#[tokio::test]
async fn resumed_thread_sends_the_same_history() {
    let mut driver = three_turns().await;
    driver.assert_resumes().await;
}

#[tokio::test]
async fn fork_copies_history_and_settings() {
    let driver = three_turns().await;
    let path = driver.thread.rollout_path().unwrap().to_owned();
    let fork = |at| {
        driver
            .manager
            .fork(&path, at, config(&driver.home))
            .unwrap()
    };
    let all = next_input(&driver, fork(ForkAt::End)).await;
    assert_eq!(texts(&all, "assistant"), ["one", "two", "three"]);
    let started = fork(ForkAt::BeforeUserMessage(1));
    assert_ne!(started.thread.id(), driver.thread.id());
    let part = next_input(&driver, started).await;
    assert_eq!(texts(&part, "assistant"), ["one"]);
    assert_eq!(texts(&part, "user")[1..], ["say one", "more?"]);
}

#[tokio::test]
async fn turns_that_were_taken_back_stay_so() {
    let mut driver = three_turns().await;
    driver
        .submit(Op::ThreadRollback {
            num_turns: 0,
            first_turn_id: None,
            token_usage: None,
        })
        .await;
    driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    driver
        .submit(Op::ThreadRollback {
            num_turns: 2,
            first_turn_id: None,
            token_usage: None,
        })
        .await;
    driver
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack(_)))
        .await;
    let path = driver.thread.rollout_path().unwrap().to_owned();
    let id = driver.thread.id().clone();
    driver.manager.close(&id).await;
    let started = driver.manager.resume(&path, config(&driver.home)).unwrap();
    let input = next_input(&driver, started).await;
    assert_eq!(texts(&input, "assistant"), ["one"]);
    assert_eq!(texts(&input, "user")[1..], ["say one", "more?"]);
}

/// A listener that takes its time, as the start of a program does: it waits for the test.
#[derive(Debug)]
struct SlowListener(Mutex<mpsc::Receiver<()>>);

impl TurnEnded for SlowListener {
    fn ended(&self, _turn: EndedTurn) {
        // The test has ended if the other end is gone.
        let _ = self.0.lock().recv();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completed_turn_can_be_rolled_back_at_once() {
    let (release, released) = mpsc::channel();
    let listener = Arc::new(SlowListener(Mutex::new(released)));
    let listen =
        |config: &mut codex_core::SessionConfig| config.services.turn_ended = Some(listener);
    let mut driver = Driver::with_config(listen).await;
    driver
        .model
        .push(ModelReply::Events(message_events("one", &[])));
    driver.submit_text("say one").await;
    driver.turn_over().await;
    let taken_back = Op::ThreadRollback {
        num_turns: 1,
        first_turn_id: None,
        token_usage: None,
    };
    driver.submit(taken_back).await;
    release.send(()).unwrap();
    let is_answer = |msg: &EventMsg| matches!(name(msg).as_str(), "error" | "thread_rolled_back");
    let answer = driver.until(is_answer).await;
    assert_eq!(name(&answer.msg), "thread_rolled_back");
}

#[tokio::test]
async fn compacted_thread_has_user_messages_and_summary() {
    let mut driver = three_turns().await;
    driver
        .model
        .push(ModelReply::Events(message_events("summary", &[])));
    driver.submit(Op::Compact).await;
    driver.turn_over().await;
    assert!(driver.names().contains(&"context_compacted".to_owned()));
    driver.assert_ends();
    let path = driver.thread.rollout_path().unwrap().to_owned();
    let id = driver.thread.id().clone();
    driver.manager.close(&id).await;
    let started = driver.manager.resume(&path, config(&driver.home)).unwrap();
    let input = next_input(&driver, started).await;
    let said = texts(&input, "user");
    assert_eq!(said[..3], ["say one", "say two", "say three"]);
    assert!(said[3].ends_with("\nsummary"));
    assert!(said[4].starts_with("<environment_context>"));
    assert_eq!(said[5], "more?");
    assert_eq!(texts(&input, "assistant"), [""; 0]);
}

#[tokio::test]
async fn torn_file_loads_with_closed_call() {
    let driver = three_turns().await;
    let path = driver.thread.rollout_path().unwrap().to_owned();
    driver.manager.close(driver.thread.id()).await;
    let mut text = std::fs::read_to_string(&path).unwrap();
    let call = serde_json::to_string(&plan_call("torn")).unwrap();
    text.push_str(&format!(
        "{{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{call}}}\n{{\"timest"
    ));
    std::fs::write(&path, text).unwrap();
    let started = driver.manager.resume(&path, config(&driver.home)).unwrap();
    let input = next_input(&driver, started).await;
    assert_eq!(outputs(&input), ["aborted"]);
}

#[tokio::test]
async fn a_name_stays_with_the_thread() {
    let mut driver = three_turns().await;
    driver
        .submit(Op::SetThreadName {
            name: " ".to_owned(),
        })
        .await;
    driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    driver
        .submit(Op::SetThreadName {
            name: " mine ".to_owned(),
        })
        .await;
    driver
        .until(|msg| matches!(msg, EventMsg::ThreadNameUpdated(_)))
        .await;
    let path = driver.thread.rollout_path().unwrap().to_owned();
    driver.manager.close(driver.thread.id()).await;
    let mut started = driver.manager.resume(&path, config(&driver.home)).unwrap();
    let configured = started.events.next().await.unwrap();
    let EventMsg::SessionConfigured(configured) = configured.msg else {
        panic!("{configured:?}")
    };
    assert_eq!(configured.thread_name.as_deref(), Some("mine"));
    assert!(
        configured
            .initial_messages
            .is_some_and(|events| !events.is_empty())
    );
}

#[tokio::test]
async fn message_history_entries_can_be_recalled() {
    let mut driver = Driver::new().await;
    let text = "typed".to_owned();
    driver.submit(Op::AddToHistory { text }).await;
    let found = loop {
        let (offset, log_id) = (0, 0);
        driver
            .submit(Op::GetHistoryEntryRequest { offset, log_id })
            .await;
        let answer = driver
            .until(|msg| matches!(msg, EventMsg::GetHistoryEntryResponse(_)))
            .await;
        // The two operations run side by side.
        if let EventMsg::GetHistoryEntryResponse(answer) = answer.msg
            && let Some(entry) = answer.entry
        {
            break entry;
        }
    };
    assert_eq!(found.text, "typed");
    assert_eq!(found.conversation_id, driver.thread.id().to_string());
}

#[tokio::test]
async fn turn_end_is_on_disk_before_its_event() {
    let mut driver = Driver::new().await;
    for number in 0..20 {
        driver
            .model
            .push(ModelReply::Events(message_events("done", &[])));
        driver.submit_text(&format!("say {number}")).await;
        driver.turn_over().await;
        assert_eq!(driver.lines().last().unwrap(), "task_complete");
    }
    driver.model.push(ModelReply::Silence);
    driver.submit_text("and on").await;
    driver
        .until(|msg| matches!(msg, EventMsg::TurnStarted(_)))
        .await;
    driver.submit(Op::Interrupt).await;
    driver.turn_over().await;
    assert_eq!(driver.lines().last().unwrap(), "turn_aborted");
}
