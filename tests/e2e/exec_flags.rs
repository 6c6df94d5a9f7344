//! Flags of `codex exec` that callers of other releases pass.

use std::process::Stdio;

use codex_test_support::{HttpReply, ModelServer, sse};

use crate::exec::ExecFolders;
use crate::{repository, stdout_of};

fn hello() -> String {
    let path = repository().join("scenarios/hello.toml");
    path.to_str().unwrap().to_owned()
}

#[test]
fn flags_that_are_not_supported_say_what_to_use_instead() {
    let cases = [
        ("--approve-for-me", "--sandbox"),
        ("--worktree", "git worktree add"),
        ("--strict-config", "codex doctor"),
        ("--ignore-user-config", "CODEX_HOME"),
        ("--ignore-rules", "CODEX_HOME"),
        ("--local-provider=other", "-c model_provider=other"),
    ];
    for (flag, instead) in cases {
        let output = ExecFolders::new().exec(&["--scenario", &hello(), "hi", flag]);
        assert_eq!(output.status.code(), Some(1), "{flag}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(instead), "{flag}: {error}");
    }
}

#[test]
fn flags_without_an_effect_here_are_accepted() {
    let hello = hello();
    let flags = [
        "--trust",
        "--dangerously-bypass-hook-trust",
        "--experimental-json",
        "--color=never",
    ];
    let arguments = [&["--scenario", &hello, "hi"][..], &flags].concat();
    let events = stdout_of(&ExecFolders::new().exec(&arguments));
    assert!(events.contains("turn.completed"), "{events}");
}

/// Programs of continuous integration leave their end of the pipe open.
#[test]
fn an_input_that_never_ends_holds_up_nothing() {
    let place = ExecFolders::new();
    let mut command = place.command(&["--scenario", &hello(), "hi"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    assert!(child.wait_with_output().unwrap().status.success());
    drop(open);
}

#[tokio::test]
async fn a_profile_may_be_a_file_of_its_own() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))]);
    let model = model.await.unwrap();
    let place = ExecFolders::with_model(&model);
    let profile = place.home.path().join("small.config.toml");
    std::fs::write(
        profile,
        "model = \"small-model\"\n[features]\nunified_exec = false\n",
    )
    .unwrap();
    let mut command = place.command(&["-p", "small", "hi"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    assert_eq!(stdout_of(&output.await.unwrap()), "done\n");
    assert_eq!(model.requests()[0].json()["model"], "small-model");
}
