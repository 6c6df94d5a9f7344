//! Flags of `codex exec` that callers of other releases pass.

use std::process::Stdio;

use codex_test_support::{HttpReply, ModelServer, sse};

use crate::exec::ExecFolders;
use crate::typed_commands::run;
use crate::{repository, stdout_of};

fn hello() -> String {
    let path = repository().join("scenarios/hello.toml");
    path.to_str().unwrap().to_owned()
}

#[test]
fn unsupported_flags_name_the_replacement() {
    let cases = [
        ("--worktree", "git worktree add"),
        ("--local-provider=other", "-c model_provider=other"),
    ];
    let hello = hello();
    for (flag, instead) in cases {
        for arguments in [
            ["exec", "--scenario", &hello, "hi", flag],
            [flag, "exec", "--scenario", &hello, "hi"],
        ] {
            let output = run(&ExecFolders::new(), &arguments);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains(instead), "{arguments:?}: {error}");
        }
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
fn unending_input_does_not_block_the_run() {
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

#[tokio::test]
async fn flags_before_the_command_are_those_of_the_command() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))]);
    let model = model.await.unwrap();
    let place = ExecFolders::with_model(&model);
    let image = place.work.path().join("dot.png");
    image::RgbImage::new(1, 1).save(&image).unwrap();
    let other = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_codex"));
    command
        .args(["-i", "dot.png", "--add-dir"])
        .arg(other.path())
        .args(["-s", "workspace-write", "-c", "model=\"first\""])
        .args(["exec", "hi", "-c", "model=\"second\""])
        .env("HOME", place.home.path())
        .env("CODEX_HOME", place.home.path())
        .current_dir(place.work.path())
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    assert_eq!(stdout_of(&output.await.unwrap()), "done\n");
    let request = model.requests()[0].json();
    assert_eq!(request["model"], "second");
    let text = request.to_string();
    assert_eq!(text.matches("input_image").count(), 1, "{text}");
    assert!(text.contains(&*other.path().to_string_lossy()), "{text}");
}

#[test]
fn a_local_model_can_be_named_before_the_command() {
    let place = ExecFolders::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_codex"));
    let output = command
        .args(["--local-provider", "other", "exec", "hi"])
        .env("CODEX_HOME", place.home.path())
        .current_dir(place.work.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("-c model_provider=other"), "{error}");
}

fn command_of(command: &str, escalated: bool) -> HttpReply {
    let mut arguments = serde_json::json!({ "command": command });
    if escalated {
        arguments["sandbox_permissions"] = "require_escalated".into();
        arguments["justification"] = "it is needed".into();
    }
    let call = sse::function_call("call", "shell_command", &arguments);
    HttpReply::stream(&sse::items(&[call]))
}

#[test]
fn settings_of_the_user_are_left_out_on_request() {
    let place = ExecFolders::new();
    std::fs::write(place.home.path().join("config.toml"), "no = = toml").unwrap();
    let (hello, ignore) = (hello(), "--ignore-user-config");
    let refused = place.exec(&["--scenario", &hello, "hi"]);
    assert!(!refused.status.success());
    let events = stdout_of(&place.exec(&["--scenario", &hello, "hi", "--json", ignore]));
    assert!(events.contains("turn.completed"), "{events}");
    // A server that runs has read them.
    let remote = ["hi", ignore, "--remote", "ws://127.0.0.1:1"];
    let refused = place.exec(&remote);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("start the server with"), "{error}");
}

#[tokio::test]
async fn user_and_project_rules_can_be_ignored() {
    for (flags, runs) in [(&[][..], false), (&["--ignore-rules"][..], true)] {
        let model = ModelServer::start([command_of("touch made", false)]).await;
        let model = model.unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
        let place = ExecFolders::with_model(&model);
        let rules = place.home.path().join("rules");
        std::fs::create_dir(&rules).unwrap();
        let forbidden = "prefix_rule([\"touch\"], \"forbidden\")\n";
        std::fs::write(rules.join("default.rules"), forbidden).unwrap();
        let mut command = place.command(&[&["go", "-s", "danger-full-access"], flags].concat());
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        assert!(output.unwrap().unwrap().status.success());
        assert_eq!(place.work.path().join("made").exists(), runs, "{flags:?}");
    }
}

#[tokio::test]
async fn a_reviewer_decides_on_request() {
    for (score, runs) in [(10, true), (95, false)] {
        let verdict = serde_json::json!({ "risk_level": "low", "risk_score": score,
            "rationale": "because", "evidence": [] });
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let command = format!("touch {}", made.display());
        let replies = [
            command_of(&command, true),
            HttpReply::stream(&sse::text(&verdict.to_string())),
        ];
        let model = ModelServer::start(replies).await.unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
        let place = ExecFolders::with_model(&model);
        let mut command = place.command(&["go", "--approve-for-me"]);
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        assert!(output.unwrap().unwrap().status.success());
        assert_eq!(made.exists(), runs, "{score}");
    }
}
