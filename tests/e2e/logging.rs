//! What the server says of itself: on standard error alone, as much and in the form that is asked for.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A conversation of a handshake and of a line that cannot be read, with these variables set.
fn converse(variables: &[(&str, &str)]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_codex"))
        .arg("app-server")
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .env_remove("RUST_LOG")
        .env_remove("LOG_FORMAT")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let client = r#"{"clientInfo":{"name":"tests","version":"1"}}"#;
    let said = format!(
        "{{\"id\":0,\"method\":\"initialize\",\"params\":{client}}}\n{{\"method\":\"initialized\"}}\n\
         not json\n"
    );
    server
        .stdin
        .take()
        .unwrap()
        .write_all(said.as_bytes())
        .unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    // Whatever is logged, this is the protocol and nothing else.
    let replies = String::from_utf8(output.stdout.clone()).unwrap();
    let replies: Vec<Value> = replies
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(replies[0]["id"], 0);
    assert!(replies.iter().any(|reply| reply["error"]["code"] == -32700));
    output
}

fn log_of(variables: &[(&str, &str)]) -> String {
    String::from_utf8(converse(variables).stderr).unwrap()
}

#[test]
fn nothing_is_said_of_a_conversation_in_good_order() {
    assert_eq!(log_of(&[]), "");
}

#[test]
fn a_log_is_as_long_as_is_asked_for() {
    let log = log_of(&[("RUST_LOG", "codex_app_server=debug")]);
    assert!(log.contains("DEBUG codex_app_server"), "{log}");
    assert!(
        log.lines()
            .all(|line| serde_json::from_str::<Value>(line).is_err())
    );
    assert_eq!(log_of(&[("RUST_LOG", "codex_app_server=error")]), "");
}

#[test]
fn a_log_for_programs_has_an_object_a_line() {
    let log = log_of(&[
        ("RUST_LOG", "codex_app_server=debug"),
        ("LOG_FORMAT", "json"),
    ]);
    assert!(!log.is_empty());
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert_eq!(entry["level"], "DEBUG", "{line}");
        assert!(entry["timestamp"].is_string(), "{line}");
        assert!(entry["fields"]["message"].is_string(), "{line}");
        assert!(
            entry["target"]
                .as_str()
                .unwrap()
                .starts_with("codex_app_server"),
            "{line}"
        );
    }
}
