//! Homes written by newer programs: threads that are stored by reference to others, threads that were taken
//! back to an earlier turn, turns that failed.

use std::fs;
use std::path::Path;

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::newer_requests::texts_of;
use crate::setup::{experimental_server, scripted_home};
use crate::stored_threads::{model, paged_through};

/// A thread that was taken back twice.
const REVERTED_THREAD: &str = "01a205a8-d9a6-7952-a2e9-9dba196288ee";
/// A fork of what it was at first, and one of that.
const FORK: &str = "01a205a8-db63-7413-9319-65f701c2d014";
const FORK_OF_FORK: &str = "01a205a8-dc09-7562-a184-33146f08df08";
/// A fork of what it was in the end.
const FORK_OF_REVERTED: &str = "01a205a8-de90-7ed0-977f-4f5ac374e95e";
const FAILED_THREAD: &str = "01a205a8-df7c-77b2-a106-feba9d952f0f";

/// What was said in each turn, by the user and by the model.
const THREADS: [(&str, &[[&str; 2]]); 4] = [
    (
        REVERTED_THREAD,
        &[["first", "one"], ["instead of second", "seven"]],
    ),
    (
        FORK,
        &[["first", "one"], ["second", "two"], ["forked", "four"]],
    ),
    (
        FORK_OF_FORK,
        &[
            ["first", "one"],
            ["second", "two"],
            ["forked", "four"],
            ["forked again", "five"],
        ],
    ),
    (
        FORK_OF_REVERTED,
        &[
            ["first", "one"],
            ["instead of second", "seven"],
            ["fork of reverted", "eight"],
        ],
    ),
];

fn newer_home(model: &ModelServer) -> TempDir {
    let home = scripted_home(model, "");
    let folder = home.path().join("sessions/2026/11/22");
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(crate::repository().join("tests/rollouts/newer")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    home
}

/// What was said in turns, by the user and by the model.
fn turn_texts(turns: &[Value]) -> Vec<[&str; 2]> {
    turns
        .iter()
        .map(|turn| {
            let items = turn["items"].as_array().unwrap();
            let find = |kind: &str| items.iter().find(|item| item["type"] == kind).unwrap();
            let user = find("userMessage")["content"][0]["text"].as_str();
            let model = find("agentMessage")["text"].as_str();
            [user.unwrap(), model.unwrap()]
        })
        .collect()
}

fn turns(thread: &Value) -> &[Value] {
    thread["turns"].as_array().unwrap()
}

async fn read(server: &mut AppServer, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "includeTurns": true });
    server.result("thread/read", params).await["thread"].clone()
}

#[tokio::test]
async fn threads_by_reference_have_their_whole_history() {
    let model = model().await;
    let home = newer_home(&model);
    let mut server = experimental_server(&home).await;
    let page = server
        .result("thread/list", json!({ "modelProviders": [] }))
        .await;
    let listed = page["data"].as_array().unwrap();
    assert_eq!(listed.len(), 5);
    let mut requests = 0;
    for (thread, expected) in THREADS {
        let row = listed.iter().find(|row| row["id"] == thread).unwrap();
        assert_eq!(row["preview"], "first", "{thread}");
        let thread_read = read(&mut server, thread).await;
        assert_eq!(turn_texts(turns(&thread_read)), expected);
        assert_eq!(thread_read["id"], thread);
        assert_eq!(thread_read["path"], row["path"]);
        for direction in ["asc", "desc"] {
            let paged = paged_through(&mut server, thread, direction).await;
            assert_eq!(turn_texts(&paged), expected, "{direction}");
        }
        let items = json!({ "threadId": thread, "limit": 100 });
        let items = server.result("thread/items/list", items).await;
        assert_eq!(items["data"].as_array().unwrap().len(), 2 * expected.len());

        let fork = server
            .result("thread/fork", json!({ "threadId": thread }))
            .await;
        assert_eq!(
            turn_texts(turns(&fork["thread"])),
            expected,
            "a fork of ours"
        );
        let fork = fork["thread"]["id"].as_str().unwrap().to_owned();
        assert_eq!(turn_texts(turns(&read(&mut server, &fork).await)), expected);
        let resumed = server
            .result("thread/resume", json!({ "threadId": thread }))
            .await;
        assert_eq!(turn_texts(turns(&resumed["thread"])), expected);
        for thread in [thread, &fork] {
            server.run_turn(thread, "and on").await;
            let seen = model.request(requests).await.json();
            requests += 1;
            let mut words: Vec<&str> = expected.iter().map(|[user, _]| *user).collect();
            words.push("and on");
            let mut seen = texts_of(&seen, "user");
            seen.retain(|text| !text.starts_with('<'));
            assert_eq!(seen, words, "what the model is sent");
            let whole = read(&mut server, thread).await;
            assert_eq!(turn_texts(&turns(&whole)[..expected.len()]), expected);
            assert_eq!(turns(&whole).len(), expected.len() + 1);
        }
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_failed_is_shown_as_such() {
    let model = model().await;
    let home = newer_home(&model);
    let mut server = experimental_server(&home).await;
    let thread = read(&mut server, FAILED_THREAD).await;
    let turn = &turns(&thread)[0];
    assert_eq!(turn["status"], "failed");
    let expected = "{\"error\":{\"message\":\"bad thing\"}}";
    assert_eq!(turn["error"]["message"], expected);
    assert_eq!(turn["error"]["codexErrorInfo"], "other");
    let paged = paged_through(&mut server, FAILED_THREAD, "asc").await;
    assert_eq!(paged[0]["status"], "failed");
    server.finish().await.unwrap();
}

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().contains(REVERTED_THREAD))
        .count()
}

#[tokio::test]
async fn thread_files_are_moved_together() {
    let model = model().await;
    let home = newer_home(&model);
    let mut server = experimental_server(&home).await;
    let (day, archive) = (
        home.path().join("sessions/2026/11/22"),
        home.path().join("archived_sessions"),
    );
    let expected = THREADS[0].1;
    let params = json!({ "threadId": REVERTED_THREAD });
    server.result("thread/archive", params.clone()).await;
    assert_eq!((files(&day), files(&archive)), (0, 3));
    assert_eq!(
        turn_texts(turns(&read(&mut server, REVERTED_THREAD).await)),
        expected
    );
    // What goes on from it finds it there.
    let fork = read(&mut server, FORK).await;
    assert_eq!(turn_texts(turns(&fork)), THREADS[1].1);
    server.result("thread/unarchive", params.clone()).await;
    assert_eq!((files(&day), files(&archive)), (3, 0));
    assert_eq!(
        turn_texts(turns(&read(&mut server, REVERTED_THREAD).await)),
        expected
    );
    server.result("thread/delete", params).await;
    assert_eq!((files(&day), files(&archive)), (0, 0));
    let page = server
        .result("thread/list", json!({ "modelProviders": [] }))
        .await;
    assert_eq!(page["data"].as_array().unwrap().len(), 4);
    server.finish().await.unwrap();
}
