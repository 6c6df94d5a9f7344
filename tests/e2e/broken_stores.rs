//! Home folders that are full, closed or littered: an error says what is wrong, and threads that are
//! whole are not harmed.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use codex_test_support::{AppServer, write_executable};
use serde_json::{Value, json};

use crate::setup::{PROGRAM, experimental_server, scripted_home};
use crate::stored_threads::{model, thread};

/// Nobody in particular.
const NOBODY_ID: u32 = 65534;

const DAY: &str = "sessions/2026/03/01";

fn id(number: u32) -> String {
    format!("0195f0a0-7b1c-7000-8000-{number:012x}")
}

/// Writes the file of a thread of one message, or what is said to stand in it.
fn stored(home: &Path, number: u32, content: Option<&[u8]>) -> PathBuf {
    let folder = home.join(DAY);
    fs::create_dir_all(&folder).unwrap();
    let id = id(number);
    let path = folder.join(format!("rollout-2026-03-01T10-00-{number:02}-{id}.jsonl"));
    let at = "2026-03-01T10:00:00.000Z";
    let meta = json!({ "id": id, "timestamp": at, "cwd": "/", "originator": "test",
        "cli_version": "1", "source": "vscode", "model_provider": "scripted" });
    let said = json!({ "type": "user_message", "message": format!("thread {number}") });
    let line = |kind: &str, payload: &Value| {
        format!("{{\"timestamp\":\"{at}\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    let whole = line("session_meta", &meta) + &line("event_msg", &said);
    fs::write(&path, content.unwrap_or(whole.as_bytes())).unwrap();
    path
}

async fn listed(server: &mut AppServer) -> Vec<String> {
    let page = server.result("thread/list", json!({})).await;
    let threads = page["data"].as_array().unwrap();
    let preview = |thread: &Value| thread["preview"].as_str().unwrap().to_owned();
    threads.iter().map(preview).collect()
}

fn with_turns(number: u32) -> Value {
    json!({ "threadId": id(number), "includeTurns": true })
}

#[tokio::test]
async fn files_without_a_thread_are_left_out_and_refused() {
    let model = model().await;
    let home = scripted_home(&model, "");
    stored(home.path(), 1, None);
    stored(home.path(), 2, Some(b""));
    let garbage: Vec<u8> = (0..200_000_u32)
        .map(|n| (n.wrapping_mul(n) % 251) as u8)
        .collect();
    stored(home.path(), 3, Some(&garbage));
    let sparse = stored(home.path(), 4, Some(b""));
    File::options()
        .write(true)
        .open(&sparse)
        .unwrap()
        .set_len(1 << 29)
        .unwrap();
    // The same behind a head that can be read.
    let long = stored(home.path(), 5, None);
    let file = File::options().write(true).open(&long).unwrap();
    file.set_len(1 << 29).unwrap();
    fs::create_dir(
        home.path()
            .join(DAY)
            .join(format!("rollout-2026-03-01T10-00-06-{}.jsonl", id(6))),
    )
    .unwrap();

    let mut server = experimental_server(&home).await;
    assert_eq!(listed(&mut server).await, ["thread 5", "thread 1"]);
    for number in [2, 3, 4, 6] {
        server.refusal("thread/read", with_turns(number)).await;
        let resumed = json!({ "threadId": id(number) });
        server.refusal("thread/resume", resumed).await;
    }
    for number in [1, 5] {
        let read = server.result("thread/read", with_turns(number)).await;
        assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    }
    let resumed = json!({ "threadId": id(1) });
    server.result("thread/resume", resumed).await;
    server.run_turn(&id(1), "and on").await;
    let read = server.result("thread/read", with_turns(1)).await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 2);
    server.finish().await.unwrap();
}

/// A disk that is full, as the limit on the size of files shows it: writing fails, nothing else does.
#[tokio::test]
async fn full_disk_is_reported_and_saved_data_is_kept() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let program = home.path().join("limited");
    let script = format!(
        "#!/bin/sh\nulimit -f 200\ntrap '' XFSZ\nexec {} \"$@\"\n",
        PROGRAM
    );
    write_executable(&program, script).unwrap();
    let mut server = AppServer::start(program.to_str().unwrap(), home.path()).unwrap();
    server.initialize_experimental().await;
    let kept = thread(&mut server, "kept").await;
    let cut = thread(&mut server, "before").await;
    let long = "x".repeat(300_000);
    server.start_turn(&cut, &long).await;
    let warning = server.wait_for("warning").await.unwrap();
    let message = warning["params"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("could not be saved"), "{message}");
    server.wait_for("turn/completed").await.unwrap();
    server.run_turn(&kept, "still fine").await;
    server.kill().await.unwrap();

    let mut server = experimental_server(&home).await;
    for (thread, turns) in [(&kept, 2), (&cut, 1)] {
        let params = json!({ "threadId": thread, "includeTurns": true });
        let read = server.result("thread/read", params).await;
        let shown = read["thread"]["turns"].as_array().unwrap();
        let whole = shown.iter().filter(|turn| turn["status"] == "completed");
        assert_eq!(whole.count(), turns, "{read:#?}");
        server
            .result("thread/resume", json!({ "threadId": thread }))
            .await;
        server.run_turn(thread, "and on").await;
    }
    server.finish().await.unwrap();
}

/// Gives a home folder to another user, if this one may; answers whether it did.
fn give_away(home: &Path) -> bool {
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        if chown(&folder, Some(NOBODY_ID), None).is_err() {
            return false;
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path()));
    }
    true
}

async fn server_of_another_user(home: &Path) -> AppServer {
    let mut server = AppServer::start_as(PROGRAM, home, NOBODY_ID).unwrap();
    server.initialize_experimental().await;
    server
}

#[tokio::test]
async fn a_file_of_another_user_harms_no_other_thread() {
    let model = model().await;
    let home = scripted_home(&model, "");
    stored(home.path(), 1, None);
    let closed = stored(home.path(), 2, None);
    // Whoever may do everything has to be somebody else to be shut out.
    let is_given_away = give_away(home.path());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
    let mut server = if is_given_away {
        chown(&closed, Some(0), None).unwrap();
        server_of_another_user(home.path()).await
    } else {
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        experimental_server(&home).await
    };
    assert_eq!(listed(&mut server).await, ["thread 1"]);
    server.refusal("thread/read", with_turns(2)).await;
    let resumed = json!({ "threadId": id(2) });
    let message = server.refusal("thread/resume", resumed).await.1;
    assert!(message.contains("ermission denied"), "{message}");
    server
        .result("thread/resume", json!({ "threadId": id(1) }))
        .await;
    server.run_turn(&id(1), "and on").await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn read_only_home_can_be_read() {
    let model = model().await;
    let home = scripted_home(&model, "");
    stored(home.path(), 1, None);
    let mode = |mode| fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
    let is_given_away = give_away(home.path());
    mode(0o555);
    let mut server = if is_given_away {
        server_of_another_user(home.path()).await
    } else {
        experimental_server(&home).await
    };
    assert_eq!(listed(&mut server).await, ["thread 1"]);
    let read = server.result("thread/read", with_turns(1)).await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    server.finish().await.unwrap();
    mode(0o755);
}
