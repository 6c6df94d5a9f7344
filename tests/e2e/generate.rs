//! `codex app-server generate-*` writes what is checked in below `schema/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codex_test_support::write_executable;

use crate::{codex, repository, stdout_of};

/// The files that a command generates into an empty folder.
#[track_caller]
fn generate(command: &str, options: &[&str]) -> BTreeMap<PathBuf, String> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/on/demand");
    let arguments = [
        &["app-server", command, "--out", out.to_str().unwrap()],
        options,
    ]
    .concat();
    assert_eq!(stdout_of(&codex(&arguments)), "");
    read_below(&out)
}

/// Holds what a command generates against a checked-in folder.
#[track_caller]
fn check(command: &str, options: &[&str], checked_in: &str) {
    let generated = generate(command, options);
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
    let experimental = ["--experimental"];
    check(
        "generate-ts",
        &experimental,
        "schema/typescript/experimental",
    );
}

#[test]
fn json_schema() {
    const BUNDLE: &str = "codex_app_server_protocol.schemas.json";
    for (options, surface) in [(&[][..], "stable"), (&["--experimental"], "experimental")] {
        let generated = generate("generate-json-schema", options);
        let checked_in = repository().join("schema/json").join(surface).join(BUNDLE);
        let bundle = &generated[Path::new(BUNDLE)];
        assert!(
            *bundle == fs::read_to_string(checked_in).unwrap(),
            "{surface}"
        );
        for path in [
            "v2/ThreadStartParams.json",
            "v2/RequestId.json",
            "RequestId.json",
            "v1/InitializeParams.json",
        ] {
            assert!(generated.contains_key(Path::new(path)), "{surface}: {path}");
        }
    }
}

#[test]
fn openrpc() {
    let generated = generate("generate-openrpc", &["--for", "0.140"]);
    let text = &generated[Path::new("openrpc.json")];
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    let methods = document["methods"].as_array().unwrap();
    let has = |name: &str| methods.iter().any(|method| method["name"] == name);
    assert!(has("turn/start") && has("thread/delete") && !has("app/read"));
}

#[test]
fn types_of_any_release_can_be_generated() {
    let requests = |release| {
        let mut files = generate("generate-ts", &["--experimental", "--for", release]);
        files.remove(Path::new("ClientRequest.ts")).unwrap()
    };
    let older = requests("0.117");
    assert!(!older.contains("thread/goal/set"));
    let between = requests("0.150");
    assert!(between.contains("thread/goal/set") && !between.contains("project/create"));
    assert!(requests("0.171").contains("project/create"));
    for wrong in ["0.116", "0.172", "own", "1"] {
        let output = codex(&[
            "app-server",
            "generate-ts",
            "--out",
            "unused",
            "--for",
            wrong,
        ]);
        assert!(!output.status.success());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            message.contains("from 0.117 to 0.171"),
            "{wrong}: {message}"
        );
    }
}

#[test]
fn imports_have_the_extension_that_is_asked_for() {
    let files = generate("generate-ts", &["--import-extension", "js"]);
    for (path, text) in &files {
        for line in text.lines().filter(|line| line.contains(" from \"")) {
            assert!(line.ends_with(".js\";"), "{}: {line}", path.display());
        }
    }
    assert!(files[Path::new("index.ts")].contains("from \"./v2/index.js\""));
    let wrong = [
        "app-server",
        "generate-ts",
        "--out",
        "unused",
        "--import-extension",
        "js\";",
    ];
    assert!(!codex(&wrong).status.success());
}

#[cfg(unix)]
#[test]
fn files_are_formatted_with_the_program_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        write_executable(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let marks = "test \"$1\" = --write || exit 1\nshift 3\nfor file; do echo '// formatted' >>\"$file\"; done\necho done";
    let program = script("formatter", marks);
    let files = generate("generate-ts", &["--prettier", &program, "--for", "0.117"]);
    assert!(files.len() > 400);
    for (path, text) in &files {
        assert!(text.ends_with("// formatted\n"), "{}", path.display());
    }
    let failing = script("failing", "exit 3");
    for (program, reason) in [
        (failing.as_str(), "did not format"),
        ("/none", "cannot run /none"),
    ] {
        let out = folder.path().join("out");
        let arguments = [
            "app-server",
            "generate-ts",
            "-p",
            program,
            "--out",
            out.to_str().unwrap(),
        ];
        let output = codex(&arguments);
        assert!(!output.status.success());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(reason), "{message}");
        assert!(out.join("index.ts").is_file());
    }
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
