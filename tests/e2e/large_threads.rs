//! Large threads, whose turns are stored as JSON beside them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use codex_test_support::AppServer;
use serde_json::{Value, json};

use crate::escapes::wait_until;
use crate::setup::{experimental_server, scripted_home};
use crate::stored_threads::model;

const THREAD: &str = "0195f0a0-7b1c-7000-8000-0000000000a0";
const TURNS: usize = 6;

/// A rollout over the size from which turns are stored.
fn write_rollout(home: &Path) {
    let mut lines = String::new();
    let mut line = |kind: &str, payload: Value| {
        let time = "2026-03-01T10:00:00.000Z";
        writeln!(
            lines,
            r#"{{"timestamp":"{time}","type":"{kind}","payload":{payload}}}"#
        )
        .unwrap();
    };
    let meta = json!({ "id": THREAD, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/",
        "originator": "o", "cli_version": "0.117.0", "source": "vscode", "model_provider": "mock" });
    line("session_meta", meta);
    for number in 0..TURNS {
        let turn = format!("turn-{number}");
        let begin =
            json!({ "type": "task_started", "turn_id": turn, "model_context_window": null });
        line("event_msg", begin);
        let text = format!("question {number}");
        let said = json!({ "type": "user_message", "message": text, "images": [] });
        line("event_msg", said);
        let answer = json!({ "type": "agent_message", "message": "answer ".repeat(130_000) });
        line("event_msg", answer);
        let end = json!({ "type": "task_complete", "turn_id": turn, "last_agent_message": null });
        line("event_msg", end);
    }
    let folder = home.join("sessions/2026/03/01");
    fs::create_dir_all(&folder).unwrap();
    let name = format!("rollout-2026-03-01T10-00-00-{THREAD}.jsonl");
    fs::write(folder.join(name), lines).unwrap();
}

async fn turns(server: &mut AppServer, method: &str) -> Vec<Value> {
    let params = json!({ "threadId": THREAD, "includeTurns": true });
    let reply = server.result(method, params).await;
    reply["thread"]["turns"].as_array().unwrap().clone()
}

#[tokio::test]
async fn turns_that_are_stored_are_those_of_the_rollout() {
    let model = model().await;
    let home = scripted_home(&model, "");
    write_rollout(home.path());
    let mut server = experimental_server(&home).await;
    let made = turns(&mut server, "thread/read").await;
    assert_eq!(made.len(), TURNS);
    let folder = home.path().join("turns");
    let stored = || {
        let entries = fs::read_dir(&folder).ok()?;
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|it| it == "turns"))
    };
    wait_until("the turns are stored", || stored().is_some());
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    assert_eq!(turns(&mut server, "thread/read").await, made);
    assert_eq!(turns(&mut server, "thread/resume").await, made);
    server.run_turn(THREAD, "one more").await;
    let more = turns(&mut server, "thread/read").await;
    assert_eq!((&more[..TURNS], more.len()), (&made[..], TURNS + 1));
    assert_eq!(more[TURNS]["items"][0]["content"][0]["text"], "one more");
    server.finish().await.unwrap();

    // They may be deleted at any time.
    fs::remove_dir_all(&folder).unwrap();
    let mut server = experimental_server(&home).await;
    assert_eq!(turns(&mut server, "thread/read").await, more);
    wait_until("the turns are stored again", || stored().is_some());
    let deleted = json!({ "threadId": THREAD });
    server.result("thread/delete", deleted).await;
    assert_eq!(stored(), None);
    server.finish().await.unwrap();
}
