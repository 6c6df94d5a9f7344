//! Folders whose names are not UTF-8, which messages cannot carry.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::json;

use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config};
use crate::threads::message_reply;

/// A folder with an entry of each kind, all without names in UTF-8.
fn unnamed(base: &Path) -> PathBuf {
    let folder = base.join(OsStr::from_bytes(b"work\xff"));
    fs::create_dir(&folder).unwrap();
    fill(&folder);
    folder
}

fn fill(folder: &Path) {
    fs::write(folder.join(OsStr::from_bytes(b"file\xfe")), "x").unwrap();
    let skill = folder.join(OsStr::from_bytes(b".agents/skills/skill\xfd"));
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: one\ndescription: None.\n---\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
}

fn run(cwd: &Path, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .env_remove("CODEX_HOME")
        .envs(variables.iter().copied())
        .current_dir(cwd)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn program_in_an_unnamed_folder_never_panics() {
    let home = home_with("");
    let work = unnamed(home.path());
    let own = ("CODEX_HOME", home.path().as_os_str());
    for (arguments, expected) in [
        (["exec", "--skip-git-repo-check", "hi"].as_slice(), 1),
        (&["debug", "app-server", "send", "hi"], 1),
        (&["plugin", "list"], 1),
        (&["app-server"], 0),
        (&["acp"], 0),
        (&["mcp-server"], 0),
        (&["features", "list"], 0),
    ] {
        let output = run(&work, arguments, &[own]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{arguments:?}: {errors}"
        );
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
        if expected == 1 {
            assert!(errors.contains("UTF-8"), "{arguments:?}: {errors}");
        }
    }
}

#[test]
fn unnamed_home_folder_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let work = unnamed(base.path());
    let link = base.path().join("link");
    symlink(&work, &link).unwrap();
    for variable in [
        ("CODEX_HOME", work.as_os_str()),
        ("CODEX_HOME", link.as_os_str()),
        ("CODEX_HOME", OsStr::from_bytes(b"/none\xff")),
        ("HOME", work.as_os_str()),
    ] {
        for arguments in [
            ["app-server"].as_slice(),
            &["exec", "--skip-git-repo-check", "hi"],
            &["login", "status"],
        ] {
            let output = run(base.path(), arguments, &[variable]);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{variable:?} {arguments:?}: {errors}"
            );
            assert!(errors.contains("not valid UTF-8"), "{variable:?}: {errors}");
        }
    }
    assert!(!work.join(".codex").exists());
}

/// A link has a name, what it leads to has none.
#[tokio::test]
async fn threads_and_lists_work_where_such_names_are_met() {
    let patch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch\n";
    let replies = [
        HttpReply::stream(&sse::items(&[sse::custom_call("p", "apply_patch", patch)])),
        HttpReply::stream(&sse::items(&[sse::function_call(
            "c",
            "shell_command",
            &json!({ "command": "pwd; ls" }),
        )])),
        message_reply("m", "done"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let settings =
        "sandbox_mode = \"danger-full-access\"\n[features]\napply_patch_freeform = true\n";
    let home = home_with(&scripted_config(&model, settings));
    let work = unnamed(home.path());
    let link = home.path().join("link");
    symlink(&work, &link).unwrap();
    let named = home.path().join("named");
    fs::create_dir(&named).unwrap();
    fill(&named);
    let mut server = experimental_server(&home).await;
    for folder in [&link, &named] {
        for (method, params) in [
            ("fs/readDirectory", json!({ "path": folder })),
            ("fuzzyFileSearch", json!({ "query": "", "roots": [folder] })),
            (
                "skills/list",
                json!({ "cwds": [folder], "forceReload": true }),
            ),
            ("hooks/list", json!({ "cwds": [folder] })),
            (
                "config/read",
                json!({ "cwd": folder, "includeLayers": true }),
            ),
            ("plugin/list", json!({ "cwds": [folder] })),
        ] {
            server.result(method, params).await;
        }
    }
    let thread = server.start_thread_with(json!({ "cwd": link })).await;
    let ended = server.run_turn(&thread, "go").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(work.join("new").exists());
    server.finish().await.unwrap();
}
