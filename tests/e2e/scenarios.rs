//! `codex app-server --scenario`: every ready scenario, played through the built server to its end.

use std::fs;

use crate::session::{Session, ready_scenario};
use crate::{codex, repository};

/// A test for each scenario, with its transcript in `snapshots`.
macro_rules! play {
    ($($name:ident),* $(,)?) => {
        const PLAYED_SCENARIOS: &[&str] = &[$(stringify!($name)),*];

        $(#[tokio::test]
        async fn $name() {
            let scenario = stringify!($name).replace('_', "-");
            insta::assert_snapshot!(Session::play(&scenario).await);
        })*
    };
}

play! {
    approve_command,
    approve_patch,
    ask_for_more,
    ask_the_person,
    chat,
    context_full,
    cut_stream,
    decline_command,
    failing_command,
    hello,
    long_output,
    plan,
    rate_limited,
    realtime,
    reasoning,
    server_error,
    stall,
    tour,
    usage_limit,
    websocket,
}

#[tokio::test]
async fn parallel_commands() {
    // Which of them starts or ends first is a matter of chance.
    let mut session = Session::start(&ready_scenario("parallel-commands")).await;
    let turn = session.server.run_turn(&session.thread, "go").await;
    let mut items: Vec<_> = turn["items"].as_array().unwrap().iter().collect();
    items.retain(|item| item["type"] == "commandExecution");
    assert_eq!(items.len(), 2, "{turn}");
    assert!(items.iter().all(|item| item["exitCode"] == 0), "{turn}");
}

#[tokio::test]
async fn an_approval_that_is_cancelled_ends_its_turn() {
    let scenario = r#"
        description = "A command that nobody wants."
        settings = { approval_policy = "untrusted" }
        replies = [{ steps = [{ command = "touch made" }] }]

        [session]
        prompts = ["Make it."]
        answers = ["cancel"]
    "#;
    insta::assert_snapshot!(Session::play_text(scenario).await);
}

#[test]
fn every_ready_scenario_is_played_here() {
    for file in fs::read_dir(repository().join("scenarios")).unwrap() {
        let path = file.unwrap().path();
        let name = path
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .replace('-', "_");
        let others = ["parallel_commands", "slow_answer", "README"];
        let is_played = PLAYED_SCENARIOS.contains(&&*name) || others.contains(&&*name);
        assert!(is_played, "{name} is not played");
    }
}

#[test]
fn scenario_mistake_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.toml");
    fs::write(
        &path,
        "description = \"d\"\n[[replies]]\nsteps = [{ mesage = \"a\" }]\n",
    )
    .unwrap();
    let output = codex(&["app-server", "--scenario", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    for part in ["wrong.toml", "line 3", "mesage"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}
