//! Recording a session, and what becomes of it when the disk or the queue fails.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use codex_rollout_trace::format::{Event, ExecutionStatus, RolloutStatus, Summary};
use codex_rollout_trace::ids::{InferenceId, ThreadId, TurnId};
use codex_rollout_trace::{Fault, Recorder, Scope, Strictness, replay_bundle, replay_bundle_with};
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::session::{Session, TEST_TIMEOUT, bundle_in, message};

#[test]
fn a_recorded_session_reduces() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    let call =
        json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"});
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "done"});
    session.request("i1", json!({"input": [message("user", "hi")]}));
    session.respond("i1", json!([call]));
    session.start_tool("c1", "shell", "{}", &"x".repeat(200));
    session.record(|_| Event::ToolCallEnded {
        tool_call_id: "c1".into(),
        status: ExecutionStatus::Completed,
        result_payload: None,
    });
    session.request(
        "i2",
        json!({"input": [message("user", "hi"), call, output]}),
    );
    session.respond("i2", json!([message("assistant", "bye")]));
    session.end();

    let reduction = replay_bundle_with(bundle_in(root.path()), Strictness::Strict).unwrap();
    assert_eq!(reduction.problems.total(), 0, "{:?}", reduction.problems);
    let trace = reduction.trace;
    assert_eq!(trace.status, RolloutStatus::Completed);
    assert_eq!(trace.conversation_items.len(), 4);
    let started = &trace.inference_calls["i1"].tool_call_ids_started_by_response;
    assert_eq!(started.len(), 1);
    match &trace.tool_calls["c1"].summary {
        Summary::Generic { input_preview, .. } => {
            assert_eq!(input_preview.as_deref(), Some(&*("x".repeat(160) + "...")));
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(&root.path().join("made/on/demand"));
    session.end();
    let bundle = bundle_in(&root.path().join("made/on/demand"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in [&bundle, &bundle.join("payloads"), &root.path().join("made")] {
        assert_eq!(mode(folder), 0o700, "{folder:?}");
    }
    for file in ["manifest.json", "trace.jsonl", "payloads/1.json"] {
        assert_eq!(mode(&bundle.join(file)), 0o600, "{file}");
    }
}

#[test]
fn an_unusable_root_is_an_error() {
    let root = tempfile::NamedTempFile::new().unwrap();
    assert!(Recorder::start(root.path(), &"t".into()).is_err());
}

#[test]
fn an_off_recorder_asks_for_nothing() {
    let recorder = Recorder::off();
    recorder.record(None, 0, |_| panic!("asked"));
    assert!(recorder.flush(Duration::ZERO));
    assert!(!recorder.is_on());
}

#[test]
fn a_failing_disk_leaves_a_noted_gap() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    assert!(session.recorder.flush(TEST_TIMEOUT));
    let bundle = bundle_in(root.path());
    let payloads = bundle.join("payloads");
    let aside = bundle.join("aside");
    fs::rename(&payloads, &aside).unwrap();
    session.request("i1", json!({"input": []}));
    session.respond("i1", json!([]));
    assert!(session.recorder.flush(TEST_TIMEOUT));
    fs::rename(&aside, &payloads).unwrap();
    session.request("i2", json!({"input": [message("user", "hi")]}));
    session.end();

    // Strict replay, and with it the reference, takes what is there.
    let strict = replay_bundle_with(&bundle, Strictness::Strict).unwrap();
    let calls: Vec<&InferenceId> = strict.trace.inference_calls.keys().collect();
    assert_eq!(calls, [&"i2".into()]);
    let lenient = replay_bundle(&bundle).unwrap();
    let is_note = |fault: &Fault| matches!(fault, Fault::NotedGap(_));
    let mut problems = lenient.problems.listed().iter();
    assert!(problems.any(|problem| is_note(&problem.fault)));
    assert!(lenient.problems.is_damaged());
}

/// A payload that takes as long to serialise as a test wants.
struct Stalled(Arc<Mutex<Receiver<()>>>);

impl Stalled {
    fn new() -> (Sender<()>, Self) {
        let (release, wait) = channel();
        (release, Self(Arc::new(Mutex::new(wait))))
    }
}

impl Serialize for Stalled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Released, or its sender gone.
        let _ = self.0.lock().recv();
        json!({"input": []}).serialize(serializer)
    }
}

#[test]
fn a_full_queue_loses_events_and_never_blocks() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    let (release, stalled) = Stalled::new();
    session.request("slow", stalled);
    // Without payloads: what waits is to be written quickly.
    for number in 0..5_000 {
        let thread_id = session.thread.clone();
        session.record(move |_| Event::CodexTurnStarted {
            codex_turn_id: format!("other-{number}").into(),
            thread_id,
        });
    }
    session.request("too many", json!({"input": []}));
    assert!(!session.recorder.flush(Duration::ZERO));
    drop(release);
    assert!(session.recorder.flush(TEST_TIMEOUT));
    // The start was lost, so the end must not come.
    session.respond("too many", json!([]));
    session.request("last", json!({"input": []}));
    session.end();

    let bundle = bundle_in(root.path());
    let strict = replay_bundle_with(&bundle, Strictness::Strict).unwrap();
    assert!(strict.trace.inference_calls.contains_key("last"));
    assert!(!strict.trace.inference_calls.contains_key("too many"));
    assert!(replay_bundle(&bundle).unwrap().problems.is_damaged());
}

#[test]
fn a_panic_in_a_payload_costs_that_payload() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("a payload panics, as this test wants");
        }
    }
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    session.request("i1", Panics);
    session.request("i2", json!({"input": []}));
    session.end();
    let reduction = replay_bundle(bundle_in(root.path())).unwrap();
    assert!(!reduction.trace.inference_calls.contains_key("i1"));
    assert!(reduction.trace.inference_calls.contains_key("i2"));
}

#[test]
fn threads_share_a_bundle() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    let children: Vec<_> = (0..8)
        .map(|child| {
            let recorder = session.recorder.clone();
            std::thread::spawn(move || {
                let thread = ThreadId::from(format!("child-{child}"));
                let thread_id = thread.clone();
                recorder.record(None, 0, move |_| Event::ThreadStarted {
                    thread_id,
                    agent_path: format!("/root/child_{child}"),
                    metadata_payload: None,
                });
                for turn in 0..50 {
                    let turn = TurnId::from(format!("turn-{child}-{turn}"));
                    let scope = Scope {
                        thread_id: thread.clone(),
                        codex_turn_id: turn.clone(),
                    };
                    let thread_id = thread.clone();
                    recorder.record(Some(&scope), 0, |_| Event::CodexTurnStarted {
                        codex_turn_id: turn,
                        thread_id,
                    });
                }
                let status = RolloutStatus::Completed;
                recorder.record(None, 0, move |_| Event::ThreadEnded {
                    thread_id: thread,
                    status,
                });
            })
        })
        .collect();
    for child in children {
        child.join().unwrap();
    }
    session.start_turn();
    session.end();
    let reduction = replay_bundle_with(bundle_in(root.path()), Strictness::Strict).unwrap();
    assert_eq!(reduction.problems.total(), 0, "{:?}", reduction.problems);
    assert_eq!(reduction.trace.threads.len(), 9);
    assert_eq!(reduction.trace.codex_turns.len(), 401);
}
