//! `codex exec`: what is piped in beside the prompt, copies of threads, and tools that are allowed in advance.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::Duration;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::json;

use crate::exec::{ExecFolders, events, kinds};
use crate::mcp_process::configured;
use crate::stdout_of;

fn text_reply(text: &str) -> HttpReply {
    HttpReply::stream(&sse::text(text))
}

async fn run(place: &ExecFolders, arguments: &[&str]) -> Output {
    let mut command = place.command(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}

/// What the model got of a run whose input comes in these pieces. Between them the writer pauses.
async fn asked_with_input(pieces: &'static [&'static str]) -> String {
    let model = ModelServer::start([text_reply("read")]).await.unwrap();
    let place = ExecFolders::with_model(&model);
    let mut command = place.command(&["what is it?"]);
    let run = move || {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        for (number, piece) in pieces.iter().enumerate() {
            if number > 0 {
                // Longer than any program that reads could take for the end.
                std::thread::sleep(Duration::from_millis(2_500));
            }
            input.write_all(piece.as_bytes()).unwrap();
        }
        drop(input);
        child.wait_with_output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(stdout_of(&output), "read\n");
    model.requests()[0].json()["input"].to_string()
}

#[tokio::test]
async fn piped_input_follows_the_prompt() {
    let asked = asked_with_input(&["a line\n"]).await;
    assert!(
        asked.contains(r"what is it?\n\n<stdin>\na line\n</stdin>"),
        "{asked}"
    );
    let asked = asked_with_input(&[""]).await;
    assert!(!asked.contains("stdin"), "{asked}");
}

#[tokio::test]
async fn input_with_pauses_is_read_to_its_end() {
    let asked = asked_with_input(&["first\n", "second\n"]).await;
    assert!(
        asked.contains(r"<stdin>\nfirst\nsecond\n</stdin>"),
        "{asked}"
    );
}

#[tokio::test]
async fn forked_run_continues_a_copy() {
    let model = ModelServer::start([text_reply("one"), text_reply("two")])
        .await
        .unwrap();
    let place = ExecFolders::with_model(&model);
    let first = run(&place, &["--json", "the first thing"]).await;
    let thread = events(&first)[0]["thread_id"].as_str().unwrap().to_owned();
    let copy = run(&place, &["--json", "fork", &thread, "the second thing"]).await;
    let copy = events(&copy);
    assert_ne!(copy[0]["thread_id"], thread.as_str());
    assert_eq!(kinds(&copy).last(), Some(&"turn.completed"));
    let input = model.requests()[1].json()["input"].to_string();
    assert!(input.contains("the first thing"), "{input}");
    // Without a prompt the copy is only made.
    let only = events(&run(&place, &["--json", "fork", &thread]).await);
    assert_eq!(kinds(&only), ["thread.started"]);
    assert_eq!(model.requests().len(), 2);
    assert_eq!(place.rollouts().len(), 3);
}

/// Whether a tool that needs an approval runs with these keys of its server.
async fn tool_runs(keys: &str) -> bool {
    let call = sse::function_call("c", "mcp__scripted__write", &json!({}));
    let model = ModelServer::start([HttpReply::stream(&sse::items(&[call])), text_reply("done")]);
    let model = model.await.unwrap();
    let place = ExecFolders::with_model(&model);
    let file = place.home.path().join("config.toml");
    let config = fs::read_to_string(&file).unwrap();
    let server = configured("scripted", &json!({}), keys);
    fs::write(file, config + &server).unwrap();
    let output = run(&place, &["-s", "read-only", "go"]).await;
    assert_eq!(stdout_of(&output), "done\n");
    model.requests()[1].json()["input"]
        .to_string()
        .contains("written")
}

#[tokio::test]
async fn allowed_tools_run_without_a_dangerous_flag() {
    assert!(!tool_runs("").await);
    assert!(tool_runs("tools.write.approval_mode = \"approve\"").await);
    assert!(tool_runs("default_tools_approval_mode = \"approve\"").await);
    let exception =
        "default_tools_approval_mode = \"approve\"\ntools.write.approval_mode = \"prompt\"";
    assert!(!tool_runs(exception).await);
}
