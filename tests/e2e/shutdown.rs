//! The end of a server on standard input and output: in good order, soon, and with nothing left.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::scripted_home::scripted_home;

/// The server promises two seconds; a busy machine gets more.
const SOON: Duration = Duration::from_secs(10);

/// Goes on for long, and so does its child. Both hold a pipe for as long as they live.
const COMMAND: &str = "exec 9>pipe; echo begun; sleep 600 & wait";

/// A server with a turn that runs the command.
async fn busy_server(home: &Path) -> AppServer {
    let mut server = AppServer::start(env!("CARGO_BIN_EXE_codex"), home).unwrap();
    let client = json!({ "name": "tests", "version": "1" });
    let initialize = json!({ "clientInfo": client });
    server.call("initialize", initialize).await.unwrap();
    let reply = server.call("thread/start", json!({})).await.unwrap();
    let thread = &reply["result"]["thread"]["id"];
    let input = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "threadId": thread, "input": input });
    server.call("turn/start", params).await.unwrap();
    let told = server.wait_for("item/commandExecution/outputDelta").await;
    assert_eq!(told.unwrap()["params"]["delta"], "begun\n");
    server
}

async fn check(stop: impl FnOnce(&AppServer)) {
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
    let mut held = pipe::OpenOptions::new().open_receiver(&pipe).unwrap();

    let server = busy_server(home.path()).await;
    let started = Instant::now();
    stop(&server);
    // Every turn and item that began has ended, or this complains.
    server.finish().await.unwrap();
    // Nobody holds the pipe any more.
    let ended = tokio::time::timeout(SOON, held.read_to_end(&mut Vec::new())).await;
    ended.unwrap().unwrap();
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

#[tokio::test]
async fn the_end_of_the_input_ends_what_runs() {
    check(|_| {}).await;
}

#[tokio::test]
async fn a_signal_ends_what_runs() {
    check(|server| {
        let id = server.process_id().unwrap().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    })
    .await;
}
