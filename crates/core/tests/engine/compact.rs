//! Compaction: its triggers, its forms, and that nothing else is lost.

use codex_core::CompactionRules;
use codex_model_client::{ModelError, ModelEvent};
use codex_protocol::*;

use crate::support::*;

/// A thread that compacts at this many tokens, with one turn behind it.
async fn one_turn(limit: i64, tokens: i64) -> Driver {
    let mut driver = Driver::with_config(|config| {
        config.options.auto_compact_limit = Some(limit);
        config.options.stream_max_retries = 1;
    })
    .await;
    driver
        .model
        .push(ModelReply::Events(message_events_at("one", tokens)));
    driver.submit_text("say one").await;
    driver.turn_over().await;
    driver.seen.clear();
    driver
}

async fn turn(driver: &mut Driver, text: &str) -> Event {
    driver.submit_text(text).await;
    let over = driver.turn_over().await;
    driver.assert_ends();
    over
}

/// The next request of a thread.
async fn next_input(driver: &mut Driver) -> serde_json::Value {
    driver
        .model
        .push(ModelReply::Events(message_events("next", &[])));
    turn(driver, "next?").await;
    driver.model.inputs().pop().unwrap()
}

#[tokio::test]
async fn a_full_context_is_compacted_before_the_next_turn() {
    let mut driver = one_turn(5_000, 6_000).await;
    driver
        .model
        .push(ModelReply::Events(message_events_at("summary", 100)));
    driver
        .model
        .push(ModelReply::Events(message_events("two", &[])));
    turn(&mut driver, "say two").await;
    assert_eq!(driver.count("context_compacted"), 1);
    let requests = driver.model.inputs();
    assert_eq!(requests.len(), 3);
    let said = texts(&requests[2], "user");
    assert_eq!(said[0], "say one");
    assert!(said[1].ends_with("\nsummary"), "{said:?}");
    assert!(said[2].starts_with("<environment_context>"));
    assert_eq!(said[3], "say two");
    assert_eq!(texts(&requests[2], "assistant"), [""; 0]);
    let sent = driver.model.sent();
    assert_eq!(sent[1].tools, sent[0].tools, "they are in the cache");
    assert_eq!(
        [sent[0].calls_no_tools, sent[1].calls_no_tools],
        [false, true]
    );
}

/// A thread with these rules and one turn behind it, whose request had 1,000 tokens and whose answer 100.
async fn one_turn_with(limit: Option<i64>, rules: CompactionRules) -> Driver {
    let driver = Driver::with_config(|config| {
        config.options.auto_compact_limit = limit;
        config.options.context_window = Some(10_000);
        config.options.compaction = rules;
    })
    .await;
    let mut events = message_events_at("one", 1_100);
    for event in &mut events {
        if let Ok(ModelEvent::Completed(completion)) = event
            && let Some(usage) = &mut completion.usage
        {
            (usage.input_tokens, usage.output_tokens) = (1_000, 100);
        }
    }
    driver.model.push(ModelReply::Events(events));
    driver
}

#[tokio::test]
async fn growth_limit_excludes_the_first_request() {
    for (limit, compactions) in [(101, 0), (100, 1)] {
        let rules = CompactionRules {
            counts_growth: true,
            ..CompactionRules::default()
        };
        let mut driver = one_turn_with(Some(limit), rules).await;
        turn(&mut driver, "say one").await;
        assert_eq!(driver.count("context_compacted"), 0);
        for reply in ["summary", "two"].iter().skip(1 - compactions) {
            driver
                .model
                .push(ModelReply::Events(message_events(reply, &[])));
        }
        turn(&mut driver, "say two").await;
        assert_eq!(driver.count("context_compacted"), compactions, "{limit}");
    }
}

#[tokio::test]
async fn finished_turn_compacts_above_the_configured_limit() {
    for (percent, compactions) in [(12, 0), (11, 1)] {
        let rules = CompactionRules {
            after_turn_percent: Some(percent),
            ..CompactionRules::default()
        };
        let mut driver = one_turn_with(None, rules).await;
        driver
            .model
            .push(ModelReply::Events(message_events("summary", &[])));
        let over = turn(&mut driver, "say one").await;
        assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
        assert_eq!(driver.count("context_compacted"), compactions, "{percent}");
    }
}

#[tokio::test]
async fn failed_compaction_does_not_fail_finished_turn() {
    let rules = CompactionRules {
        after_turn_percent: Some(1),
        ..CompactionRules::default()
    };
    let mut driver = one_turn_with(None, rules).await;
    driver.model.push(ModelReply::Refused(fatal("no")));
    let over = turn(&mut driver, "say one").await;
    assert!(matches!(over.msg, EventMsg::TurnComplete(_)), "{over:?}");
    assert_eq!(driver.count("context_compacted"), 0);
    let is_told = |event: &Event| match &event.msg {
        EventMsg::Warning(warning) => warning.message.starts_with("The history was not compacted"),
        _ => false,
    };
    assert!(driver.seen.iter().any(is_told));
}

#[tokio::test]
async fn full_context_is_compacted_during_the_turn() {
    let mut driver = one_turn(5_000, 100).await;
    driver.model.push(ModelReply::Events(vec![
        Ok(ModelEvent::ItemDone(plan_call("c1"))),
        Ok(completed_at("full", 6_000)),
    ]));
    driver
        .model
        .push(ModelReply::Events(message_events_at("summary", 100)));
    driver
        .model
        .push(ModelReply::Events(message_events("done", &[])));
    let over = turn(&mut driver, "go on").await;
    let EventMsg::TurnComplete(complete) = over.msg else {
        panic!("{over:?}")
    };
    assert_eq!(complete.last_agent_message.as_deref(), Some("done"));
    let last = driver.model.inputs().pop().unwrap();
    let said = texts(&last, "user");
    assert_eq!(said[0], "say one");
    assert!(said[1].starts_with("<environment_context>"), "{said:?}");
    assert_eq!(said[2], "go on");
    assert!(said[3].ends_with("\nsummary"));
    assert!(outputs(&last).is_empty(), "calls are in the summary");
    // The stored history is the same.
    let before = next_input(&mut driver).await;
    let path = driver.thread.rollout_path().unwrap().to_owned();
    driver.manager.close(driver.thread.id()).await;
    let started = driver.manager.resume(&path, config(&driver.home)).unwrap();
    (driver.thread, driver.events) = (started.thread, started.events);
    driver.seen.clear();
    let after = next_input(&mut driver).await;
    let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
    assert_eq!(after[..before.len()], before[..]);
}

/// Nothing of the conversation is lost when no summary comes.
async fn fails(replies: Vec<ModelReply>, stop: bool) {
    let mut driver = one_turn(1_000_000, 100).await;
    for reply in replies {
        driver.model.push(reply);
    }
    driver.submit(Op::Compact).await;
    if stop {
        driver.model.wait_for_request(2).await;
        driver.submit(Op::Interrupt).await;
    }
    driver.turn_over().await;
    driver.assert_ends();
    assert_eq!(driver.count("error"), usize::from(!stop));
    let next = next_input(&mut driver).await;
    assert_eq!(texts(&next, "assistant"), ["one"]);
    let said = texts(&next, "user");
    assert_eq!(said[1], "say one");
    assert_eq!(said.last().unwrap(), "next?");
    driver.thread.flush().await.unwrap();
    assert!(!driver.lines().contains(&"compacted".to_owned()));
}

#[tokio::test]
async fn a_compaction_that_fails_leaves_everything_as_it_was() {
    fails(vec![ModelReply::Refused(fatal("no such model"))], false).await;
    let broken = || ModelReply::Events(vec![Err(broken())]);
    fails(vec![broken(), broken()], false).await;
    let mut halfway = starts("summ", &["su"]);
    halfway.push(Err(fatal("gone")));
    fails(vec![ModelReply::Events(halfway)], false).await;
}

#[tokio::test]
async fn stopped_compaction_changes_nothing() {
    fails(vec![ModelReply::Silence], true).await;
    fails(vec![ModelReply::Stall(starts("summ", &["su"]))], true).await;
}

#[tokio::test]
async fn failed_compaction_keeps_the_history() {
    let mut driver = one_turn(5_000, 6_000).await;
    driver.model.push(ModelReply::Refused(fatal("gone")));
    turn(&mut driver, "say two").await;
    assert_eq!(driver.count("error"), 1);
    driver
        .model
        .push(ModelReply::Events(message_events_at("summary", 100)));
    let next = next_input(&mut driver).await;
    let said = texts(&next, "user");
    assert!(said.contains(&"say two".to_owned()), "{said:?}");
}

#[tokio::test]
async fn compaction_request_drops_the_oldest_items() {
    let mut driver = one_turn(1_000_000, 100).await;
    let full = || ModelReply::Refused(ModelError::ContextWindowExceeded { window: None });
    driver.model.push(full());
    driver.model.push(full());
    driver
        .model
        .push(ModelReply::Events(message_events_at("summary", 100)));
    driver.submit(Op::Compact).await;
    driver.turn_over().await;
    driver.assert_ends();
    let lengths: Vec<usize> = driver
        .model
        .sent()
        .iter()
        .map(|sent| sent.input.len())
        .collect();
    assert_eq!(lengths, [3, 5, 4, 3]);
    let next = next_input(&mut driver).await;
    assert_eq!(texts(&next, "user")[0], "say one");
}

#[tokio::test]
async fn larger_model_summarizes_for_smaller_one() {
    let mut driver = one_turn(100_000, 20_000).await;
    driver
        .submit(Op::OverrideTurnContext(Box::new(OverrideTurnContext {
            model: Some("small-model".to_owned()),
            ..OverrideTurnContext::default()
        })))
        .await;
    driver
        .model
        .push(ModelReply::Events(message_events_at("summary", 100)));
    driver
        .model
        .push(ModelReply::Events(message_events("two", &[])));
    turn(&mut driver, "say two").await;
    let sent = driver.model.sent();
    let models: Vec<&str> = sent.iter().map(|sent| sent.model.as_str()).collect();
    assert_eq!(models, ["mock-model", "mock-model", "small-model"]);
}

#[tokio::test]
async fn images_are_not_stored_again() {
    let mut driver = one_turn(1_000_000, 100).await;
    driver
        .model
        .push(ModelReply::Events(message_events("two", &[])));
    let image_url = format!("data:image/png;base64,{}", "A".repeat(1_000));
    let image = UserInput::Image {
        file_id: None,
        image_url,
        detail: None,
    };
    driver
        .submit(Op::UserInput(UserInputOp {
            items: vec![image, text_input("what is it?")],
            ..UserInputOp::default()
        }))
        .await;
    driver.turn_over().await;
    for _ in 0..3 {
        driver
            .model
            .push(ModelReply::Events(message_events_at("summary", 100)));
        driver.submit(Op::Compact).await;
        driver.turn_over().await;
    }
    driver.thread.flush().await.unwrap();
    let path = driver.thread.rollout_path().unwrap();
    let file = std::fs::read_to_string(path).unwrap();
    let lines = file.lines().filter(|line| line.contains("response_item"));
    assert_eq!(lines.filter(|line| line.contains("AAAA")).count(), 1);
    let compacted = file.lines().filter(|line| line.contains("\"compacted\""));
    assert_eq!(compacted.filter(|line| line.contains("AAAA")).count(), 0);
    let next = next_input(&mut driver).await;
    let said = texts(&next, "user");
    assert!(said.iter().any(|text| text.contains("An image stood here")));
    assert!(said.iter().any(|text| text.contains("what is it?")));
}

fn compaction_item() -> ResponseItem {
    ResponseItem::Compaction {
        encrypted_content: "secret".to_owned(),
    }
}

fn user(text: &str) -> ResponseItem {
    ResponseItem::Message {
        role: "user".to_owned(),
        content: vec![ContentItem::InputText {
            text: text.to_owned(),
        }],
        end_turn: None,
        phase: None,
        id: None,
    }
}

#[tokio::test]
async fn a_provider_that_can_compacts_itself() {
    let mut driver = one_turn(1_000_000, 100).await;
    let context = user("<environment_context>\n</environment_context>");
    let kept = vec![context, user("say one"), compaction_item()];
    driver.model.push_compaction(Ok(kept));
    driver.submit(Op::Compact).await;
    driver.turn_over().await;
    driver.assert_ends();
    assert_eq!(driver.count("context_compacted"), 1);
    let next = next_input(&mut driver).await;
    let kinds: Vec<&str> = next
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["message", "compaction", "message", "message", "message"]
    );
    assert_eq!(texts(&next, "user")[0], "say one");
}

#[tokio::test]
async fn a_provider_that_fails_to_compact_changes_nothing() {
    let mut driver = one_turn(1_000_000, 100).await;
    driver.model.push_compaction(Err(fatal("gone")));
    driver.submit(Op::Compact).await;
    let error = driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let EventMsg::Error(error) = error.msg else {
        panic!("{error:?}")
    };
    assert_eq!(error.message, "Error running remote compact task: gone");
    driver.turn_over().await;
    driver.assert_ends();
    let next = next_input(&mut driver).await;
    assert_eq!(texts(&next, "assistant"), ["one"]);
}
