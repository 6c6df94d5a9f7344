//! Threads on disk through the built server: lists, names, the archive, two processes, crashes.

use std::fs;
use std::path::Path;

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use codex_thread_store::{IndexState, ThreadStore, inspect, read_record};
use serde_json::{Value, json};

use crate::git::git;
use crate::setup::{experimental_server, scripted_home};

/// How often the server is killed; `CODEX_CRASHES` says otherwise.
const CRASHES: usize = 6;

/// The most turns of a test.
const TURNS: usize = 1000;

/// Answers every turn with a message of its own.
pub(crate) async fn model() -> ModelServer {
    let answer = |number| {
        let template = json!(sse::text("done")).to_string();
        let numbered = template.replace("\"msg\"", &format!("\"msg-{number}\""));
        let events: Vec<Value> = serde_json::from_str(&numbered).unwrap();
        HttpReply::stream(&events)
    };
    ModelServer::start((0..TURNS).map(answer)).await.unwrap()
}

/// Starts a thread whose first turn has this text.
pub(crate) async fn thread(server: &mut AppServer, text: &str) -> String {
    let id = server.start_thread().await;
    server.run_turn(&id, text).await;
    id
}

async fn previews(server: &mut AppServer, params: Value) -> Vec<String> {
    let page = server.result("thread/list", params).await;
    let threads = page["data"].as_array().unwrap();
    let preview = |thread: &Value| thread["preview"].as_str().unwrap().to_owned();
    threads.iter().map(preview).collect()
}

#[tokio::test]
async fn threads_are_listed_named_archived_and_deleted() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let one = thread(&mut server, "alpha task").await;
    let two = thread(&mut server, "beta task").await;
    let id = |id: &str| json!({ "threadId": id });

    server.result("thread/archive", id(&one)).await;
    let notification = server.wait_for("thread/archived").await.unwrap();
    assert_eq!(notification["params"]["threadId"], json!(one));
    assert_eq!(previews(&mut server, json!({})).await, ["beta task"]);
    let archived = json!({ "archived": true });
    assert_eq!(previews(&mut server, archived).await, ["alpha task"]);
    let read = json!({ "threadId": one, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    server.result("thread/unarchive", id(&one)).await;
    server.wait_for("thread/unarchived").await.unwrap();

    let name = json!({ "threadId": two, "name": " A name " });
    server.result("thread/name/set", name).await;
    let notification = server.wait_for("thread/name/updated").await.unwrap();
    assert_eq!(notification["params"]["threadName"], "A name");
    let git = json!({ "threadId": two, "gitInfo": { "branch": "topic", "sha": null } });
    let updated = server.result("thread/metadata/update", git).await;
    assert_eq!(updated["thread"]["gitInfo"]["branch"], "topic");
    let empty = json!({ "threadId": two, "gitInfo": {} });
    let message = server.refusal("thread/metadata/update", empty).await.1;
    assert_eq!(message, "gitInfo must include at least one field");

    server.result("thread/delete", id(&one)).await;
    server.wait_for("thread/deleted").await.unwrap();
    assert_eq!(previews(&mut server, json!({})).await, ["beta task"]);
    server.finish().await.unwrap();

    // The index can go: nothing that was said is lost.
    for file in fs::read_dir(home.path()).unwrap().flatten() {
        if file.file_name().to_string_lossy().contains("sqlite") {
            fs::remove_file(file.path()).unwrap();
        }
    }
    let mut server = experimental_server(&home).await;
    let read = server.result("thread/read", id(&two)).await;
    assert_eq!(read["thread"]["name"], "A name");
    assert_eq!(read["thread"]["gitInfo"]["branch"], "topic");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_thread_knows_the_repository_that_it_began_in() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let project = tempfile::tempdir().unwrap();
    git(project.path(), &["init", "-q", "-b", "trunk"]);
    git(
        project.path(),
        &["remote", "add", "origin", "https://example.com/a.git"],
    );
    git(
        project.path(),
        &["commit", "-q", "--allow-empty", "-m", "first"],
    );
    let commit = git(project.path(), &["rev-parse", "HEAD"]);
    let mut server = experimental_server(&home).await;
    let start = json!({ "cwd": project.path() });
    let id = server.start_thread_with(start).await;
    server.run_turn(&id, "hello").await;
    server.finish().await.unwrap();

    let facts =
        json!({ "sha": commit, "branch": "trunk", "originUrl": "https://example.com/a.git" });
    let mut server = experimental_server(&home).await;
    let listed = server.result("thread/list", json!({})).await;
    assert_eq!(listed["data"][0]["gitInfo"], facts);
    // The log has them too, in its first line.
    let path = listed["data"][0]["path"].as_str().unwrap();
    let log = fs::read_to_string(path).unwrap();
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(first["payload"]["git"]["commit_hash"], json!(commit));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn idle_process_hands_thread_over() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut first = experimental_server(&home).await;
    let mut second = experimental_server(&home).await;
    let id = thread(&mut first, "hello").await;
    let resume = json!({ "threadId": id });
    let resumed = second.result("thread/resume", resume.clone()).await;
    assert_eq!(resumed["thread"]["turns"].as_array().unwrap().len(), 1);
    second.run_turn(&id, "me too").await;
    // What the first one remembers lacks a turn now.
    let input = json!([{ "type": "text", "text": "late" }]);
    let late = json!({ "threadId": id, "input": input });
    let message = first.refusal("turn/start", late.clone()).await.1;
    let expected =
        format!("thread {id} was changed by another process since it was loaded; load it again");
    assert_eq!(message, expected);
    first.result("thread/unsubscribe", resume.clone()).await;
    first.wait_for("thread/closed").await.unwrap();
    let resumed = first.result("thread/resume", resume.clone()).await;
    assert_eq!(resumed["thread"]["turns"].as_array().unwrap().len(), 2);
    for text in ["one", "two"] {
        first.run_turn(&id, text).await;
    }
    first.finish().await.unwrap();
    second.finish().await.unwrap();
}

#[tokio::test]
async fn thread_in_use_by_another_process_is_refused() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut first = experimental_server(&home).await;
    let mut second = experimental_server(&home).await;
    let id = thread(&mut first, "hello").await;
    let resume = json!({ "threadId": id });
    second.result("thread/resume", resume.clone()).await;
    // A turn of it waits for its model.
    let latch = Latch::new();
    model.push_for("/responses", HttpReply::status(200).wait(&latch));
    let input = json!([{ "type": "text", "text": "long" }]);
    let params = json!({ "threadId": id, "input": input });
    first.result("turn/start", params.clone()).await;
    latch.reached().await;
    let pid = first.process_id().unwrap();
    let expected = format!("thread {id} already has an active writer: another process (pid {pid})");
    let mut third = experimental_server(&home).await;
    for method in ["thread/resume", "thread/archive", "thread/delete"] {
        let message = third.refusal(method, resume.clone()).await.1;
        assert_eq!(message, expected);
    }
    let message = second.refusal("turn/start", params).await.1;
    assert_eq!(message, expected);
    let read = json!({ "threadId": id, "includeTurns": true });
    let read = third.result("thread/read", read).await;
    assert_eq!(read["thread"]["turns"][0]["status"], "completed");
    // A process that is killed has it no longer, and what it left is the thread.
    first.kill().await.unwrap();
    let resumed = third.result("thread/resume", resume).await;
    assert_eq!(resumed["thread"]["turns"].as_array().unwrap().len(), 2);
    assert_eq!(resumed["thread"]["turns"][1]["status"], "interrupted");
    third.run_turn(&id, "now").await;
    latch.open();
    second.finish().await.unwrap();
    third.finish().await.unwrap();
}

#[tokio::test]
async fn a_loaded_thread_is_not_resumed_from_another_file() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let first = thread(&mut server, "one").await;
    let second = thread(&mut server, "two").await;
    let path_of = async |server: &mut AppServer, id: &str| {
        let read = server
            .result("thread/read", json!({ "threadId": id }))
            .await;
        read["thread"]["path"].as_str().unwrap().to_owned()
    };
    let own = path_of(&mut server, &first).await;
    let other = path_of(&mut server, &second).await;
    let params = json!({ "threadId": first, "path": other });
    let message = server.refusal("thread/resume", params).await.1;
    let expected = format!(
        "cannot resume running thread {first} with mismatched path: requested `{other}`, active `{own}`"
    );
    assert_eq!(message, expected);
    // Another name of the file is none.
    let relative = Path::new(&own).strip_prefix(home.path().canonicalize().unwrap());
    let relative = relative.unwrap().display().to_string();
    for path in [own, relative] {
        let params = json!({ "threadId": first, "path": path });
        let resumed = server.result("thread/resume", params).await;
        assert_eq!(resumed["thread"]["id"], first);
    }
    // Of a thread that is not loaded the path counts.
    let params = json!({ "threadId": "not-even-an-id", "path": other });
    let resumed = server.result("thread/resume", params).await;
    assert_eq!(resumed["thread"]["id"], second);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn vanished_folder_is_reported_and_affects_no_other_thread() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let gone = thread(&mut server, "gone").await;
    fs::remove_dir_all(home.path().join("sessions")).unwrap();
    let read = json!({ "threadId": gone, "includeTurns": true });
    server.refusal("thread/read", read).await;
    assert_eq!(previews(&mut server, json!({})).await, [""; 0]);
    thread(&mut server, "next").await;
    assert_eq!(previews(&mut server, json!({})).await, ["next"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn doctor_reports_problems_without_changes() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions/2026/03/01");
    fs::create_dir_all(&folder).unwrap();
    let name = "rollout-2026-03-01T11-00-00-0195f0a0-7b1c-7000-8000-0000000000a0.jsonl";
    fs::write(folder.join(name), "no rollout").unwrap();
    let examine = || {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(["doctor", "--json"])
            .env("HOME", home.path())
            .env("CODEX_HOME", home.path())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let state = move |check: &str| {
            let of = checks.iter().find(|found| found["check"] == check).unwrap();
            of["state"].as_str().unwrap().to_owned()
        };
        (output.status.code(), state)
    };
    let (code, state) = examine();
    assert_eq!(
        (code, &*state("rollouts"), &*state("home")),
        (Some(0), "warning", "ok")
    );
    let entries = fs::read_dir(home.path()).unwrap();
    assert_eq!(entries.count(), 1);
    fs::write(home.path().join("config.toml"), "model = ").unwrap();
    let (code, state) = examine();
    assert_eq!((code, &*state("configuration")), (Some(1), "error"));
}

/// What was reported complete is on disk, however the server ends: it is killed in the middle of
/// turns, each time a little later.
#[tokio::test]
async fn turns_that_were_reported_complete_survive_a_crash() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let crashes = std::env::var("CODEX_CRASHES").ok();
    let crashes = crashes
        .and_then(|text| text.parse().ok())
        .unwrap_or(CRASHES);
    let mut threads: Vec<(String, usize)> = Vec::new();
    for crash in 0..crashes {
        let mut server = experimental_server(&home).await;
        if crash % 3 == 0 {
            threads.push((thread(&mut server, "first").await, 1));
        } else if let Some((id, _)) = threads.last() {
            server
                .result("thread/resume", json!({ "threadId": id }))
                .await;
        }
        let (id, complete) = threads.last_mut().unwrap();
        for number in 0..crash % 4 {
            server.run_turn(id, &format!("turn {number}")).await;
            *complete += 1;
        }
        let input = json!([{ "type": "text", "text": "cut off" }]);
        let params = json!({ "threadId": id, "input": input });
        let request = json!({ "id": 999, "method": "turn/start", "params": params });
        server.send(&request).await.unwrap();
        // Each time it comes so many messages further. The last turn may have ended: then it counts.
        for _ in 0..crash * 7 % 12 {
            let message = server.receive().await.unwrap();
            if message["method"] == "turn/completed" {
                *complete += 1;
                break;
            }
        }
        server.kill().await.unwrap();
    }
    assert_index_is_true(home.path(), threads.len()).await;
    let mut server = experimental_server(&home).await;
    let listed = server.result("thread/list", json!({ "limit": 100 })).await;
    assert_eq!(listed["data"].as_array().unwrap().len(), threads.len());
    for (id, complete) in threads {
        let read = json!({ "threadId": id, "includeTurns": true });
        let read = server.result("thread/read", read).await;
        let turns = read["thread"]["turns"].as_array().unwrap().clone();
        let whole = turns.iter().filter(|turn| {
            let items = turn["items"].as_array().unwrap();
            turn["status"] == "completed" && items.len() == 2
        });
        assert!(whole.count() >= complete, "{id}: {complete} of {turns:#?}");
    }
    server.finish().await.unwrap();
}

/// After one pass in the background the rows of the index say what the files say.
async fn assert_index_is_true(home: &Path, threads: usize) {
    let store = ThreadStore::new(home);
    store.settle().await.unwrap();
    let inspection = inspect(home, home);
    assert!(
        matches!(&inspection.index, IndexState::Read { threads: found, behind, gone }
            if *found == threads && behind.is_empty() && gone.is_empty()),
        "{:?}",
        inspection.index
    );
    for (id, path) in inspection.rollouts {
        let row = store.get(&id).await.unwrap().unwrap();
        assert_eq!(row, read_record(&path).unwrap());
    }
}

/// Every turn of a thread, one a page, oldest first.
pub(crate) async fn paged_through(
    server: &mut AppServer,
    thread: &str,
    direction: &str,
) -> Vec<Value> {
    let (mut turns, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = json!({ "threadId": thread, "limit": 1, "sortDirection": direction,
            "itemsView": "full", "cursor": cursor });
        let mut page = server.result("thread/turns/list", params).await;
        turns.append(page["data"].as_array_mut().unwrap());
        cursor = page["nextCursor"].take();
        if cursor.is_null() {
            break;
        }
    }
    if direction == "desc" {
        turns.reverse();
    }
    turns
}

/// Rollouts in the format of other versions: old and new ones, forks, damaged ones.
#[tokio::test]
async fn rollouts_of_other_versions_are_listed_read_and_resumed() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let folder = home.path().join("sessions/2026/03/01");
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(crate::repository().join("tests/rollouts")).unwrap() {
        let file = file.unwrap();
        if file.path().is_dir() {
            continue;
        }
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    // Its preview, and of each turn its state and how many items it has.
    let expected: [(&str, &[(&str, usize)]); 7] = [
        ("new one", &[("completed", 3)]),
        ("cut off", &[("interrupted", 1)]),
        (
            "run it",
            &[("completed", 3), ("completed", 1), ("completed", 2)],
        ),
        ("plain one", &[("completed", 2), ("completed", 2)]),
        ("odd one", &[("completed", 2)]),
        ("old one", &[("completed", 2), ("completed", 2)]),
        ("plain one", &[("completed", 2), ("completed", 2)]),
    ];
    let mut server = experimental_server(&home).await;
    let page = server.result("thread/list", json!({})).await;
    let threads = page["data"].as_array().unwrap();
    assert_eq!(threads.len(), expected.len());
    let shape = |thread: &Value| -> Vec<(String, usize)> {
        let turns = thread["turns"].as_array().unwrap();
        let state = |turn: &Value| turn["status"].as_str().unwrap().to_owned();
        let items = |turn: &Value| turn["items"].as_array().unwrap().len();
        turns
            .iter()
            .map(|turn| (state(turn), items(turn)))
            .collect()
    };
    for (thread, (preview, turns)) in threads.iter().zip(expected) {
        assert_eq!(thread["preview"], preview);
        let turns: Vec<_> = turns
            .iter()
            .map(|(state, items)| ((*state).to_owned(), *items))
            .collect();
        let read = json!({ "threadId": thread["id"], "includeTurns": true });
        let read = server.result("thread/read", read).await;
        assert_eq!(shape(&read["thread"]), turns, "{preview}");
        let id = thread["id"].as_str().unwrap();
        for direction in ["asc", "desc"] {
            let paged = paged_through(&mut server, id, direction).await;
            assert_eq!(json!(paged), read["thread"]["turns"], "{preview}");
        }
        let resumed = server
            .result("thread/resume", json!({ "threadId": id }))
            .await;
        assert_eq!(shape(&resumed["thread"]), turns, "{preview}");
        server.run_turn(id, "and on").await;
        let read = json!({ "threadId": id, "includeTurns": true });
        let read = server.result("thread/read", read).await;
        assert_eq!(shape(&read["thread"]).len(), turns.len() + 1, "{preview}");
    }
    server.finish().await.unwrap();
}
