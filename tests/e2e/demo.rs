//! `codex demo`: a session to watch, in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::repository;

/// Runs the demo in an empty home, with these answers on its standard input.
fn demo(home: &Path, arguments: &[&str], answers: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
        .arg("demo")
        .args(arguments)
        .env("HOME", home)
        .env_remove("CODEX_HOME")
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(answers.as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn contains_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some(at) = rest.find(part) else {
            panic!("{part:?} does not come where it should in:\n{text}");
        };
        rest = &rest[at + part.len()..];
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn demo_tour_shows_and_stores_a_session() {
    let home = tempfile::tempdir().unwrap();
    let output = demo(home.path(), &["--auto", "--folder", "kept"], "");
    assert!(output.status.success(), "{output:?}");
    let text = text(&output);
    contains_in_order(
        &text,
        &[
            "You\n",
            "Reasoning\n",
            "Codex\n  I will run the check first",
            "$ sh check.sh",
            "Run this command?",
            "| FAILED  10 items cost 50, expected 45",
            "Patch  discount.sh",
            "-if [ \"$1\" -gt 10 ]; then",
            "+if [ \"$1\" -ge 10 ]; then",
            "Apply this patch?",
            "applied",
            "| ok      10 items cost 45",
            "Fixed: the discount begins at ten items",
            "Completed\n",
            "tokens in",
            "Left behind\n",
            "rollout  ",
        ],
    );
    assert!(!text.contains('\x1b'), "colours in a pipe:\n{text}");
    assert!(
        text.lines()
            .all(|line| line.starts_with("  ") || line.chars().count() <= 80)
    );
    assert_eq!(names(home.path()), ["kept"], "the home is not what it was");
    let work = home.path().join("kept/work");
    assert!(
        fs::read_to_string(work.join("discount.sh"))
            .unwrap()
            .contains("-ge 10")
    );
    for path in text
        .lines()
        .filter_map(|line| line.strip_prefix("  rollout  "))
    {
        assert!(Path::new(path).exists(), "{path}");
    }
    for page in text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("page     file://"))
    {
        assert!(
            fs::read_to_string(page).unwrap().contains("<html"),
            "{page}"
        );
    }
}

fn script(name: &str) -> String {
    let path = repository().join("scenarios").join(name);
    path.to_str().unwrap().to_owned()
}

fn with_script(name: &str, answers: &str) -> (Output, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["--script", &script(name), "--folder", "kept"];
    (demo(home.path(), &arguments, answers), home)
}

#[test]
fn the_person_is_asked_until_there_is_an_answer() {
    let (output, home) = with_script("approve-command.toml", "perhaps\ny\n");
    contains_in_order(
        &text(&output),
        &[
            "Run this command?",
            "Run this command?",
            "| made",
            "is there",
        ],
    );
    assert!(home.path().join("kept/work/release-notes").is_dir());
}

#[test]
fn closed_input_declines_the_command() {
    let (output, home) = with_script("approve-command.toml", "");
    contains_in_order(
        &text(&output),
        &[
            "Run this command?",
            "no\n",
            "declined",
            "leave the folder alone",
        ],
    );
    assert!(!home.path().join("kept/work/release-notes").exists());
}

#[test]
fn failed_session_is_reported() {
    let (output, _home) = with_script("context-full.toml", "");
    assert_eq!(output.status.code(), Some(1));
    contains_in_order(&text(&output), &["Error\n", "context window", "Failed\n"]);
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("mine"), "").unwrap();
    let output = demo(home.path(), &["--folder", "."], "");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("not empty; name a new folder"),
        "{message}"
    );
    assert_eq!(names(home.path()), ["mine"]);
}
