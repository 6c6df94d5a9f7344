//! One version of the format into the other, from a bundle and while a session is recorded.

use std::path::{Path, PathBuf};

use codex_rollout_trace::format::Schema;
use codex_rollout_trace::model::{Part, RolloutTrace};
use codex_rollout_trace::{Strictness, convert_bundle, replay_bundle_with};
use serde_json::json;

use crate::session::{Session, bundle_in, message};
use crate::support::Bundle;

/// Reduces a bundle in which nothing may be out of the ordinary.
fn reduce(bundle: &Path) -> RolloutTrace {
    let reduction = replay_bundle_with(bundle, Strictness::Strict).unwrap();
    assert_eq!(reduction.problems.total(), 0, "{:?}", reduction.problems);
    reduction.trace
}

fn convert(bundle: &Path, to: Schema) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    convert_bundle(bundle, &copy, to).unwrap();
    (folder, copy)
}

/// What was said and done, without what only one of the versions knows.
fn story(trace: &RolloutTrace) -> Vec<String> {
    let mut items: Vec<_> = trace.conversation_items.values().collect();
    items.sort_by_key(|item| {
        let number = item.item_id.to_string();
        number.rsplit(':').next().unwrap().parse::<u32>().unwrap()
    });
    let calls = trace.inference_calls.values().map(|call| {
        let prompt = call.request_item_ids.iter().map(ToString::to_string);
        format!(
            "{:?} {:?}",
            call.execution.status,
            prompt.collect::<Vec<_>>()
        )
    });
    let tools = trace
        .tool_calls
        .values()
        .map(|call| format!("{:?} {:?}", call.kind, call.model_visible_output_item_ids));
    let items = items.into_iter().map(|item| {
        let texts = item.body.parts.iter().map(|part| match part {
            Part::Text { text } => text.shown().into_owned(),
            part => json!(part)["type"].to_string(),
        });
        format!("{:?} {:?}", item.role, texts.collect::<Vec<_>>())
    });
    items.chain(calls).chain(tools).collect()
}

#[test]
fn there_and_back_the_story_is_the_same() {
    for name in ["engine_mixed", "engine_shell", "one_turn"] {
        let bundle = Bundle::unpack(name);
        let one = bundle.replay(Strictness::Strict).unwrap().trace;
        let (_there, second) = convert(bundle.path(), Schema::Two);
        let two = reduce(&second);
        assert_eq!(
            (two.schema_version, two.recording_complete),
            (2, Some(true)),
            "{name}"
        );
        assert_eq!(story(&two), story(&one), "{name}");
        let accepted = two.conversation_items.values();
        assert!(
            accepted.filter(|item| item.accepted_seq.is_some()).count() > 0,
            "{name}"
        );
        let (_back, first) = convert(&second, Schema::One);
        assert_eq!(story(&reduce(&first)), story(&one), "{name}");
    }
}

#[test]
fn conversion_lists_what_it_left_out() {
    let bundle = Bundle::unpack("schema_two_tools");
    let folder = tempfile::tempdir().unwrap();
    let done = convert_bundle(bundle.path(), &folder.path().join("copy"), Schema::One).unwrap();
    assert!(done.left_out["which items became history"] > 0, "{done:?}");
    assert!(
        done.left_out.contains_key("that the recording is complete"),
        "{done:?}"
    );
    let again = convert_bundle(bundle.path(), &folder.path().join("again"), Schema::Two);
    assert!(
        again
            .unwrap_err()
            .to_string()
            .contains("already has schema 2")
    );
}

#[test]
fn a_session_is_recorded_in_schema_two() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start_in(root.path(), Schema::Two);
    session.start_turn();
    let mut input = vec![message("user", "hi")];
    session.request("i1", json!({"input": input}));
    session.respond("i1", json!([message("assistant", "yo")]));
    input.push(message("assistant", "yo"));
    input.push(message("user", "and now?"));
    session.request("i2", json!({"input": input}));
    session.end();
    let trace = reduce(&bundle_in(root.path()));
    assert_eq!(trace.recording_complete, Some(true));
    assert_eq!(trace.conversation_items.len(), 3);
    for item in trace.conversation_items.values() {
        assert!(
            item.responses_item_id.is_some() && item.accepted_seq.is_some(),
            "{item:?}"
        );
    }
}
