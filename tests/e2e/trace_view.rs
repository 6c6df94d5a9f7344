//! The commands that look at a bundle: where they write, and what their exit statuses say.

use std::fs;

use crate::trace_reduce::unpack;
use crate::{codex, stdout_of};

#[test]
fn pages_and_exports_are_written_into_the_bundle_or_where_asked() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(folder.path());
    let path = bundle.to_str().unwrap();
    let printed = stdout_of(&codex(&["debug", "trace-view", path]));
    let page = bundle.join("view.html");
    assert_eq!(printed.trim_end(), page.to_str().unwrap());
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .starts_with("<!doctype html>")
    );
    for format in ["perfetto", "otlp-json"] {
        let file = bundle.join(format!("{format}.out"));
        let output = file.to_str().unwrap();
        stdout_of(&codex(&[
            "debug",
            "trace-export",
            path,
            "--format",
            format,
            "-o",
            output,
        ]));
        serde_json::from_slice::<serde_json::Value>(&fs::read(file).unwrap()).unwrap();
    }
}

#[test]
fn a_copy_is_the_same_run_until_its_text_goes() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = unpack(&folder.path().join("bundle"));
    let copies = ["plain", "marked"].map(|name| folder.path().join(name));
    let [bundle, plain, marked] =
        [&bundle, &copies[0], &copies[1]].map(|path| path.to_str().unwrap());
    stdout_of(&codex(&["debug", "trace-redact", bundle, plain]));
    stdout_of(&codex(&["debug", "trace-redact", bundle, marked, "--text"]));
    let diff = |other: &str| codex(&["debug", "trace-diff", bundle, other]);
    assert_eq!(diff(plain).status.code(), Some(0));
    let parted = diff(marked);
    assert_eq!(parted.status.code(), Some(1));
    let said = String::from_utf8(parted.stdout).unwrap();
    assert!(
        said.starts_with("the runs differ in /root\nA: turn 1, event "),
        "{said}"
    );
    assert_eq!(diff("/no/such/bundle").status.code(), Some(2));
}

#[test]
fn every_command_tells_of_damage() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|name| unpack(&folder.path().join(name)));
    let log = fs::read_to_string(cut.join("trace.jsonl")).unwrap();
    fs::write(cut.join("trace.jsonl"), format!("{log}{{\"torn")).unwrap();
    let [whole, cut] = [&whole, &cut].map(|path| path.to_str().unwrap());
    for arguments in [
        &["trace-view", cut][..],
        &["trace-export", cut, "--format", "perfetto"],
        &["trace-diff", whole, cut],
        &["trace-diff", cut, whole],
    ] {
        let output = codex(&[&["debug"], arguments].concat());
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("damage: line "), "{arguments:?}: {said}");
    }
}
