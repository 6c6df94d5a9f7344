//! How commands end that cannot do what they are asked: a status, and an error with its cause and a next step.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::serving::Serving;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(arguments)
        .env("HOME", folder)
        .env("CODEX_HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The arguments, the exit status, and what the last line of the error holds.
const FAILURES: [(&[&str], i32, &[&str]); 19] = [
    (&["no-such-command"], 2, &["--help"]),
    (&["completion", "tcsh"], 2, &["--help"]),
    (&["man", "/dev/null/pages"], 1, &["/dev/null/pages"]),
    (&["app-server", "generate-ts"], 2, &["--help"]),
    (&["app-server", "--listen", "http://x"], 2, &["--help"]),
    (
        &["app-server", "--scenario", "none.toml"],
        1,
        &["cannot read the scenario none.toml: No such file"],
    ),
    (
        &["demo", "--script", "none.toml"],
        1,
        &["cannot read the scenario none.toml: No such file"],
    ),
    (
        &["demo", "--folder", "/proc/x"],
        1,
        &["cannot use the folder /proc/x: "],
    ),
    (
        &["exec", "hi"],
        1,
        &["is not inside a Git repository", "--skip-git-repo-check"],
    ),
    (
        &["exec", "-C", "none", "hi"],
        1,
        &["cannot work in none: No such file"],
    ),
    (
        &["exec", "-i", "none.png", "hi"],
        1,
        &["cannot read none.png: No such file"],
    ),
    (
        &["exec", "-c", "word", "--skip-git-repo-check", "hi"],
        1,
        &["word", "'='"],
    ),
    (&["exec"], 1, &["the prompt on standard input is empty"]),
    (
        &["debug", "app-server", "send", "--bin", "/none", "hi"],
        1,
        &["cannot start /none: No such file"],
    ),
    (
        &["debug", "trace-view", "."],
        1,
        &[". is no trace bundle", "CODEX_ROLLOUT_TRACE_ROOT"],
    ),
    (
        &["debug", "trace-redact", ".", "copy"],
        1,
        &["is no trace bundle"],
    ),
    (
        &["debug", "trace-convert", ".", "copy"],
        1,
        &["is no trace bundle"],
    ),
    (
        &["debug", "trace-diff", ".", "."],
        2,
        &["is no trace bundle"],
    ),
    (&["login", "status"], 1, &["Not logged in"]),
];

#[test]
fn failures_have_exit_code_cause_and_remedy() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, status, parts) in FAILURES {
        let output = run(home.path(), arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
        let last = told.lines().last().unwrap_or_default();
        for part in parts {
            assert!(
                last.contains(part),
                "{arguments:?}: {part:?} is not in: {told}"
            );
        }
        let causes = last.matches("No such file").count();
        assert!(causes < 2, "{arguments:?} says it twice: {told}");
        assert!(output.stdout.is_empty(), "{arguments:?} answers something");
    }
}

#[test]
fn exec_reports_a_missing_login() {
    let home = tempfile::tempdir().unwrap();
    // Nobody listens at the address: the turn fails, and at once.
    let config = "model_provider = \"mine\"\n[model_providers.mine]\nname = \"Mine\"\n\
                  base_url = \"http://127.0.0.1:9/v1\"\nrequires_openai_auth = true\n\
                  request_max_retries = 0\nstream_max_retries = 0\n";
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let output = run(home.path(), &["exec", "--skip-git-repo-check", "hi"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("`codex login`"), "{told}");
}

/// Runs the demo on a terminal of 80 columns; what it printed there.
async fn demo_on_a_terminal(environment: &str) -> String {
    let mut serving = Serving::start().await;
    let program = env!("CARGO_BIN_EXE_codex");
    let folder = serving.path("demo");
    let script = format!("{environment} {program} demo --auto --folder {folder}");
    let params = json!({
        "command": ["sh", "-c", script], "processId": "demo", "tty": true,
        "size": { "rows": 24, "cols": 80 }, "env": { "TERM": "xterm" },
        "sandboxPolicy": { "type": "dangerFullAccess" }, "timeoutMs": 60_000,
    });
    let run = serving.server.begin("command/exec", params).await.unwrap();
    let mut printed = Vec::new();
    while !String::from_utf8_lossy(&printed).contains("/work\r\n") {
        let delta = serving.server.wait_for("command/exec/outputDelta").await;
        printed.extend(crate::command_exec::decode(
            &delta.unwrap()["params"]["deltaBase64"],
        ));
    }
    serving.server.reply_to(run).await.unwrap();
    serving.finish().await;
    String::from_utf8(printed).unwrap()
}

#[tokio::test]
async fn a_terminal_has_colours_unless_the_person_wants_none() {
    let coloured = demo_on_a_terminal("").await;
    assert!(
        coloured.contains("\x1b[1;36mcodex demo\x1b[0m"),
        "{coloured}"
    );
    let plain = demo_on_a_terminal("NO_COLOR=1").await;
    assert!(!plain.contains('\x1b'), "{plain}");
    assert!(plain.contains("Completed"), "{plain}");
}
