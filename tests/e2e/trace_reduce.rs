//! `codex debug trace-reduce`, over a packed bundle of the trace crate's tests.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{codex, repository, stdout_of};

/// Unpacks a bundle: one line for each file, `["PATH","TEXT"]`.
pub(crate) fn unpack(folder: &Path) -> PathBuf {
    let pack = repository().join("crates/rollout-trace/tests/bundles/one_turn.jsonl");
    for line in fs::read_to_string(pack).unwrap().lines() {
        let (path, text): (String, String) = serde_json::from_str(line).unwrap();
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder.to_owned()
}

#[test]
fn a_whole_bundle_is_reduced() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(folder.path());
    let printed = stdout_of(&codex(&["debug", "trace-reduce", bundle.to_str().unwrap()]));
    let state = bundle.join("state.json");
    assert_eq!(printed.trim_end(), state.to_str().unwrap());
    let state: serde_json::Value = serde_json::from_slice(&fs::read(state).unwrap()).unwrap();
    assert_eq!(state["status"], "completed");
}

#[test]
fn damage_is_listed_and_sets_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(folder.path());
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(bundle.join("trace.jsonl"))
        .unwrap();
    log.write_all(b"{\"torn").unwrap();
    let bundle = bundle.to_str().unwrap();

    let lenient = codex(&["debug", "trace-reduce", bundle]);
    assert_eq!(lenient.status.code(), Some(3));
    let listed = String::from_utf8_lossy(&lenient.stderr);
    assert!(listed.contains("damage: line "), "{listed}");

    let strict = codex(&["debug", "trace-reduce", bundle, "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
}

#[test]
fn no_bundle_is_an_error_that_names_it() {
    let output = codex(&["debug", "trace-reduce", "/no/such/bundle"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("/no/such/bundle"), "{message}");
}
