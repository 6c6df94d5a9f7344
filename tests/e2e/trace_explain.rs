//! `codex debug trace-explain`: a planted fault is found with its reason, and a good session is left alone.

use std::fs;
use std::path::Path;

use codex_test_support::sse;
use serde_json::{Value, json};

use crate::codex;
use crate::trace_record::{Traced, response, says};
use crate::trace_replay::recorded;

fn findings(bundle: &Path) -> Vec<Value> {
    let output = codex(&["debug", "trace-explain", "--json", bundle.to_str().unwrap()]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let status = i32::from(!found.is_empty());
    assert_eq!(output.status.code(), Some(status), "{printed}");
    found
}

/// The findings of a session with these calls and this last answer.
async fn session(params: Value, calls: &[Value], answer: &str) -> Vec<Value> {
    let mut replies: Vec<Vec<Value>> = (calls.iter().enumerate())
        .map(|(number, arguments)| {
            let call = format!("c{number}");
            response(&[sse::function_call(&call, "exec_command", arguments)])
        })
        .collect();
    replies.push(response(&[says(answer)]));
    let mut traced = Traced::start(&replies).await;
    let thread = traced.server.start_thread_with(params).await;
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    findings(&bundles[&thread].0)
}

#[track_caller]
fn check(found: &[Value], kind: &str, call: &str, why: &str) {
    let finding = found.iter().find(|finding| finding["kind"] == kind);
    let finding = finding.unwrap_or_else(|| panic!("no {kind}: {found:?}"));
    assert_eq!(finding["object"], call, "{finding}");
    let reason = finding["why"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
}

#[test]
fn good_sessions_are_left_alone() {
    for scenario in [
        "approve-patch.toml",
        "ask-for-more.toml",
        "ask-the-person.toml",
        "hello.toml",
        "parallel-commands.toml",
        "tour.toml",
    ] {
        let (bundle, _folder) = recorded(scenario);
        assert_eq!(findings(&bundle), Vec::<Value>::new(), "{scenario}");
    }
}

#[tokio::test]
async fn command_in_a_folder_that_nobody_named_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("old-copy");
    fs::create_dir(&copy).unwrap();
    let calls = [
        json!({ "cmd": "true" }),
        json!({ "cmd": "true", "workdir": copy }),
    ];
    let found = session(json!({ "cwd": folder.path() }), &calls, "Done.").await;
    check(&found, "other_folder", "c1", "it ran in old-copy");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[tokio::test]
async fn line_that_the_model_did_not_see_is_found() {
    let script = "seq 1 3000; echo 'WARNING: only half of the rows were imported'; seq 1 3000";
    let calls = [json!({ "cmd": script, "max_output_tokens": 200 })];
    let found = session(json!({}), &calls, "Done.").await;
    check(&found, "output_cut", "c0", "only half of the rows");
}

#[tokio::test]
async fn refusal_of_the_sandbox_is_found_whatever_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let params = json!({ "cwd": folder.path(), "sandbox": "read-only" });
    let calls = [json!({ "cmd": "touch new.txt || true" })];
    let found = session(params, &calls, "The disk is full.").await;
    check(&found, "sandbox_denial", "c0", "touch");
}

#[tokio::test]
async fn claims_after_a_failure_and_loops_are_found() {
    let test = json!({ "cmd": "echo '2 failed'; exit 1" });
    let found = session(json!({}), &[test], "All tests pass.").await;
    check(&found, "claim_after_failure", "c0", "All tests pass");
    let look = json!({ "cmd": "echo waiting" });
    let found = session(json!({}), &vec![look; 4], "Done.").await;
    check(&found, "loop", "c0", "4 times");
}
