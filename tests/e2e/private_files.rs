//! What is kept in the home folder is for its owner only, whatever the umask is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse, write_executable};
use serde_json::json;

use crate::setup::{scripted_home, server_in};

/// A program that is this one without any umask.
fn without_umask(folder: &Path) -> PathBuf {
    let path = folder.join("codex");
    let codex = env!("CARGO_BIN_EXE_codex");
    write_executable(&path, format!("#!/bin/sh\numask 0\nexec {codex} \"$@\"\n")).unwrap();
    path
}

/// What others may do something with.
pub(crate) fn open_to_others(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.symlink_metadata().unwrap().permissions().mode();
        if mode & 0o077 != 0 && !path.is_symlink() {
            found.push(format!("{:o} {}", mode & 0o777, path.display()));
        }
        if path.is_dir() {
            open_to_others(&path, found);
        }
    }
}

#[tokio::test]
async fn home_folder_files_have_owner_only_modes() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("hello")));
    let home = scripted_home(&model, "");
    let bin = tempfile::tempdir().unwrap();
    let traces = home.path().join("traces");
    let config = home.path().join("config.toml");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    // An older release left these.
    for name in ["sessions", "archived_sessions", "log"] {
        fs::create_dir(home.path().join(name)).unwrap();
    }
    let names = home.path().join("session_index.jsonl");
    fs::write(&names, "").unwrap();
    fs::set_permissions(&names, fs::Permissions::from_mode(0o644)).unwrap();
    let program = without_umask(bin.path());
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", traces.to_str().unwrap())];
    let server = AppServer::start_in(program.to_str().unwrap(), home.path(), &variables);
    let mut server = server.unwrap();
    server.initialize().await;
    let login = json!({ "type": "apiKey", "apiKey": "key" });
    server.result("account/login/start", login).await;
    for name in ["kept", "archived"] {
        let id = server.start_thread().await;
        server.run_turn(&id, "hello").await;
        let named = json!({ "threadId": id, "name": name });
        server.result("thread/name/set", named).await;
        if name == "archived" {
            server
                .result("thread/archive", json!({ "threadId": id }))
                .await;
        }
    }
    server.result("thread/list", json!({})).await;
    server.result("skills/list", json!({})).await;
    let report = json!({ "classification": "bug", "includeLogs": true });
    server.result("feedback/upload", report).await;
    let edit = json!({ "keyPath": "model", "value": "other", "mergeStrategy": "replace" });
    server.result("config/value/write", edit).await;
    let mut found = Vec::new();
    open_to_others(home.path(), &mut found);
    assert_eq!(found, [""; 0]);
    for made in [
        "sessions",
        "traces",
        "feedback",
        "auth.json",
        "threads.lock",
    ] {
        assert!(home.path().join(made).exists(), "{made}");
    }
    server.finish().await.unwrap();
    let mut found = Vec::new();
    open_to_others(home.path(), &mut found);
    assert_eq!(found, [""; 0]);
}

#[tokio::test]
async fn reports_hold_no_secrets() {
    let model = ModelServer::start([]).await.unwrap();
    let call_with_key =
        json!({ "cmd": "API_KEY=q8Zr1Lx0Pw7T curl http://me:pa55w0rd@127.0.0.1:1" });
    let call_with_key = sse::items(&[sse::function_call("call", "exec_command", &call_with_key)]);
    model.push(HttpReply::stream(&call_with_key));
    model.always(HttpReply::stream(&sse::text("hello")));
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let secrets = [
        "q8Zr1Lx0Pw7T",
        "pa55w0rd",
        "value-of-a-variable",
        "word-of-a-person-9",
    ];
    let variables = [
        ("SERVICE_API_KEY", secrets[2]),
        ("https_proxy", "http://me:pa55w0rd@127.0.0.1:1"),
    ];
    let mut server = server_in(&home, &variables).await;
    let id = server.start_thread().await;
    server.run_turn(&id, "I say value-of-a-variable").await;
    let report = json!({ "classification": "bug", "threadId": id, "includeLogs": true,
        "reason": "password: word-of-a-person-9", "tags": { "token": secrets[2] } });
    server.result("feedback/upload", report).await;
    let mut files = 0;
    for folder in fs::read_dir(home.path().join("feedback")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            for secret in secrets {
                assert!(!text.contains(secret), "{secret} in {}", path.display());
            }
            if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                assert!(text.contains("exec_command"), "the thread is in it: {text}");
            }
            files += 1;
        }
    }
    assert_eq!(files, 4, "report, logs, connectivity, thread");
    server.finish().await.unwrap();
}
