//! The command line itself.

use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::session::ready_scenario;
use crate::setup::PROGRAM;
use crate::{codex, stdout_of};

#[test]
fn version_output_has_the_expected_form() {
    let version = stdout_of(&codex(&["--version"]));
    assert_eq!(
        version,
        format!("codex-cli {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn help_names_the_commands() {
    let help = stdout_of(&codex(&["app-server", "--help"]));
    for command in ["generate-ts", "generate-json-schema", "generate-openrpc"] {
        assert!(help.contains(command), "{command} is not in:\n{help}");
    }
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    assert_eq!(codex(&["no-such-command"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_help_text() {
    for command in [
        &["demo"][..],
        &["exec"],
        &["exec", "resume"],
        &["review"],
        &["features"],
        &["features", "list"],
        &["app-server"],
        &["mcp"],
        &["mcp", "add"],
        &["mcp", "list"],
        &["mcp", "login"],
        &["proto"],
        &["completion"],
        &["man"],
        &["debug"],
        &["debug", "app-server", "send"],
    ] {
        let help = stdout_of(&codex(&[command, &["--help"]].concat()));
        let first = help.lines().next().unwrap();
        assert!(
            first.len() > 20 && !first.starts_with("Usage"),
            "{command:?}: {help}"
        );
    }
}

/// What becomes of a command whose standard output is this.
fn run_into(output: impl Into<Stdio>, home: &TempDir, command: &mut Command) -> Output {
    let command = command.env("CODEX_HOME", home.path()).stdin(Stdio::null());
    let started = command.stdout(output).stderr(Stdio::piped()).spawn();
    started.unwrap().wait_with_output().unwrap()
}

#[test]
fn commands_end_well_when_their_reader_has_left() {
    for command in [
        &["completion", "bash"][..],
        &["config", "schema"],
        &["debug", "models"],
        &["doctor"],
        &["features", "list"],
        &["mcp", "list"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let home = TempDir::new().unwrap();
        let output = run_into(writer, &home, Command::new(PROGRAM).args(command));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("ipe"), "{command:?}: {errors}");
        // `doctor` fails where it finds something.
        let is_well = output.status.success() || command == ["doctor"];
        assert!(is_well, "{command:?}: {}: {errors}", output.status);
    }
}

#[test]
fn turn_ends_quietly_when_its_reader_has_left() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let home = TempDir::new().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args([
        "exec",
        "--json",
        "--skip-git-repo-check",
        "hi",
        "--scenario",
    ]);
    command
        .arg(ready_scenario("hello"))
        .current_dir(home.path());
    let output = run_into(writer, &home, &mut command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(141), ""));
}

#[test]
fn demo_ends_quietly_when_its_reader_has_left() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let home = TempDir::new().unwrap();
    let folder = home.path().join("demo");
    let mut command = Command::new(PROGRAM);
    command.args(["demo", "--auto", "--folder"]).arg(&folder);
    let output = run_into(writer, &home, &mut command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(141), ""));
}

/// Where the disk is full, a command fails and leaves nothing behind.
#[cfg(target_os = "linux")]
#[test]
fn answer_that_cannot_be_written_is_an_error() {
    let home = TempDir::new().unwrap();
    for command in [&["mcp", "list"][..], &["features", "list"]] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = run_into(full, &home, Command::new(PROGRAM).args(command));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {errors}");
        assert!(errors.contains("error: "), "{command:?}: {errors}");
    }
}

#[test]
fn completion_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout_of(&codex(&["completion", shell]));
        for word in ["app-server", "exec", "demo"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = TempDir::new().unwrap();
    let pages = folder.path().join("share/man1");
    stdout_of(&codex(&["man", pages.to_str().unwrap()]));
    for (page, text) in [
        ("codex.1", "app\\-server"),
        ("codex-exec-resume.1", "SYNOPSIS"),
    ] {
        let page = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(page.contains(text), "{page}");
    }
    let all = stdout_of(&codex(&["man", "-"]));
    let pages = std::fs::read_dir(pages).unwrap().count();
    assert_eq!(all.matches("\n.TH ").count(), pages);
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn errors_name_what_failed_and_why() {
    let output = codex(&["debug", "trace-reduce", "/no/such/bundle"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.starts_with("error: "), "{message}");
    assert!(message.contains("/no/such/bundle"), "{message}");
}

#[test]
fn features_are_listed_with_their_stage() {
    let home = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["--enable", "undo", "features", "list"])
        .env("CODEX_HOME", home.path())
        .output()
        .unwrap();
    let listed = stdout_of(&output);
    let line = listed
        .lines()
        .find(|line| line.starts_with("undo "))
        .unwrap();
    assert!(line.ends_with("  true"), "{line}");
    assert!(
        listed
            .lines()
            .all(|line| line.ends_with("true") || line.ends_with("false"))
    );
}

#[test]
fn config_schema_prints_the_schema_that_is_checked_in() {
    let printed = codex(&["config", "schema"]);
    assert!(printed.status.success());
    let stored = std::fs::read(crate::repository().join("schema/config.json")).unwrap();
    assert!(printed.stdout == stored);
}
