use std::path::{Path, PathBuf};

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: TraceCommand,
}

/// A command that was carried out.
struct Ran {
    outcome: TraceOutcome,
    answers: String,
    notes: String,
}

fn run_line(words: &[&str]) -> anyhow::Result<Ran> {
    let words = ["codex"].iter().chain(words);
    let CommandLine { command } = CommandLine::try_parse_from(words)?;
    let (mut answers, mut notes) = (Vec::new(), Vec::new());
    let mut console = Console::new(&mut answers, &mut notes);
    let outcome = run(command, &Overrides::default(), &mut console)?;
    Ok(Ran {
        outcome,
        answers: String::from_utf8(answers)?,
        notes: String::from_utf8(notes)?,
    })
}

/// A rollout with one exchange.
fn write_rollout(folder: &Path, answer: &str) -> PathBuf {
    const ID: &str = "0195f0a0-7b1c-7000-8000-000000000006";
    let line = |kind: &str, payload: serde_json::Value| {
        serde_json::json!({
            "timestamp": "2026-03-01T06:00:00.000Z", "type": kind, "payload": payload
        })
        .to_string()
    };
    let message = |role: &str, kind: &str, text: &str| {
        serde_json::json!({
            "type": "message", "role": role, "content": [{ "type": kind, "text": text }]
        })
    };
    let meta = serde_json::json!({
        "id": ID, "timestamp": "2026-03-01T06:00:00.000Z", "cwd": "/", "originator": "test",
        "cli_version": "1.0.0", "source": "exec", "model_provider": "openai"
    });
    let lines = [
        line("session_meta", meta),
        line(
            "response_item",
            message("user", "input_text", "What is heavy?"),
        ),
        line("response_item", message("assistant", "output_text", answer)),
    ];
    let path = folder.join(format!("rollout-2026-03-01T06-00-00-{ID}.jsonl"));
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

#[test]
fn runs_are_the_same_or_different() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [lead, gold] = [("lead", &folders[0]), ("gold", &folders[1])]
        .map(|(answer, folder)| write_rollout(folder.path(), answer));
    let [lead, gold] = [&lead, &gold].map(|path| path.to_str().unwrap());
    let same = run_line(&["trace-diff", lead, lead]).unwrap();
    assert_eq!(same.outcome, TraceOutcome::Done, "{}", same.notes);
    assert_eq!(same.answers, "");
    let different = run_line(&["trace-diff", lead, gold]).unwrap();
    assert_eq!(different.outcome, TraceOutcome::Different);
    assert!(different.answers.contains("gold"), "{}", different.answers);
}

#[test]
fn source_that_cannot_be_read_is_an_outcome() {
    let ran = run_line(&["trace-explain", "/nowhere/at/all"]).unwrap();
    assert_eq!(ran.outcome, TraceOutcome::Unreadable);
    assert!(ran.notes.starts_with("error: "), "{}", ran.notes);
    assert_eq!(ran.answers, "");
}

#[test]
fn search_exit_code_states_a_match() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let ran = run_line(&["trace", "search", "lead", path]).unwrap();
    assert_eq!(ran.outcome, TraceOutcome::NothingFound);
    let ran = run_line(&["trace", "search", "--regex", "(", path]).unwrap();
    assert_eq!(ran.outcome, TraceOutcome::Unreadable);
}

#[test]
fn thread_is_written_as_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let rollout = write_rollout(folder.path(), "lead");
    let (mut answers, mut notes) = (Vec::new(), Vec::new());
    let mut console = Console::new(&mut answers, &mut notes);
    #[derive(Debug, Parser)]
    struct ThreadLine {
        #[command(subcommand)]
        command: ThreadCommand,
    }
    let line = ThreadLine::try_parse_from(["codex", "export", rollout.to_str().unwrap()]);
    let outcome = run_thread_command(line.unwrap().command, &mut console).unwrap();
    assert_eq!(outcome, TraceOutcome::Done);
    let document = String::from_utf8(answers).unwrap();
    assert!(document.contains("What is heavy?"), "{document}");
    assert!(document.contains("lead"), "{document}");
}

#[test]
fn worse_outcome_has_the_greater_exit_status() {
    let outcomes = [
        TraceOutcome::Done,
        TraceOutcome::Different,
        TraceOutcome::Unreadable,
        TraceOutcome::Damaged,
        TraceOutcome::NotReplayable,
    ];
    assert!(outcomes.is_sorted());
    assert!(outcomes.map(TraceOutcome::exit_status).is_sorted());
}
