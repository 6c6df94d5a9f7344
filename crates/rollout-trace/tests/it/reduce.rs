//! Whole bundles and the graphs that they make.

use std::fs;

use codex_regular_file::OutputFile;
use codex_rollout_trace::{Fault, ReplayError, Strictness, replay_bundle, write_state};

use crate::support::{Bundle, state_text};

fn check(name: &str) {
    let bundle = Bundle::unpack(name);
    let reduction = bundle.check();
    let text = state_text(&reduction);
    assert_eq!(
        serde_json::to_string_pretty(&reduction.trace).unwrap(),
        text
    );
    insta::assert_snapshot!(name, text);
}

#[test]
fn one_turn() {
    check("one_turn");
}

#[test]
fn tools_and_terminals() {
    check("tools_and_terminals");
}

#[test]
fn cells_and_compaction() {
    check("cells_and_compaction");
}

#[test]
fn agents() {
    check("agents");
}

/// Written by the engine: turns with tools, patches, a terminal, failures, an interrupt, a compaction.
#[test]
fn engine_mixed() {
    check("engine_mixed");
}

/// Written by the engine: commands that end with their calls.
#[test]
fn engine_shell() {
    check("engine_shell");
}

#[test]
fn engine_short() {
    check("engine_short");
}

/// Bundles of schema 2 that `tests/trace/random_bundles.py` made; release 0.169 gives the same states.
#[test]
fn schema_two_tools() {
    check("schema_two_tools");
}

#[test]
fn schema_two_messages() {
    check("schema_two_messages");
}

#[test]
fn replay_is_deterministic() {
    let bundle = Bundle::unpack("agents");
    let again = || state_text(&bundle.replay(Strictness::Strict).unwrap());
    assert_eq!(again(), again());
}

#[test]
fn a_newer_schema_is_refused_with_advice() {
    let bundle = Bundle::unpack("one_turn");
    let manifest = bundle.path().join("manifest.json");
    let newer = r#"{"schema_version": 4, "shape": "unknown"}"#;
    fs::write(manifest, newer).unwrap();
    let error = replay_bundle(bundle.path()).unwrap_err();
    assert!(matches!(error, ReplayError::NewerSchema { found: 4, .. }));
    assert!(error.to_string().contains("reduce it with"), "{error}");
}

#[test]
fn strict_replay_names_the_line() {
    let bundle = Bundle::unpack("one_turn");
    let mut lines = bundle.lines();
    lines[3].truncate(20);
    bundle.set_lines(&lines);
    let error = bundle.replay(Strictness::Strict).unwrap_err();
    assert!(
        error.to_string().starts_with("parse trace event line 4"),
        "{error}"
    );
}

#[test]
fn payloads_outside_the_bundle_are_not_read() {
    for path in [
        "/etc/hostname",
        "../secret.json",
        "payloads/../../secret.json",
    ] {
        let bundle = Bundle::unpack("one_turn");
        let log = fs::read_to_string(bundle.log()).unwrap();
        fs::write(bundle.log(), log.replace("payloads/2.json", path)).unwrap();
        let reduction = bundle.check();
        let refused = |fault: &Fault| matches!(fault, Fault::PayloadPath { .. });
        let mut problems = reduction.problems.listed().iter();
        assert!(problems.any(|problem| refused(&problem.fault)), "{path}");
    }
}

#[test]
fn a_lost_thread_start_does_not_cost_the_thread() {
    let bundle = Bundle::unpack("one_turn");
    let whole = bundle.check();
    let mut lines = bundle.lines();
    lines.remove(1);
    bundle.set_lines(&lines);
    let reduction = bundle.check();
    assert!(reduction.problems.is_damaged());
    assert_eq!(
        reduction.trace.conversation_items,
        whole.trace.conversation_items
    );
    assert_eq!(
        reduction.trace.inference_calls.len(),
        whole.trace.inference_calls.len()
    );
}

#[test]
fn state_file_replaces_a_link_but_never_a_device() {
    let bundle = Bundle::unpack("one_turn");
    let reduction = bundle.check();
    let real = bundle.path().join("real.json");
    fs::write(&real, "older").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let link = bundle.path().join("link.json");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_state(&reduction.trace, &OutputFile::named(&link)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read_to_string(&link).unwrap(), state_text(&reduction));
        assert_eq!(fs::read_to_string(&real).unwrap(), "older");

        let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(reader);
        let device = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        let before = fs::metadata(&device).unwrap().file_type();
        assert!(before.is_socket());
        assert!(write_state(&reduction.trace, &OutputFile::named(&device)).is_err());
        assert!(fs::metadata(&device).unwrap().file_type().is_socket());
    }
    assert!(
        write_state(
            &reduction.trace,
            &OutputFile::named(bundle.path().join("no/such/folder.json"))
        )
        .is_err()
    );
}
