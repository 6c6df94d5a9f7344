//! The end of a server while a command runs: soon, and with nothing left, whatever ends it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

use crate::listeners::{Listening, start_turn};
use crate::serving;
use crate::setup::{scripted_home, server};

/// The server promises two seconds; a busy machine gets more.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Goes on for long, and so does its child. Both hold a pipe for as long as they live.
const COMMAND: &str = "exec 9>pipe; echo begun; sleep 600 & wait";

/// A server with a turn that runs the command.
async fn busy_server(home: &Path) -> AppServer {
    let mut server = server(home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    let delta = server.wait_for("item/commandExecution/outputDelta").await;
    assert_eq!(delta.unwrap()["params"]["delta"], "begun\n");
    server
}

/// A home whose model wants the command run, and the pipe that is held as long as it runs.
async fn home_with_command() -> (ModelServer, TempDir, pipe::Receiver) {
    let call = json!({ "command": COMMAND });
    let call = sse::function_call("call-1", "shell_command", &call);
    let model = ModelServer::start([HttpReply::stream(&sse::items(&[call]))]);
    let model = model.await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let pipe = home.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let held = pipe::OpenOptions::new().open_receiver(&pipe).unwrap();
    (model, home, held)
}

/// Nobody holds the pipe any more.
async fn check_nothing_is_left(mut held: pipe::Receiver) {
    let ended = tokio::time::timeout(EXIT_TIMEOUT, held.read_to_end(&mut Vec::new())).await;
    ended.unwrap().unwrap();
}

async fn check(stop: impl FnOnce(&AppServer)) {
    let (_model, home, held) = home_with_command().await;
    let server = busy_server(home.path()).await;
    let started = Instant::now();
    stop(&server);
    // Every turn and item that began has ended, or this complains.
    server.finish().await.unwrap();
    check_nothing_is_left(held).await;
    assert!(started.elapsed() < EXIT_TIMEOUT, "{:?}", started.elapsed());
}

#[tokio::test]
async fn end_of_input_ends_running_work() {
    check(|_| {}).await;
}

#[tokio::test]
async fn signal_ends_running_work() {
    check(|server| {
        let id = server.process_id().unwrap().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    })
    .await;
}

/// A client that ends sends its last requests and closes the input at once.
#[tokio::test]
async fn requests_before_end_of_input_are_answered() {
    const OPEN_REQUESTS: usize = 50;
    let model = ModelServer::start([HttpReply::stream(&sse::text("hi"))]);
    let model = model.await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let serving::Bare {
        child: mut server,
        mut input,
        mut output,
    } = serving::bare(home.path());
    let client = json!({
        "clientInfo": { "name": "tests", "version": "1" }, "capabilities": { "experimentalApi": true },
    });
    let first = [
        json!({ "id": "client", "method": "initialize", "params": client }),
        json!({ "id": "thread", "method": "thread/start", "params": {} }),
    ];
    input.write(&first).await.unwrap();
    let thread = loop {
        let message = output.next().await.unwrap();
        if message["id"] == "thread" {
            break message["result"]["thread"]["id"].clone();
        }
    };
    let turn = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    let hold = json!({ "threadId": thread });
    let method = "thread/increment_elicitation";
    let holds = (0..OPEN_REQUESTS).map(|id| json!({ "id": id, "method": method, "params": hold }));
    let mut last: Vec<_> = holds.collect();
    last.push(json!({ "id": OPEN_REQUESTS, "method": "turn/start", "params": turn }));
    input.write(&last).await.unwrap();
    drop(input);
    let mut results = 0;
    while let Some(message) = output.next().await {
        assert!(message.get("error").is_none(), "{message}");
        results += usize::from(message["id"].is_u64() && message.get("result").is_some());
    }
    assert_eq!(results, OPEN_REQUESTS + 1);
    assert!(server.wait().await.unwrap().success());
}

/// A client that does not read gives the server a reason to wait for a moment.
#[tokio::test]
async fn second_signal_ends_stdio_server() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("long"), vec![0; 1 << 20]).unwrap();
    let mut server = serving::unread(home.path());
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let client = json!({ "clientInfo": { "name": "tests", "version": "1" } });
    let read = json!({ "path": home.path().join("long") });
    for (id, method, params) in [(0, "initialize", client), (1, "fs/readFile", read)] {
        let request = json!({ "id": id, "method": method, "params": params });
        input
            .write_all(format!("{request}\n").as_bytes())
            .await
            .unwrap();
    }
    output.read_line(&mut String::new()).await.unwrap();
    // The reply has begun, and its end has no place in the pipe.
    assert!(!output.fill_buf().await.unwrap().is_empty());
    let id = server.id().unwrap().to_string();
    for signal in ["TERM", "INT"] {
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
    }
    let ended = tokio::time::timeout(EXIT_TIMEOUT, server.wait()).await;
    let code = ended.unwrap().unwrap().code();
    assert!([Some(130), Some(143)].contains(&code), "{code:?}");
}

#[tokio::test]
async fn a_second_signal_ends_a_listener_at_once() {
    let (_model, home, held) = home_with_command().await;
    let mut server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let mut client = server.connect().await;
    start_turn(&mut client, "go").await;
    let delta = client.wait_for("item/commandExecution/outputDelta").await;
    assert_eq!(delta.unwrap()["params"]["delta"], "begun\n");
    server.terminate();
    // The turn goes on, and so does the server.
    client.call("thread/loaded/list", json!({})).await.unwrap();
    // Another signal than the first, so that the two cannot become one.
    server.send_signal("INT");
    let ended = tokio::time::timeout(EXIT_TIMEOUT, server.child.wait()).await;
    let code = ended.unwrap().unwrap().code();
    assert!([Some(130), Some(143)].contains(&code), "{code:?}");
    check_nothing_is_left(held).await;
}
