//! `codex debug app-server check` with a correct client and with one per mistake. Needs Python.

use std::process::{Command, Output};

use serde_json::Value;

use crate::repository;

fn check(mistake: &[&str], options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["debug", "app-server", "check", "--only", "approve-command"])
        .args(options)
        .args(["--", "python3"])
        .arg(repository().join("tests/check/client.py"))
        .args(mistake)
        .output()
        .unwrap()
}

/// The kinds of the mistakes that are reported, and the exit status.
fn kinds(mistake: &[&str], options: &[&str]) -> (Vec<String>, Option<i32>) {
    let output = check(mistake, &[&["--json"], options].concat());
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mistakes = results[0]["mistakes"].as_array().unwrap();
    let kinds = mistakes.iter().map(|mistake| &mistake["kind"]);
    let kinds = kinds.map(|kind| kind.as_str().unwrap().to_owned());
    (kinds.collect(), output.status.code())
}

#[test]
#[ignore = "needs python3"]
fn a_correct_client_passes() {
    assert_eq!(kinds(&[], &[]), (vec![], Some(0)));
    let table = String::from_utf8(check(&[], &[]).stdout).unwrap();
    assert!(table.starts_with("approve-command"), "{table}");
    assert!(table.ends_with("ok\n"), "{table}");
}

#[test]
#[ignore = "needs python3"]
fn each_mistake_is_reported() {
    for mistake in [
        "beforeInitialize",
        "failed",
        "invalidJson",
        "invalidParams",
        "invalidResult",
        "unanswered",
        "unexpectedReply",
        "unknownMethod",
    ] {
        let (kinds, status) = kinds(&[mistake], &[]);
        assert_eq!(
            (kinds.as_slice(), status),
            ([mistake.to_owned()].as_slice(), Some(1))
        );
    }
}

#[test]
#[ignore = "needs python3"]
fn a_client_that_does_not_exit_is_ended() {
    let reported = kinds(&["timedOut"], &["--timeout", "2"]);
    assert_eq!(reported, (vec!["timedOut".to_owned()], Some(1)));
}

#[test]
fn a_client_that_starts_no_server_is_reported() {
    let output = Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["debug", "acp", "check", "--only", "hello", "--", "true"])
        .output()
        .unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("noServer"), "{table}");
    assert_eq!(output.status.code(), Some(1));
}

/// Each client waits for the other one.
#[test]
fn clients_of_several_scenarios_run_at_once() {
    let met = tempfile::tempdir().unwrap();
    let script =
        r#"touch "$0/$CODEX_SCENARIO"; until [ "$(ls "$0" | wc -l)" -eq 2 ]; do sleep 0.02; done"#;
    let output = Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["debug", "app-server", "check", "--only", "hello"])
        .args(["--only", "chat", "--timeout", "30", "--json"])
        .args(["--", "sh", "-c", script])
        .arg(met.path())
        .output()
        .unwrap();
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = [&results[0]["scenario"], &results[1]["scenario"]];
    assert_eq!(names, ["chat", "hello"]);
    for result in results.as_array().unwrap() {
        let kinds = result["mistakes"].as_array().unwrap().iter();
        let kinds: Vec<_> = kinds.map(|mistake| &mistake["kind"]).collect();
        assert_eq!(kinds, ["noServer"]);
    }
}
