//! What is kept in the home folder is for its owner only, whatever the umask is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::scripted_home::scripted_home;

/// A program that is this one without any umask.
fn without_umask(folder: &Path) -> PathBuf {
    let path = folder.join("codex");
    let codex = env!("CARGO_BIN_EXE_codex");
    fs::write(&path, format!("#!/bin/sh\numask 0\nexec {codex} \"$@\"\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What others may do something with.
fn open_to_others(folder: &Path, found: &mut Vec<String>) {
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

async fn call(server: &mut AppServer, method: &str, params: Value) -> Value {
    let reply = server.call(method, params).await.unwrap();
    assert!(reply.get("result").is_some(), "{method}: {reply}");
    reply["result"].clone()
}

#[tokio::test]
async fn everything_in_the_home_folder_is_for_its_owner_only() {
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
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", traces.as_path())];
    let server = AppServer::start_in(program.to_str().unwrap(), home.path(), &variables);
    let mut server = server.unwrap();
    let client = json!({ "clientInfo": { "name": "tests", "version": "1" } });
    call(&mut server, "initialize", client).await;
    let login = json!({ "type": "apiKey", "apiKey": "key" });
    call(&mut server, "account/login/start", login).await;
    for name in ["kept", "archived"] {
        let thread = call(&mut server, "thread/start", json!({})).await;
        let id = &thread["thread"]["id"];
        let input = json!([{ "type": "text", "text": "hello" }]);
        let params = json!({ "threadId": id, "input": input });
        call(&mut server, "turn/start", params).await;
        server.wait_for("turn/completed").await.unwrap();
        let named = json!({ "threadId": id, "name": name });
        call(&mut server, "thread/name/set", named).await;
        if name == "archived" {
            call(&mut server, "thread/archive", json!({ "threadId": id })).await;
        }
    }
    call(&mut server, "thread/list", json!({})).await;
    call(&mut server, "skills/list", json!({})).await;
    let report = json!({ "classification": "bug", "includeLogs": true });
    call(&mut server, "feedback/upload", report).await;
    let edit = json!({ "keyPath": "model", "value": "other", "mergeStrategy": "replace" });
    call(&mut server, "config/value/write", edit).await;
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
    let program = env!("CARGO_BIN_EXE_codex");
    let variables = [
        ("SERVICE_API_KEY", Path::new(secrets[2])),
        ("https_proxy", Path::new("http://me:pa55w0rd@127.0.0.1:1")),
    ];
    let mut server = AppServer::start_in(program, home.path(), &variables).unwrap();
    let client = json!({ "clientInfo": { "name": "tests", "version": "1" } });
    call(&mut server, "initialize", client).await;
    let thread = call(&mut server, "thread/start", json!({})).await;
    let id = &thread["thread"]["id"];
    let text = "I say value-of-a-variable";
    let input = json!([{ "type": "text", "text": text }]);
    let params = json!({ "threadId": id, "input": input });
    call(&mut server, "turn/start", params).await;
    server.wait_for("turn/completed").await.unwrap();
    let report = json!({ "classification": "bug", "threadId": id, "includeLogs": true,
        "reason": "password: word-of-a-person-9", "tags": { "token": secrets[2] } });
    call(&mut server, "feedback/upload", report).await;
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
