//! Requests that repeat what was sent before, and texts that stay in their files.

use codex_rollout_trace::format::Schema;
use codex_rollout_trace::model::{Part, RolloutTrace};
use codex_rollout_trace::replay_bundle;
use serde_json::{Value, json};

use crate::session::{Session, bundle_in, message};
use crate::support::state_text;

/// The prompts of requests, as the numbers of their items.
fn prompts(schema: Schema, requests: &[Value]) -> (Vec<Vec<u32>>, RolloutTrace) {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start_in(root.path(), schema);
    session.start_turn();
    for (number, body) in requests.iter().enumerate() {
        let call = format!("call-{number}");
        session.request(&call, body.clone());
        session.respond(&call, json!([]));
    }
    session.end();
    let reduction = replay_bundle(bundle_in(root.path())).unwrap();
    let calls = reduction.trace.inference_calls.values();
    let numbers = calls.map(|call| call.request_item_ids.iter().map(|id| id.number()).collect());
    (numbers.collect(), reduction.trace)
}

fn check(requests: &[Value], expected: &[&[u32]]) {
    for schema in [Schema::One, Schema::Two] {
        let (found, _) = prompts(schema, requests);
        assert_eq!(found, expected, "{schema:?}");
    }
}

#[test]
fn repeated_request_has_same_items() {
    let [a, b, c] = ["a", "b", "c"].map(|text| message("user", text));
    check(
        &[
            json!({"input": [a, b]}),
            json!({"input": [a, b]}),
            json!({"input": [a, b, c]}),
            json!({"input": [a, b, c]}),
            json!({"input": [a]}),
            json!({"input": [c, a]}),
            json!({"input": [c, a, b, b]}),
        ],
        &[
            &[1, 2],
            &[1, 2],
            &[1, 2, 3],
            &[1, 2, 3],
            &[1],
            &[4, 1],
            &[4, 1, 5, 6],
        ],
    );
}

#[test]
fn unreadable_repeated_items_are_skipped_in_each_request() {
    let [a, b] = ["a", "b"].map(|text| message("user", text));
    let odd = json!({"type": "riddle"});
    check(
        &[
            json!({"input": [a, odd, b]}),
            json!({"input": [a, odd, b]}),
            json!({"input": [a, odd, b, a]}),
        ],
        &[&[1, 2], &[1, 2], &[1, 2, 3]],
    );
}

#[test]
fn incremental_request_may_equal_an_earlier_one() {
    let a = message("user", "a");
    check(
        &[
            json!({"input": [a]}),
            json!({"previous_response_id": "r", "input": [a]}),
        ],
        &[&[1], &[1, 2]],
    );
}

#[test]
fn long_texts_are_compared_by_content() {
    let long = "é \"quoted\" \\ \n\u{1}/".repeat(300);
    let requests = [
        json!({"input": [message("user", &long)]}),
        json!({"input": [{"content": [{"text": long, "type": "input_text"}], "role": "user", "type": "message"}]}),
    ];
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    for (number, body) in requests.into_iter().enumerate() {
        session.request(&format!("call-{number}"), body);
    }
    session.end();
    let reduction = replay_bundle(bundle_in(root.path())).unwrap();
    let items: Vec<_> = reduction.trace.conversation_items.values().collect();
    let [item] = items.as_slice() else {
        panic!("the same text is the same item: {items:?}");
    };
    let [Part::Text { text }] = item.body.parts.as_slice() else {
        panic!("{item:?}");
    };
    assert_eq!(text.read().unwrap(), long);
    let state: Value = serde_json::from_str(&state_text(&reduction)).unwrap();
    let written = &state["conversation_items"]["conversation_item:1"]["body"]["parts"][0]["text"];
    assert_eq!(written, &json!(long));
}
