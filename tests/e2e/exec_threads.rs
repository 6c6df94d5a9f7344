//! `codex exec`: reviews, threads by name, and what the threads are stored as.

use std::fs;
use std::process::Output;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::exec::{ExecFolders, events, kinds, scenario};
use crate::git::git;
use crate::setup::server;
use crate::stdout_of;

async fn run(place: &ExecFolders, arguments: &[&str]) -> Output {
    let mut command = place.command(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}

/// The first line of each stored thread, the oldest first.
fn beginnings(place: &ExecFolders) -> Vec<Value> {
    let mut paths = place.rollouts();
    paths.sort();
    let first = |path| {
        fs::read_to_string(path)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let lines = paths.into_iter().map(first);
    lines
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["payload"].clone())
        .collect()
}

#[test]
fn threads_are_stored_as_those_of_exec() {
    let place = ExecFolders::new();
    stdout_of(&place.exec(&["--scenario", &scenario("hello.toml"), "hi"]));
    let beginnings = beginnings(&place);
    assert_eq!(beginnings[0]["source"], "exec");
    assert_eq!(beginnings[0]["originator"], "codex_exec");
}

#[tokio::test]
async fn a_review_ends_with_its_findings() {
    let finding = json!({
        "findings": [{
            "title": "Off by one", "body": "It skips the last.", "confidence_score": 0.9, "priority": 1,
            "code_location": { "absolute_file_path": "/x.rs", "line_range": { "start": 1, "end": 2 } },
        }],
        "overall_correctness": "patch is incorrect",
        "overall_explanation": "One thing to mend.",
        "overall_confidence_score": 0.8,
    });
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text(&finding.to_string())));
    let place = ExecFolders::with_model(&model);
    let folder = place.work.path();
    git(folder, &["init", "-q", "-b", "main"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let commit = git(folder, &["rev-parse", "HEAD"]);

    let output = run(&place, &["review", "--uncommitted"]).await;
    let text = stdout_of(&output);
    assert!(text.starts_with("One thing to mend."), "{text}");
    assert!(text.contains("Off by one"), "{text}");
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(progress.contains("Review  current changes"), "{progress}");
    let output = run(&place, &["review", "--json", "--base", "main"]).await;
    let events = events(&output);
    let expected = [
        "thread.started",
        "turn.started",
        "item.completed",
        "turn.completed",
    ];
    assert_eq!(kinds(&events), expected);
    assert_eq!(events[2]["item"]["type"], "agent_message");
    stdout_of(
        &run(
            &place,
            &["review", "--commit", &commit, "--title", "The first"],
        )
        .await,
    );
    stdout_of(&run(&place, &["review", "Look at the arithmetic."]).await);

    let asked = model.requests();
    let asked: Vec<_> = asked
        .iter()
        .map(|request| request.json()["input"].to_string())
        .collect();
    for (asked, part) in asked.iter().zip([
        "not committed: staged",
        &commit,
        "The first",
        "Look at the arithmetic.",
    ]) {
        assert!(asked.contains(part), "{part} is not in: {asked}");
    }
    assert_eq!(beginnings(&place).len(), 4);
}

#[test]
fn a_review_needs_one_thing_to_look_at() {
    let place = ExecFolders::new();
    for wrong in [
        &["review"][..],
        &["review", "--uncommitted", "--base", "main"],
    ] {
        assert_eq!(place.exec(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let schema = ["review", "--uncommitted", "--output-schema", "/no/such"];
    let output = place.exec(&schema);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("leave them out"), "{message}");
}

#[tokio::test]
async fn a_thread_is_resumed_by_its_name() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("An answer.")));
    let place = ExecFolders::with_model(&model);
    let first = run(&place, &["--json", "the first thing"]).await;
    let thread = events(&first)[0]["thread_id"].as_str().unwrap().to_owned();
    run(&place, &["something else"]).await;
    name(&place, &thread, "the plumbing").await;

    let again = run(&place, &["resume", "the plumbing", "the second thing"]).await;
    assert_eq!(stdout_of(&again), "An answer.\n");
    let asked = model.requests().last().unwrap().json()["input"].to_string();
    assert!(asked.contains("the first thing"), "{asked}");
    assert!(!asked.contains("something else"), "{asked}");
    let unknown = run(&place, &["resume", "the wiring", "x"]).await;
    assert_eq!(unknown.status.code(), Some(1));
    let message = String::from_utf8(unknown.stderr).unwrap();
    assert!(message.contains("`the wiring`"), "{message}");
    assert!(message.contains("resume --last"), "{message}");
}

async fn name(place: &ExecFolders, thread: &str, name: &str) {
    let mut server = server(place.home.path()).await;
    let params = json!({ "threadId": thread, "name": name });
    let reply = server.call("thread/name/set", params).await.unwrap();
    assert!(reply.get("error").is_none(), "{reply}");
    server.finish().await.unwrap();
}
