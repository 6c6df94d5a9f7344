//! What a model can cause, and a crash: strict replay fails, lenient replay keeps what there is.

use std::fs;
use std::path::PathBuf;

use codex_rollout_trace::format::{Event, ExecutionStatus, PayloadKind};
use codex_rollout_trace::{Fault, Reduction, Strictness, replay_bundle, replay_bundle_with};
use serde_json::json;

use crate::session::{Session, bundle_in, message};

/// Records a session, and checks that only lenient replay takes it.
fn check(record: impl FnOnce(&Session)) -> Reduction {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    record(&session);
    session.end();
    let bundle: PathBuf = bundle_in(root.path());
    assert!(replay_bundle_with(&bundle, Strictness::Strict).is_err());
    let reduction = replay_bundle(&bundle).unwrap();
    assert!(!reduction.problems.is_damaged(), "{:?}", reduction.problems);
    reduction
}

#[test]
fn an_image_in_an_output_is_known_again() {
    let call =
        json!({"type": "function_call", "name": "view_image", "arguments": "{}", "call_id": "c1"});
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AA"});
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": [image]});
    let reduction = check(|session| {
        let mut input = vec![message("user", "look"), call, output];
        session.request("i1", json!({"input": input}));
        input.push(message("user", "again"));
        session.request("i2", json!({"input": input}));
    });
    assert_eq!(reduction.problems.total(), 0);
    assert_eq!(reduction.trace.conversation_items.len(), 4);
}

#[test]
fn an_unknown_item_is_left_out() {
    let reduction = check(|session| {
        let odd = json!({"type": "other"});
        session.request(
            "i1",
            json!({"input": [message("user", "hi"), odd, message("user", "ho")]}),
        );
        session.respond("i1", json!([odd, message("assistant", "yo")]));
    });
    assert_eq!(reduction.trace.conversation_items.len(), 3);
    assert_eq!(
        reduction.trace.inference_calls["i1"]
            .response_item_ids
            .len(),
        1
    );
}

#[test]
fn a_bad_write_stdin_makes_no_operation() {
    let reduction = check(|session| {
        session.start_tool("c1", "write_stdin", r#"{"chars": "no session"}"#, "");
    });
    let tool = &reduction.trace.tool_calls["c1"];
    assert_eq!(tool.terminal_operation_id, None);
    assert!(reduction.trace.terminal_operations.is_empty());
}

#[test]
fn a_foreign_wait_is_a_plain_tool() {
    let reduction = check(|session| session.start_tool("c1", "wait", r#"{"seconds": 3}"#, ""));
    assert!(reduction.trace.tool_calls.contains_key("c1"));
    let first = &reduction.problems.listed()[0];
    assert!(matches!(first.fault, Fault::Wait { .. }));
}

#[test]
fn a_reused_call_id_makes_another_item() {
    let call = |arguments| json!({"type": "function_call", "name": "x", "arguments": arguments, "call_id": "c1"});
    let reduction = check(|session| {
        let mut input = vec![call("1")];
        session.request("i1", json!({"input": input}));
        input.push(call("2"));
        session.request("i2", json!({"input": input}));
        session.request("i3", json!({"input": input}));
    });
    assert_eq!(reduction.trace.conversation_items.len(), 2);
    assert_eq!(reduction.problems.total(), 1);
}

#[test]
fn repeated_call_id_makes_two_calls() {
    let begin = json!({"command": ["true"], "cwd": "/"});
    let reduction = check(|session| {
        for _ in 0..2 {
            session.start_tool("c1", "exec_command", "{}", "");
            let begin = begin.clone();
            session.record(move |payloads| Event::ToolCallRuntimeStarted {
                tool_call_id: "c1".into(),
                kind: None,
                runtime_payload: payloads.add(PayloadKind::ToolRuntimeEvent, &begin),
            });
            session.record(|_| Event::ToolCallEnded {
                tool_call_id: "c1".into(),
                status: ExecutionStatus::Completed,
                result_payload: None,
            });
        }
    });
    let calls: Vec<_> = reduction.trace.tool_calls.values().collect();
    assert_eq!(calls.len(), 2);
    for call in calls {
        assert_eq!(call.execution.status, ExecutionStatus::Completed);
        assert!(call.terminal_operation_id.is_some());
    }
}

#[test]
fn empty_reasoning_and_unknown_roles_are_valid() {
    let reduction = check(|session| {
        session.request(
            "i1",
            json!({"input": [message("narrator", "once upon a time")]}),
        );
        session.respond("i1", json!([{"type": "reasoning", "summary": []}]));
    });
    assert_eq!(reduction.problems.total(), 2);
}

#[test]
fn torn_log_keeps_whole_lines() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    session.request("i1", json!({"input": [message("user", "hi")]}));
    session.end();
    let log = bundle_in(root.path()).join("trace.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, &text[..text.len() - 30]).unwrap();
    let reduction = replay_bundle(bundle_in(root.path())).unwrap();
    assert!(reduction.problems.is_damaged());
    assert!(reduction.trace.inference_calls.contains_key("i1"));
}
