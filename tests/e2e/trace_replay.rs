//! `codex debug trace-replay`: what was recorded happens again, and the first request that differs is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use codex_test_support::sse;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::trace_record::{TraceBundle, Traced, response};
use crate::trace_reduce::unpack;
use crate::{codex, repository};

fn replay(bundle: &Path, more: &[&str]) -> Output {
    codex(&[&["debug", "trace-replay", bundle.to_str().unwrap()], more].concat())
}

#[track_caller]
fn check(output: &Output, status: i32, parts: &[&str]) {
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{printed}");
    for part in parts {
        assert!(printed.contains(part), "{part:?} is not in\n{printed}");
    }
}

/// Plays a ready scenario. Returns its bundle, and its folder without the files of the session.
fn recorded(scenario: &str) -> (PathBuf, TempDir) {
    recorded_file(&repository().join("scenarios").join(scenario))
}

fn recorded_file(script: &Path) -> (PathBuf, TempDir) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("demo");
    let [script, path] = [script, &folder].map(|path| path.to_str().unwrap());
    codex(&["demo", "--script", script, "--auto", "--folder", path]);
    let mut bundles = fs::read_dir(folder.join("traces")).unwrap();
    let bundle = temporary.path().join("bundle");
    fs::rename(bundles.next().unwrap().unwrap().path(), &bundle).unwrap();
    fs::remove_dir_all(folder).unwrap();
    (bundle, temporary)
}

#[test]
fn ready_scenarios_replay_without_their_files() {
    for scenario in [
        "approve-patch.toml",
        "ask-for-more.toml",
        "ask-the-person.toml",
        "context-full.toml",
        "cut-stream.toml",
        "decline-command.toml",
        "failing-command.toml",
        "parallel-commands.toml",
        "rate-limited.toml",
        "server-error.toml",
        "stall.toml",
        "tour.toml",
        "usage-limit.toml",
    ] {
        let (bundle, _folder) = recorded(scenario);
        let output = replay(&bundle, &[]);
        println!("{scenario}");
        check(&output, 0, &[": same, "]);
    }
}

#[test]
fn a_changed_sentence_is_found_in_the_first_request() {
    let (bundle, _folder) = recorded("tour.toml");
    let changed = "developer_instructions=\"Answer in one sentence.\"";
    let output = replay(&bundle, &["-c", changed]);
    check(
        &output,
        1,
        &["/root, turn 1, request 1: ", "Answer in one sentence."],
    );
    // Changing the recording is the same, and damage besides.
    let requests = fs::read_dir(bundle.join("payloads")).unwrap();
    for file in requests.map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(
            file,
            text.replace("The sandbox mode is", "The sandbox mode was"),
        )
        .unwrap();
    }
    let output = replay(&bundle, &[]);
    let expected = [
        "request 1: ",
        "-The sandbox mode was",
        "+The sandbox mode is",
    ];
    check(&output, 1, &expected);
}

#[test]
fn a_bundle_without_settings_and_inputs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = replay(&unpack(folder.path()), &[]);
    check(
        &output,
        4,
        &["cannot be replayed: ", "neither settings nor inputs"],
    );
    let output = replay(Path::new("/no/such/bundle"), &[]);
    check(&output, 2, &["/no/such/bundle"]);
}

#[test]
fn damage_is_told_and_never_waited_for() {
    let (bundle, _folder) = recorded("tour.toml");
    let log = fs::read_to_string(bundle.join("trace.jsonl")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let torn = [&lines[..lines.len() - 3], &["{\"torn"]]
        .concat()
        .join("\n");
    fs::write(bundle.join("trace.jsonl"), torn).unwrap();
    check(&replay(&bundle, &[]), 3, &["as far as it goes"]);
    let response = lines
        .iter()
        .find(|line| line.contains("inference_completed"));
    let response: Value = serde_json::from_str(response.unwrap()).unwrap();
    let payload = response["payload"]["response_payload"]["path"].as_str();
    fs::write(bundle.join(payload.unwrap()), "{\"output").unwrap();
    check(&replay(&bundle, &[]), 1, &["stopped: "]);
}

/// A server, and the replies of its model to a root thread and its agent.
async fn traced(replies: &[Vec<Value>]) -> (Traced, String) {
    let mut traced = Traced::start(replies).await;
    let thread = traced.thread().await;
    (traced, thread)
}

async fn bundle_of(traced: Traced, thread: &str) -> (TraceBundle, TempDir) {
    let (mut bundles, home) = traced.finish().await;
    (bundles.remove(thread).unwrap(), home)
}

#[tokio::test]
async fn an_interrupted_tool_is_interrupted_again() {
    let call = sse::function_call("c1", "exec_command", &json!({ "cmd": "sleep 60" }));
    let (mut traced, thread) = traced(&[response(&[call])]).await;
    let turn = traced.begin(&thread).await;
    let is_command = |item: &Value| item["params"]["item"]["type"] == "commandExecution";
    while !is_command(&traced.server.wait_for("item/started").await.unwrap()) {}
    let params = json!({ "threadId": thread, "turnId": turn });
    traced.server.call("turn/interrupt", params).await.unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced.turn(&thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
    let first = replay(&bundle.0, &["--until", "1"]);
    check(&first, 0, &["same, 1 requests"]);
    check(
        &replay(&bundle.0, &["--until", "9"]),
        2,
        &["no end of turn 9"],
    );
}

#[test]
fn many_turns_replay_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("chat.toml");
    let prompts = vec!["Go on."; 300];
    let text = format!(
        "description = \"A long session.\"\nrestart = true\n[session]\nprompts = {prompts:?}\n\
         [[replies]]\nsteps = [{{ message = \"Gone on.\" }}]\n"
    );
    fs::write(&script, text).unwrap();
    let (bundle, _folder) = recorded_file(&script);
    let started = Instant::now();
    check(&replay(&bundle, &[]), 0, &["same, 300 requests"]);
    let took = started.elapsed();
    // A debug build on a busy machine.
    assert!(took < Duration::from_secs(20), "{took:?}");
}
