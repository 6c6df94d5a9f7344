//! `codex debug app-server send`: a client that shows the wire.

use std::process::{Command, Output};

use serde_json::Value;

use crate::{repository, stdout_of};

fn send(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["debug", "app-server"])
        .args(arguments)
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .current_dir(home.path())
        .output()
        .unwrap()
}

fn scenario(name: &str) -> String {
    let path = repository().join("scenarios").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_message_of_a_turn_is_printed() {
    let hello = scenario("hello.toml");
    let text = stdout_of(&send(&["send", "--scenario", &hello, "hi"]));
    for title in [
        "> initialize (request 0)\n",
        "> turn/start (request 2)\n",
        "< reply (to request 2)\n",
        "< item/agentMessage/delta\n",
        "< turn/completed\n",
    ] {
        assert!(text.contains(title), "{title:?} is not in:\n{text}");
    }
}

#[test]
fn raw_is_the_wire() {
    let hello = scenario("hello.toml");
    let program = env!("CARGO_BIN_EXE_codex");
    let arguments = [
        "send-message-v2",
        "--raw",
        "--bin",
        program,
        "--scenario",
        &hello,
        "hi",
    ];
    let text = stdout_of(&send(&arguments));
    for line in text.lines() {
        let (sign, message) = line.split_at(2);
        assert!(["> ", "< "].contains(&sign), "{line}");
        let message: Value = serde_json::from_str(message).unwrap();
        assert!(message.is_object());
    }
    assert!(text.contains(r#"< {"method":"turn/completed""#), "{text}");
}

#[test]
fn approval_flag_answers_approvals() {
    let script = scenario("approve-command.toml");
    for (answer, expected) in [
        ("accept", "is there"),
        ("decline", "leave the folder alone"),
    ] {
        let arguments = ["send", "--scenario", &script, "--approve", answer, "hi"];
        let text = stdout_of(&send(&arguments));
        assert!(text.contains(expected), "{answer}: {text}");
    }
}

#[test]
fn a_turn_that_fails_is_a_failure() {
    let script = scenario("context-full.toml");
    assert_eq!(
        send(&["send", "--scenario", &script, "hi"]).status.code(),
        Some(1)
    );
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let output = send(&["send", "--bin", "/no/such/codex", "hi"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("cannot start /no/such/codex"), "{message}");
}
