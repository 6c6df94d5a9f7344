//! `codex app-server generate-*` writes what is checked in below `schema/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{codex, repository, stdout_of};

/// Generates into an empty folder and holds the result against a checked-in one.
#[track_caller]
fn check(command: &str, options: &[&str], checked_in: &str) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/on/demand");
    let arguments = [
        &["app-server", command, "--out", out.to_str().unwrap()],
        options,
    ]
    .concat();
    assert_eq!(stdout_of(&codex(&arguments)), "");
    let generated = read_below(&out);
    assert!(!generated.is_empty());
    assert!(
        generated == read_below(&repository().join(checked_in)),
        "{command} does not write what {checked_in} holds"
    );
}

/// The files below a folder by their relative paths.
fn read_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn typescript() {
    check("generate-ts", &[], "schema/typescript/stable");
    let older = ["--for", "0.117"];
    check("generate-ts", &older, "schema/typescript/stable-0.117");
    let all = ["--for", "0.117", "--experimental"];
    check("generate-ts", &all, "schema/typescript/experimental-0.117");
    check(
        "generate-ts",
        &["--experimental"],
        "schema/typescript/experimental",
    );
}

#[test]
fn json_schema() {
    check("generate-json-schema", &[], "schema/json/stable");
    let older = ["--for", "0.117"];
    check("generate-json-schema", &older, "schema/json/stable-0.117");
    check(
        "generate-json-schema",
        &["--experimental"],
        "schema/json/experimental",
    );
}

#[test]
fn openrpc() {
    check("generate-openrpc", &[], "schema/openrpc/stable");
    let older = ["--for", "0.117"];
    check("generate-openrpc", &older, "schema/openrpc/stable-0.117");
    check(
        "generate-openrpc",
        &["--experimental"],
        "schema/openrpc/experimental",
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("below");
    let output = codex(&[
        "app-server",
        "generate-ts",
        "--out",
        below.to_str().unwrap(),
    ]);
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains(below.to_str().unwrap()), "{message}");
}
