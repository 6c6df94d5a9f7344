//! Settings of newer releases: those that act.

use std::fs;
use std::process::{Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::Value;

use crate::exec::ExecFolders;

async fn request_with(settings: &[&str]) -> Value {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))]);
    let model = model.await.unwrap();
    let place = ExecFolders::with_model(&model);
    let mut arguments = vec!["hi"];
    for setting in settings {
        arguments.extend(["-c", setting]);
    }
    let mut command = place.command(&arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output: Output = output.await.unwrap();
    assert!(output.status.success(), "{output:?}");
    model.requests()[0].json()["input"].take()
}

#[tokio::test]
async fn parts_of_the_context_can_be_left_out() {
    let all = request_with(&[]).await.to_string();
    let parts = [
        "<permissions instructions>",
        "<environment_context>",
        "<current_date>",
    ];
    for part in parts {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    let some = request_with(&["include_environment_context_time=false"]).await;
    let some = some.to_string();
    assert!(some.contains("<environment_context>"), "{some}");
    assert!(!some.contains("<current_date>"), "{some}");
    let none = request_with(&[
        "include_permissions_instructions=false",
        "include_environment_context=false",
    ]);
    let none = none.await;
    for part in parts {
        assert!(!none.to_string().contains(part), "{part} is in {none}");
    }
    let last = none.as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["text"], "hi");
}

/// It would promise that nothing is written to files.
#[test]
fn a_store_that_is_not_there_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let list = |kind: &str| {
        let text = format!("experimental_thread_store = {{ type = '{kind}' }}\n");
        fs::write(home.path().join("config.toml"), text).unwrap();
        Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(["features", "list", "--strict-config"])
            .env("CODEX_HOME", home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    assert!(list("local").status.success());
    let error = String::from_utf8(list("in_memory").stderr).unwrap();
    assert!(error.contains("in_memory"), "{error}");
}
