//! Checkpoints over JSON-RPC and from a shell: listed, compared, restored, and gone with their thread.

use std::fs;
use std::path::Path;
use std::process::Command;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::git::git;
use crate::setup::{PROGRAM, scripted_home};
use crate::threads::message_reply;

const SETTINGS: &str = "approval_policy = \"never\"\n[features]\nunified_exec = false";

fn runs(id: &str, script: &str) -> HttpReply {
    let call = sse::function_call(id, "shell_command", &json!({ "command": script }));
    HttpReply::stream(&sse::items(&[call]))
}

async fn started(home: &TempDir) -> AppServer {
    let mut server = AppServer::start(env!("CARGO_BIN_EXE_codex"), home.path()).unwrap();
    let params = json!({ "clientInfo": { "name": "tests", "version": "1" },
        "capabilities": { "experimentalApi": true } });
    server.call("initialize", params).await.unwrap();
    server
}

async fn thread(server: &mut AppServer, cwd: &Path) -> String {
    let reply = server.call("thread/start", json!({ "cwd": cwd })).await;
    reply.unwrap()["result"]["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Runs a turn and answers its end.
async fn turn(server: &mut AppServer, thread: &str, text: &str) -> Value {
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": text }] });
    server.call("turn/start", params).await.unwrap();
    server.wait_for("turn/completed").await.unwrap()["params"].clone()
}

async fn restore(server: &mut AppServer, thread: &str, checkpoint: &Value, more: Value) -> Value {
    let mut params = json!({ "threadId": thread, "checkpointId": checkpoint });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    server
        .call("thread/checkpoint/restore", params)
        .await
        .unwrap()
}

#[tokio::test]
async fn files_and_conversation_go_back() {
    let edit = "sed -i s/one/two/ a; echo new > b";
    let replies = [
        runs("1", "cat a"),
        message_reply("m1", "read"),
        runs("2", edit),
        message_reply("m2", "written"),
        runs("3", "echo three > a"),
        message_reply("m3", "again"),
        message_reply("m4", "fine"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    fs::write(cwd.join("a"), "one\n").unwrap();
    git(&cwd, &["init", "--quiet"]);
    git(&cwd, &["add", "."]);
    git(&cwd, &["commit", "--quiet", "-m", "first"]);
    let index = fs::read(cwd.join(".git/index")).unwrap();
    let mut server = started(&home).await;
    let thread = thread(&mut server, &cwd).await;
    let read = turn(&mut server, &thread, "look at it").await;
    assert_eq!(read["checkpointId"], Value::Null);
    assert!(!home.path().join("checkpoints").exists());
    let written = turn(&mut server, &thread, "change it\nplease").await;
    let first = &written["checkpointId"];
    assert!(first.is_string(), "{written}");
    let second = turn(&mut server, &thread, "more").await["checkpointId"].clone();

    let list = json!({ "threadId": thread, "limit": 1, "sortDirection": "asc" });
    let listed = server.call("thread/checkpoint/list", list).await.unwrap();
    let page = &listed["result"];
    assert_eq!(page["nextCursor"], "1");
    let shown = &page["data"][0];
    assert_eq!(shown["id"], *first);
    assert_eq!(shown["turnId"], written["turn"]["id"]);
    assert_eq!(shown["label"], "change it");
    let counts = ["files", "insertions", "deletions"].map(|name| shown[name].as_u64().unwrap());
    assert_eq!(counts, [2, 2, 1]);
    assert_eq!(shown["coverage"], "complete");

    let diff = json!({ "threadId": thread, "checkpointId": first, "to": second });
    let diff = server.call("thread/checkpoint/diff", diff).await.unwrap();
    let text = diff["result"]["diff"].as_str().unwrap();
    assert!(text.contains("-one\n+two\n"), "{text}");

    // What a person did is not lost.
    fs::write(cwd.join("a"), "mine\n").unwrap();
    let refused = restore(&mut server, &thread, first, json!({ "restore": "both" })).await;
    let refused = &refused["result"];
    assert_eq!(refused["conflicts"][0]["reason"], "changedSince");
    assert_eq!(refused["changed"], json!([]));
    fs::write(cwd.join("a"), "three\n").unwrap();
    let dry = restore(&mut server, &thread, first, json!({ "dryRun": true })).await;
    assert_eq!(dry["result"]["changed"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "three\n");

    let done = restore(&mut server, &thread, first, json!({ "restore": "both" })).await;
    let undo = &done["result"]["undoCheckpointId"];
    assert!(undo.is_string(), "{done}");
    assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "one\n");
    assert!(!cwd.join("b").exists());
    assert!(fs::read(cwd.join(".git/index")).unwrap() == index);
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    let turns = read["result"]["thread"]["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1);

    // The restore is undone, and the model is told.
    let undone = restore(&mut server, &thread, undo, json!({})).await;
    assert_eq!(undone["result"]["changed"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "three\n");
    turn(&mut server, &thread, "and now?").await;
    let request = model.requests().pop().unwrap();
    let told = String::from_utf8_lossy(&request.body).into_owned();
    assert!(
        told.contains("restored files to an earlier state"),
        "{told}"
    );

    let unknown = restore(&mut server, &thread, &json!("none"), json!({})).await;
    assert_eq!(unknown["error"]["code"], -32600, "{unknown}");
    let params = json!({ "threadId": thread });
    server.call("thread/delete", params).await.unwrap();
    let manifest = format!("checkpoints/threads/{thread}.jsonl");
    assert!(!home.path().join(manifest).exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn files_are_read_after_they_were_restored() {
    let mut replies = Vec::new();
    for _ in 0..4 {
        replies.extend([runs("1", "echo new > a"), message_reply("m1", "written")]);
    }
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    git(&cwd, &["init", "--quiet"]);
    let mut server = started(&home).await;
    let thread = thread(&mut server, &cwd).await;
    for reader in ["fs/readFile", "command/exec"].repeat(2) {
        fs::write(cwd.join("a"), "old\n").unwrap();
        let turn = turn(&mut server, &thread, "change it").await;
        let params = json!({ "threadId": thread, "checkpointId": turn["checkpointId"] });
        let restoring = server.begin("thread/checkpoint/restore", params).await;
        let params = match reader {
            "fs/readFile" => json!({ "path": cwd.join("a") }),
            _ => json!({ "command": ["cat", "a"], "cwd": cwd }),
        };
        let reading = server.begin(reader, params).await.unwrap();
        let restored = server.reply_to(restoring.unwrap()).await.unwrap();
        assert!(restored["result"].is_object(), "{restored}");
        let read = server.reply_to(reading).await.unwrap().to_string();
        assert!(
            read.contains("b2xkCg==") || read.contains("old"),
            "{reader}: {read}"
        );
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_shell_lists_compares_and_restores() {
    let patch =
        "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Add File: d/b\n+b\n*** End Patch";
    let call = sse::function_call(
        "1",
        "shell_command",
        &json!({ "command": format!("apply_patch <<'E'\n{patch}\nE") }),
    );
    let replies = [
        HttpReply::stream(&sse::items(&[call])),
        message_reply("m", "done"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    fs::write(cwd.join("a"), "one\n").unwrap();
    let mut server = started(&home).await;
    let thread = thread(&mut server, &cwd).await;
    let ended = turn(&mut server, &thread, "patch it").await;
    let checkpoint = ended["checkpointId"].as_str().unwrap().to_owned();
    server.finish().await.unwrap();

    let codex = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_codex"))
            .arg("checkpoint")
            .args(arguments)
            .current_dir(&cwd)
            .env("CODEX_HOME", home.path())
            .output()
            .unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        (done.status.success(), text)
    };
    let (_, list) = codex(&["list", &thread]);
    assert!(
        list.contains(&checkpoint) && list.contains("2 files, +2 -1"),
        "{list}"
    );
    let (_, diff) = codex(&["diff", &thread, &checkpoint, "a"]);
    assert!(
        diff.contains("-one\n+two\n") && !diff.contains("d/b"),
        "{diff}"
    );
    fs::write(cwd.join("a"), "mine\n").unwrap();
    let (ok, text) = codex(&["restore", &thread, &checkpoint]);
    assert!(!ok && text.contains("conflict"), "{text}");
    let (ok, text) = codex(&[
        "restore",
        "--on-conflict",
        "overwrite",
        &thread,
        &checkpoint,
    ]);
    assert!(ok && text.contains("undo with checkpoint"), "{text}");
    assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "one\n");
    assert!(!cwd.join("d").exists());
}

/// Every file in a folder with its content.
fn contents(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let content = fs::read(&path).unwrap();
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn session_leaves_the_git_repository_unchanged() {
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** End Patch";
    let replies = [
        runs("1", &format!("apply_patch <<'E'\n{patch}\nE")),
        message_reply("m1", "patched"),
        runs("2", "rm -r d; sed -i s/two/three/ a; mkdir e; echo x > e/x"),
        message_reply("m2", "written"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    fs::write(cwd.join("a"), "one\n").unwrap();
    fs::create_dir(cwd.join("d")).unwrap();
    fs::write(cwd.join("d/b"), "b\n").unwrap();
    git(&cwd, &["init", "--quiet"]);
    git(&cwd, &["add", "."]);
    git(&cwd, &["commit", "--quiet", "-m", "first"]);
    fs::write(cwd.join("d/b"), "modified\n").unwrap();
    let (all, repository) = (contents(&cwd), contents(&cwd.join(".git")));
    let mut server = started(&home).await;
    let thread = thread(&mut server, &cwd).await;
    let first = turn(&mut server, &thread, "patch").await["checkpointId"].clone();
    turn(&mut server, &thread, "write").await;
    assert!(contents(&cwd.join(".git")) == repository);
    let params = json!({ "threadId": thread, "checkpointId": first });
    server.call("thread/checkpoint/diff", params).await.unwrap();
    let done = restore(&mut server, &thread, &first, json!({ "restore": "both" })).await;
    assert!(contents(&cwd) == all, "{done}");
    server.finish().await.unwrap();
    assert!(contents(&cwd.join(".git")) == repository);
}

#[tokio::test]
async fn two_servers_share_a_store_and_a_folder() {
    let replies = [
        runs("1", "echo one > one"),
        message_reply("m1", "done"),
        runs("2", "echo two > two"),
        message_reply("m2", "done"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let (mut first, mut second) = (started(&home).await, started(&home).await);
    let one = thread(&mut first, &cwd).await;
    let two = thread(&mut second, &cwd).await;
    let of_one = turn(&mut first, &one, "one").await["checkpointId"].clone();
    let of_two = turn(&mut second, &two, "two").await["checkpointId"].clone();
    restore(&mut first, &one, &of_one, json!({})).await;
    assert!(!cwd.join("one").exists() && cwd.join("two").exists());
    restore(&mut second, &two, &of_two, json!({})).await;
    assert!(!cwd.join("two").exists());
    first.finish().await.unwrap();
    second.finish().await.unwrap();
}

#[tokio::test]
async fn the_trace_names_the_checkpoint_of_a_turn() {
    let replies = [runs("1", "echo new > new"), message_reply("m1", "done")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let traces = tempfile::tempdir().unwrap();
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", traces.path().to_str().unwrap())];
    let mut server = AppServer::start_in(PROGRAM, home.path(), &variables).unwrap();
    server.initialize_experimental().await;
    let thread = thread(&mut server, &cwd).await;
    let ended = turn(&mut server, &thread, "write").await;
    let checkpoint = ended["checkpointId"].as_str().unwrap().to_owned();
    server.finish().await.unwrap();
    let text: Vec<u8> = contents(traces.path())
        .into_iter()
        .flat_map(|(_, content)| content)
        .collect();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("checkpoint_created") && text.contains(&checkpoint));
}
