//! What every conversation of a kit shows: each turn and each item has one start and one end, and each message fits the
//! schemas. A kit is a program in Python that drives a codex program as clients do; it is no part of this repository.

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Command;

use codex_test_support::{ProtocolObserver, write_executable};
use serde_json::Value;

use crate::repository;

/// The variable that names the folder of the kits.
const FOLDER: &str = "CODEX_KIT_FOLDER";

/// The release as which clients count that show nothing else.
const OLDEST_RELEASE: &str = "0.117";

/// A program that does what the built one does for clients of a release, and writes conversations into a folder.
fn recorder(folder: &Path, release: &str) -> PathBuf {
    let script = repository().join("tests/kits/recorder.py");
    let binary = env!("CARGO_BIN_EXE_codex");
    let conversations = folder.join("conversations");
    fs::create_dir(&conversations).unwrap();
    let program = folder.join("codex");
    let text = format!(
        "#!/bin/sh\nexec python3 '{}' '{binary}' '{}' {release} \"$@\"\n",
        script.display(),
        conversations.display()
    );
    write_executable(&program, text).unwrap();
    program
}

/// Plays a kit with clients of a release, and returns what is wrong with its conversations.
fn play(kit: &[&str], release: &str) -> Vec<String> {
    let kits = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let program = recorder(folder.path(), release);
    let status = Command::new("python3")
        .arg(kits.join("run.py"))
        .arg("check")
        .args(kit)
        .arg(program)
        .status()
        .unwrap();
    assert!(status.code().is_some(), "{status}");
    let conversations = fs::read_dir(folder.path().join("conversations")).unwrap();
    let paths: Vec<_> = conversations.map(|file| file.unwrap().path()).collect();
    assert!(paths.len() > 20, "{} conversations only", paths.len());
    let failure = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let observed = panic::catch_unwind(AssertUnwindSafe(|| observe(&text, release)));
        let reason = observed.err()?;
        let reason = reason.downcast_ref::<String>().cloned();
        Some(reason.unwrap_or_default())
    };
    paths.iter().filter_map(failure).collect()
}

/// Holds a conversation against the guarantees.
fn observe(conversation: &str, release: &str) {
    let mut observer = ProtocolObserver::default();
    if release != OLDEST_RELEASE {
        observer.be_of(codex_protocol::Release::parse(release).unwrap());
    }
    for line in conversation.lines() {
        let (sender, line): (u8, String) = serde_json::from_str(line).unwrap();
        match (sender, serde_json::from_str::<Value>(&line)) {
            (0, Ok(message)) => observer.sent(&message),
            // Kits send what is no JSON too.
            (0, Err(_)) => {}
            (_, Ok(message)) => observer.received(&message),
            (_, Err(error)) => panic!("{error}: {line}"),
        }
    }
    observer.finish();
}

#[test]
#[ignore = "needs Python and the kits, in the folder that CODEX_KIT_FOLDER names"]
fn oldest_client_kit_starts_and_ends_each_item_once() {
    assert_eq!(play(&[], OLDEST_RELEASE), Vec::<String>::new());
}

#[test]
#[ignore = "needs Python and the kits, in the folder that CODEX_KIT_FOLDER names"]
fn newer_client_kit_starts_and_ends_each_item_once() {
    for release in [OLDEST_RELEASE, "0.169"] {
        let wrong = play(&["--kit", "newer"], release);
        assert_eq!(wrong, Vec::<String>::new(), "{release}");
    }
}

#[test]
#[ignore = "needs Python and the kits, in the folder that CODEX_KIT_FOLDER names"]
fn newest_client_kit_starts_and_ends_each_item_once() {
    assert_eq!(play(&["--kit", "newest"], "0.171"), Vec::<String>::new());
}
