//! `codex debug trace-to-scenario`: a session that is recorded, converted and played again is the same session.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{codex, repository, stdout_of};

/// Plays a scenario in a folder, and moves the bundle of the session.
fn record(scenario: &Path, folder: &Path, bundle: &Path) {
    let [scenario, path] = [scenario, folder].map(|path| path.to_str().unwrap());
    codex(&["demo", "--script", scenario, "--auto", "--folder", path]);
    let traces: Vec<_> = fs::read_dir(folder.join("traces")).unwrap().collect();
    assert_eq!(traces.len(), 1);
    fs::rename(traces[0].as_ref().unwrap().path(), bundle).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

/// Records a ready scenario, converts the bundle and records the result. Returns its text.
fn converted(name: &str) -> String {
    let temporary = tempfile::tempdir().unwrap();
    let [folder, first, second, scenario] =
        ["demo", "first", "second", "converted.toml"].map(|name| temporary.path().join(name));
    let original: PathBuf = repository().join("scenarios").join(name);
    record(&original, &folder, &first);
    let [from, to] = [&first, &scenario].map(|path| path.to_str().unwrap());
    let printed = stdout_of(&codex(&["debug", "trace-to-scenario", from, "-o", to]));
    assert_eq!(printed.trim_end(), to);
    record(&scenario, &folder, &second);
    let [from, to] = [&first, &second].map(|path| path.to_str().unwrap());
    let compared = codex(&["debug", "trace-diff", from, to]);
    let difference = String::from_utf8(compared.stdout).unwrap();
    assert_eq!(compared.status.code(), Some(0), "{name}: {difference}");
    fs::read_to_string(&scenario).unwrap()
}

#[test]
fn converted_session_plays_the_recorded_turns() {
    for name in [
        "approve-command.toml",
        "failing-command.toml",
        "plan.toml",
        "reasoning.toml",
    ] {
        converted(name);
    }
}

#[test]
fn faults_are_converted_too() {
    for name in ["context-full.toml", "cut-stream.toml", "server-error.toml"] {
        converted(name);
    }
}

#[test]
fn scenario_export_has_readable_commands_and_prompts() {
    let text = converted("failing-command.toml");
    assert!(text.contains("{ command = \""), "{text}");
    assert!(text.contains("[session]\nprompts = [\n"), "{text}");
}
