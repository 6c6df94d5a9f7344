//! Every operation, event, model item and kind of rollout line reads, and writes back equal.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod support;

use std::collections::BTreeSet;

use codex_protocol::tagged::Tagged;
use codex_protocol::{
    Event, EventMsg, Op, ResponseItem, RolloutItem, RolloutLine, Submission, TurnItem,
};
use serde_json::{Value, json};
use support::*;

fn writes_back_equal<T: Wire>(corpus: &str) {
    for line in corpus.lines() {
        let value = T::from_text(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(value.to_text(), line);
    }
}

#[test]
fn corpus_round_trips() {
    writes_back_equal::<Submission>(SUBMISSIONS);
    writes_back_equal::<Event>(EVENTS);
    writes_back_equal::<ResponseItem>(RESPONSE_ITEMS);
    writes_back_equal::<CorpusLine>(ROLLOUT);
}

/// Every tag of `T` stands in the corpus, at `pointer`.
fn covers<T: Tagged>(corpus: &str, pointer: &str, aliases: &[&str]) {
    let values = values(corpus);
    let present: BTreeSet<&str> = values
        .iter()
        .filter_map(|value| value.pointer(pointer)?.as_str())
        .collect();
    let missing: Vec<_> = T::VARIANTS
        .iter()
        .filter(|tag| !present.contains(*tag) && !aliases.contains(tag))
        .collect();
    assert!(missing.is_empty(), "{} lacks {missing:?}", T::NAME);
}

#[test]
fn the_corpus_is_complete() {
    covers::<Op>(SUBMISSIONS, "/op/type", &["request_user_input_response"]);
    covers::<EventMsg>(EVENTS, "/msg/type", &["turn_started", "turn_complete"]);
    covers::<TurnItem>(EVENTS, "/msg/item/type", &[]);
    covers::<ResponseItem>(RESPONSE_ITEMS, "/type", &["compaction_summary"]);
}

#[test]
fn corpus_has_only_the_intended_unknown_values() {
    for line in SUBMISSIONS.lines() {
        let unknown = matches!(Submission::from_text(line).unwrap().op, Op::Unknown(_));
        assert_eq!(unknown, line.contains("a_later_operation"), "{line}");
    }
    for line in EVENTS.lines() {
        let unknown = matches!(Event::from_text(line).unwrap().msg, EventMsg::Unknown(_));
        assert_eq!(
            unknown,
            line.contains(r#""msg":{"type":"a_later"#),
            "{line}"
        );
    }
    for line in ROLLOUT.lines() {
        let kept = matches!(RolloutLine::read(line).unwrap().item, RolloutItem::Kept(_));
        assert_eq!(kept, line.contains("a_later_"), "{line}");
    }
}

/// Changes the object at `pointer` of each line, which must not change what is read.
fn reads_the_same<T: Wire>(corpus: &str, pointer: &str, change: fn(&mut Value)) {
    for value in values(corpus) {
        let plain = value.to_string();
        if plain.contains("a_later_") {
            continue;
        }
        let mut changed = value;
        change(changed.pointer_mut(pointer).unwrap());
        let changed = changed.to_string();
        let read = T::from_text(&changed).unwrap_or_else(|error| panic!("{error}: {changed}"));
        assert_eq!(read, T::from_text(&plain).unwrap());
    }
}

#[test]
fn unknown_fields_are_ignored() {
    let add = |object: &mut Value| object["a_later_field"] = json!({ "x": [1] });
    for pointer in ["", "/op"] {
        reads_the_same::<Submission>(SUBMISSIONS, pointer, add);
    }
    for pointer in ["", "/msg"] {
        reads_the_same::<Event>(EVENTS, pointer, add);
    }
    reads_the_same::<ResponseItem>(RESPONSE_ITEMS, "", add);
    for pointer in ["", "/payload"] {
        reads_the_same::<CorpusLine>(ROLLOUT, pointer, add);
    }
}

#[test]
fn the_tag_may_come_last() {
    let move_tag = |object: &mut Value| {
        let object = object.as_object_mut().unwrap();
        if let Some(tag) = object.shift_remove("type") {
            object.insert("type".to_owned(), tag);
        }
    };
    reads_the_same::<Submission>(SUBMISSIONS, "/op", move_tag);
    reads_the_same::<Event>(EVENTS, "/msg", move_tag);
    reads_the_same::<ResponseItem>(RESPONSE_ITEMS, "", move_tag);
    reads_the_same::<CorpusLine>(ROLLOUT, "", move_tag);
}

#[test]
fn older_names_are_read_and_newer_ones_not_written() {
    let check = |older: &str, written: &str| {
        let mut value: Value = EVENTS
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .find(|value: &Value| value["msg"]["type"] == written)
            .unwrap();
        let plain = value.to_string();
        value["msg"]["type"] = older.into();
        assert_eq!(
            Event::from_text(&value.to_string()).unwrap().to_text(),
            plain
        );
    };
    check("turn_started", "task_started");
    check("turn_complete", "task_complete");

    let answer = r#"{"type":"request_user_input_response","id":"t1","response":{"answers":{}}}"#;
    let op: Op = serde_json::from_str(answer).unwrap();
    assert!(matches!(op, Op::UserInputAnswer { .. }));
    let mode =
        r#"{"type":"task_started","turn_id":"t","collaboration_mode_kind":"pair_programming"}"#;
    let event: EventMsg = serde_json::from_str(mode).unwrap();
    assert!(
        event
            .to_text()
            .contains(r#""collaboration_mode_kind":"default""#)
    );
    let source = r#""a_later_surface""#;
    let source: codex_protocol::SessionSource = serde_json::from_str(source).unwrap();
    assert_eq!(source, codex_protocol::SessionSource::Unknown);
}

#[test]
fn ids_of_model_items_are_read_and_not_written() {
    for mut value in values(RESPONSE_ITEMS) {
        let plain = value.to_string();
        if plain.contains("output") && value["type"] != "message"
            || plain.contains(r#""id":"#)
            || plain.contains("compaction")
        {
            continue;
        }
        value["id"] = "model_1".into();
        let item = ResponseItem::from_text(&value.to_string()).unwrap();
        assert_eq!(item.id(), Some("model_1"), "{plain}");
        assert_eq!(item.to_text(), plain);
    }
}

#[test]
fn a_trace_that_does_not_read_is_left_out() {
    let text = r#"{"id":"1","op":{"type":"interrupt"},"trace":{"traceparent":7}}"#;
    assert_eq!(Submission::from_text(text).unwrap().trace, None);
}
