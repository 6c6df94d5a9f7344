//! Undo: files go back to how they were before a turn, in a real repository.

use std::fs;
use std::path::Path;

use codex_test_support::{copy_executable, sse, write_executable};
use serde_json::{Value, json};

use crate::git::git;
use crate::proto::Proto;

const SETTINGS: &str = r#"
model = "gpt-5.2-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[features]
unified_exec = false
"#;

/// What the model does to the files.
const SCRIPT: &str = "echo new > tracked; echo new > untracked; echo new > large; rm removed; \
                      mkdir -p d/e; echo x > d/e/fresh; echo y > added; git add added";

fn repository(folder: &Path) {
    git(folder, &["init", "--quiet"]);
    for (name, content) in [("tracked", "old\n"), ("removed", "old\n")] {
        fs::write(folder.join(name), content).unwrap();
    }
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", "first"]);
    fs::write(folder.join("untracked"), "mine\n").unwrap();
    fs::write(folder.join("large"), "more than ten bytes\n").unwrap();
}

fn undo(proto: &mut Proto) -> Value {
    proto.submit("u", &json!({ "type": "undo" }));
    proto.wait_for("undo_started");
    let done = proto.wait_for("undo_completed");
    proto.wait_for("task_complete");
    done["msg"].clone()
}

#[test]
fn an_undo_puts_the_files_back_once() {
    let call = sse::function_call("c", "shell_command", &json!({ "command": SCRIPT }));
    let mut proto = Proto::start(SETTINGS, &[sse::items(&[call])], repository);
    proto.submit_text("1", "go");
    proto.wait_for("task_complete");
    assert!(!proto.model_request(1).contains("ghost"));
    let cwd = proto.cwd();
    let text = |name: &str| fs::read_to_string(cwd.join(name)).unwrap();
    assert_eq!(
        (text("tracked"), text("untracked")),
        ("new\n".into(), "new\n".into())
    );

    let done = undo(&mut proto);
    assert_eq!(done["success"], true, "{done}");
    let message = done["message"].as_str().unwrap();
    assert_eq!(message, "Undo restored 6 files.");
    let expected = [
        ("tracked", "old\n"),
        ("removed", "old\n"),
        ("untracked", "mine\n"),
        ("large", "more than ten bytes\n"),
    ];
    for (name, content) in expected {
        assert_eq!(text(name), content, "{name}");
    }
    assert!(!cwd.join("d").exists() && !cwd.join("added").exists());
    let own = fs::read_dir(cwd.join(".git")).unwrap();
    let names = own.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.starts_with("codex-")));

    let again = undo(&mut proto);
    assert_eq!(again["success"], false);
    assert_eq!(again["message"], "No ghost snapshot available to undo.");
}

#[test]
fn without_a_repository_there_is_nothing_to_undo() {
    let mut proto = Proto::start(SETTINGS, &[], |_| {});
    proto.submit_text("1", "go");
    proto.wait_for("task_complete");
    assert_eq!(undo(&mut proto)["success"], false);
}

/// A repository whose settings name programs for files, and hooks.
fn hostile_repository(folder: &Path) {
    repository(folder);
    let (program, mark) = (folder.join(".git/evil"), folder.join("../ran"));
    write_executable(
        &program,
        format!("#!/bin/sh\ntouch {}\ncat\n", mark.display()),
    )
    .unwrap();
    let name = program.to_str().unwrap();
    for setting in [
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.fsmonitor",
        "diff.x.textconv",
    ] {
        git(folder, &["config", setting, name]);
    }
    fs::create_dir_all(folder.join(".git/info")).unwrap();
    for file in [".git/info/attributes", ".gitattributes"] {
        fs::write(folder.join(file), "* filter=x diff=x\n").unwrap();
    }
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
    ] {
        copy_executable(&program, &folder.join(".git/hooks").join(hook)).unwrap();
    }
}

#[test]
fn an_undo_runs_no_program_of_the_repository() {
    let call = sse::function_call(
        "c",
        "shell_command",
        &json!({ "command": "echo new > tracked" }),
    );
    let mut proto = Proto::start(SETTINGS, &[sse::items(&[call])], hostile_repository);
    proto.submit_text("1", "go");
    proto.wait_for("task_complete");
    assert_eq!(undo(&mut proto)["success"], true);
    assert_eq!(
        fs::read_to_string(proto.cwd().join("tracked")).unwrap(),
        "old\n"
    );
    assert!(!proto.cwd().join("../ran").exists());
}
