//! `codex thread export`, and trace commands for threads without a bundle.

use std::process::{Command, Output};

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::answer_with;
use crate::setup::{scripted_home, server};
use crate::stdout_of;
use crate::trace_page::{TracePage, check_order};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn codex_in(home: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(arguments)
        .env("CODEX_HOME", home.path())
        .env_remove("CODEX_ROLLOUT_TRACE_ROOT")
        .output()
        .unwrap()
}

/// A home with a thread of two turns that was not traced.
async fn stored_thread() -> (TempDir, String) {
    let call = sse::function_call("c1", "shell_command", &json!({ "command": "echo built" }));
    let model = ModelServer::start([
        HttpReply::stream(&sse::items(&[call])),
        answer_with("It is built."),
        answer_with("You are welcome."),
    ]);
    let model = model.await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server
        .run_turn(&thread, &format!("Build it with {TOKEN}"))
        .await;
    server.run_turn(&thread, "Thanks.").await;
    server.finish().await.unwrap();
    (home, thread)
}

#[tokio::test]
async fn a_thread_is_exported_as_a_document() {
    let (home, thread) = stored_thread().await;
    let text = stdout_of(&codex_in(&home, &["thread", "export", &thread]));
    let parts = [
        "## Turn 1",
        "### User",
        "Build it with ghp_",
        "echo built",
        "It is built.",
        "## Turn 2",
        "Thanks.",
        "You are welcome.",
    ];
    let places: Vec<_> = parts.iter().map(|part| text.find(part)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} in {text}"
    );
    let clean = stdout_of(&codex_in(&home, &["thread", "export", &thread, "--redact"]));
    assert!(
        !clean.contains(TOKEN) && clean.contains("Build it with [secret"),
        "{clean}"
    );
    let page = home.path().join("page.html");
    let arguments = [
        "thread",
        "export",
        &thread,
        "--format",
        "html",
        "-o",
        page.to_str().unwrap(),
    ];
    stdout_of(&codex_in(&home, &arguments));
    let whole = std::fs::read_to_string(&page).unwrap();
    for part in ["It is built.", "Build it with ghp_", "echo built"] {
        assert!(whole.contains(part), "{part}");
    }
    stdout_of(&codex_in(&home, &[&arguments[..], &["--redact"]].concat()));
    let clean = std::fs::read_to_string(&page).unwrap();
    assert!(clean.contains("It is built.") && clean.contains("Build it with [secret"));
    assert!(!clean.contains(TOKEN));
    let nowhere = codex_in(&home, &arguments[..5]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("name the page's file with -o"));
    let unknown = codex_in(
        &home,
        &["thread", "export", "0196f1c2-7f04-7d63-9f40-5b1f0d6b0f1e"],
    );
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no thread"));
}

#[tokio::test]
async fn trace_commands_take_a_thread_without_a_bundle() {
    let (home, thread) = stored_thread().await;
    let state = home.path().join("state.json");
    let arguments = [
        "debug",
        "trace-reduce",
        &thread,
        "--strict",
        "-o",
        state.to_str().unwrap(),
    ];
    stdout_of(&codex_in(&home, &arguments));
    let state: Value = serde_json::from_slice(&std::fs::read(state).unwrap()).unwrap();
    let count = |what: &str| state[what].as_object().unwrap().len();
    assert_eq!(count("codex_turns"), 2);
    assert_eq!(count("inference_calls"), 3);
    assert_eq!(count("tool_calls"), 1);
    let usage = &state["inference_calls"]["request-1"]["usage"];
    assert!(usage["input_tokens"].is_u64(), "{state}");
    let page = stdout_of(&codex_in(&home, &["debug", "trace-view", &thread]));
    assert!(page.trim_end().ends_with(".view.html"), "{page}");
}

#[tokio::test]
async fn exported_page_has_conversation_and_timeline() {
    let answer = "## Done\n\n- **two** things\n\n<img src=x onerror=alert(1)> [more](javascript:alert(1)) [here](https://example.org/)";
    let call = sse::function_call("c1", "shell_command", &json!({ "command": "echo built" }));
    let model = ModelServer::start([
        HttpReply::stream(&sse::items(&[call])),
        answer_with(answer),
        answer_with("You are welcome."),
    ]);
    let model = model.await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "Build `it`").await;
    server.run_turn(&thread, "Thanks.").await;
    server.finish().await.unwrap();
    let file = home.path().join("page.html");
    let arguments = ["--format", "html", "-o", file.to_str().unwrap()];
    stdout_of(&codex_in(
        &home,
        &[&["thread", "export", &thread][..], &arguments].concat(),
    ));
    let page = TracePage::load(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(page.part("title"), "Build `it`");
    let text = page.part("conversation");
    check_order(
        &text,
        &[
            "Build it",
            "echo built",
            "Done",
            "two things",
            "<img src=x onerror=alert(1)> more (javascript:alert(1)) here",
            "Thanks.",
            "You are welcome.",
        ],
    );
    let links: String = page.run(
        "JSON.stringify(byId('conversation').all((one) => one.tag === 'a').map((one) => one.getAttribute('href')))",
    );
    assert_eq!(links, r#"["https://example.org/"]"#);
    assert!(page.run::<bool>("document.documentElement.classList.contains('reading')"));
    assert!(page.run::<bool>("page.press('Timeline', 'tabs')"));
    assert!(!page.run::<bool>("document.documentElement.classList.contains('reading')"));
    assert_eq!(page.part("conversation"), "");
    // The overview of the timeline is no way back, the address of the whole page is.
    page.run::<()>("viewer.select(null)");
    assert_eq!(page.part("conversation"), "");
    page.run::<()>("viewer.onAddress()");
    check_order(&page.part("conversation"), &["Build it", "Thanks."]);
}
