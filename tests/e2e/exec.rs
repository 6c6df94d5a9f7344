//! `codex exec`: a turn for scripts.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::experimental_server;
use crate::{repository, stdout_of};

/// A home, and a repository to work in.
pub(crate) struct ExecFolders {
    pub(crate) home: TempDir,
    pub(crate) work: TempDir,
}

impl ExecFolders {
    pub(crate) fn new() -> Self {
        let work = tempfile::tempdir().unwrap();
        fs::create_dir(work.path().join(".git")).unwrap();
        let home = tempfile::tempdir().unwrap();
        Self { home, work }
    }

    pub(crate) fn with_model(model: &ModelServer) -> Self {
        let place = Self::new();
        let config = format!(
            "model = \"gpt-5.3-codex\"\nmodel_provider = \"scripted\"\n\
             [model_providers.scripted]\nname = \"Scripted\"\n\
             base_url = \"{}\"\nwire_api = \"responses\"\nrequest_max_retries = 0\n\
             stream_max_retries = 0\n",
            model.base_url()
        );
        fs::write(place.home.path().join("config.toml"), config).unwrap();
        place
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
        command
            .arg("exec")
            .args(arguments)
            .env("HOME", self.home.path())
            .env("CODEX_HOME", self.home.path())
            .current_dir(self.work.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn exec(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn rollouts(&self) -> Vec<PathBuf> {
        below(&self.home.path().join("sessions"))
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

pub(crate) fn scenario(name: &str) -> String {
    let path = repository().join("scenarios").join(name);
    path.to_str().unwrap().to_owned()
}

pub(crate) fn events(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[test]
fn standard_output_has_only_the_last_message() {
    let place = ExecFolders::new();
    let plan = scenario("plan.toml");
    let output = place.exec(&["--scenario", &plan, "the largest file?"]);
    assert_eq!(stdout_of(&output), "It is the first one of the list.\n");
    let progress = String::from_utf8(output.stderr).unwrap();
    for part in [
        "the largest file?",
        "[x] List the files",
        "$ ls -S",
        "tokens in",
    ] {
        assert!(progress.contains(part), "{part} is not in:\n{progress}");
    }
    assert_eq!(place.rollouts().len(), 1);
}

#[test]
fn json_is_an_event_a_line() {
    let place = ExecFolders::new();
    let output = place.exec(&["--json", "--scenario", &scenario("plan.toml"), "hi"]);
    let events = events(&output);
    assert_eq!(
        kinds(&events),
        [
            "thread.started",
            "turn.started",
            "item.started",
            "item.started",
            "item.completed",
            "item.updated",
            "item.completed",
            "item.completed",
            "turn.completed"
        ]
    );
    assert!(events[0]["thread_id"].is_string());
    assert_eq!(events[4]["item"]["type"], "command_execution");
    assert_eq!(events[4]["item"]["exit_code"], 0);
    assert!(events[8]["usage"]["input_tokens"].as_i64().unwrap() > 0);
}

#[test]
fn a_turn_that_fails_is_a_failure() {
    let place = ExecFolders::new();
    let full = scenario("context-full.toml");
    let output = place.exec(&["--json", "--scenario", &full, "hi"]);
    assert_eq!(output.status.code(), Some(1));
    let events = events(&output);
    assert_eq!(
        kinds(&events),
        ["thread.started", "turn.started", "error", "turn.failed"]
    );
    assert!(events[3]["error"]["message"].is_string());
    let output = place.exec(&["--scenario", &full, "hi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

#[test]
fn read_only_run_declines_the_patch_without_a_question() {
    let place = ExecFolders::new();
    let script = scenario("approve-patch.toml");
    let output = place.exec(&["--json", "-s", "read-only", "--scenario", &script, "hi"]);
    assert!(output.status.success());
    assert!(!place.work.path().join("USAGE").exists());
}

#[test]
fn the_prompt_can_come_from_standard_input() {
    let place = ExecFolders::new();
    let mut child = place
        .command(&["--scenario", &scenario("hello.toml"), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"say hello, please").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout_of(&output), "Hello! What shall we work on?\n");
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(progress.contains("say hello, please"), "{progress}");
    let empty = place.exec(&["--scenario", &scenario("hello.toml")]);
    assert_eq!(empty.status.code(), Some(1));
}

#[test]
fn exec_outside_a_repository_needs_its_flag() {
    let place = ExecFolders::new();
    fs::remove_dir(place.work.path().join(".git")).unwrap();
    let hello = scenario("hello.toml");
    let output = place.exec(&["--scenario", &hello, "hi"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("--skip-git-repo-check"), "{message}");
    stdout_of(&place.exec(&["--skip-git-repo-check", "--scenario", &hello, "hi"]));
}

#[test]
fn ephemeral_stores_nothing() {
    let place = ExecFolders::new();
    stdout_of(&place.exec(&["--ephemeral", "--scenario", &scenario("hello.toml"), "hi"]));
    assert_eq!(place.rollouts(), Vec::<PathBuf>::new());
}

#[test]
fn interrupt_ends_the_turn_normally() {
    let place = ExecFolders::new();
    let mut child = place
        .command(&[
            "--json",
            "--scenario",
            &scenario("slow-answer.toml"),
            "a story",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("turn.started")));
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    let last = lines.last().unwrap().unwrap();
    assert!(
        last.contains("turn.failed") && last.contains("interrupted"),
        "{last}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[tokio::test]
async fn exec_options_reach_the_model() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("{}"))])
        .await
        .unwrap();
    let place = ExecFolders::with_model(&model);
    let schema = place.home.path().join("schema.json");
    let shape = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    fs::write(&schema, shape.to_string()).unwrap();
    let message = place.home.path().join("message.txt");
    let output = tokio::task::spawn_blocking({
        let mut command = place.command(&[
            "--output-schema",
            schema.to_str().unwrap(),
            "-o",
            message.to_str().unwrap(),
            "-m",
            "some-model",
            "hi",
        ]);
        move || command.output().unwrap()
    });
    assert_eq!(stdout_of(&output.await.unwrap()), "{}\n");
    assert_eq!(fs::read_to_string(message).unwrap(), "{}");
    let request = model.requests()[0].json();
    assert_eq!(request["model"], "some-model");
    assert_eq!(request["text"]["format"]["schema"], shape);
}

#[tokio::test]
async fn exec_resume_continues_the_thread() {
    let replies = ["one", "two", "three"].map(|text| HttpReply::stream(&sse::text(text)));
    let model = ModelServer::start(replies).await.unwrap();
    let place = ExecFolders::with_model(&model);
    let exec = async |arguments: &[&str]| {
        let mut command = place.command(arguments);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        output.await.unwrap()
    };
    let first = exec(&["--json", "the first thing"]).await;
    let thread = events(&first)[0]["thread_id"].as_str().unwrap().to_owned();
    let second = exec(&["resume", &thread, "the second thing"]).await;
    assert_eq!(stdout_of(&second), "two\n");
    let third = exec(&["resume", "--last", "the third thing"]).await;
    assert_eq!(stdout_of(&third), "three\n");
    let input = model.requests()[2].json()["input"].to_string();
    for part in [
        "the first thing",
        "one",
        "the second thing",
        "two",
        "the third thing",
    ] {
        assert!(input.contains(part), "{part} is not in: {input}");
    }
    let nowhere = exec(&["-C", "/", "--skip-git-repo-check", "resume", "--last", "hi"]).await;
    assert_eq!(nowhere.status.code(), Some(1));
    let message = String::from_utf8(nowhere.stderr).unwrap();
    assert!(message.contains("--all looks everywhere"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flags_that_the_typescript_sdk_passes_are_taken() {
    let model = ModelServer::start([
        HttpReply::stream(&sse::text("hello")),
        HttpReply::stream(&sse::text("again")),
    ])
    .await
    .unwrap();
    let place = ExecFolders::with_model(&model);
    let schema = place.home.path().join("schema.json");
    fs::write(&schema, "{}").unwrap();
    let url = format!("openai_base_url=\"{}\"", model.base_url());
    let run = |more: &[&str]| {
        let mut command = place.command(&[
            "--experimental-json",
            "--config",
            &url,
            "--model",
            "gpt-5.4",
        ]);
        command.args([
            "--sandbox",
            "read-only",
            "--cd",
            place.work.path().to_str().unwrap(),
        ]);
        command.args(["--add-dir", "/tmp", "--skip-git-repo-check"]);
        command.args(["--output-schema", schema.to_str().unwrap()]);
        command.args([
            "--config",
            "model_reasoning_effort=\"max\"",
            "--config",
            "web_search=\"live\"",
        ]);
        command.args(["--config", "sandbox_workspace_write.network_access=true"]);
        command
            .args(["--config", "approval_policy=\"never\""])
            .args(more);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hi").unwrap();
        child.wait_with_output().unwrap()
    };
    let first = run(&["--thread-source", "mine"]);
    let first = events(&first);
    assert_eq!(
        kinds(&first),
        [
            "thread.started",
            "turn.started",
            "item.completed",
            "turn.completed"
        ]
    );
    let usage = first[3]["usage"].as_object().unwrap();
    for count in [
        "input_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
    ] {
        assert!(usage[count].is_i64(), "{count}");
    }
    let id = first[0]["thread_id"].as_str().unwrap();
    let again = events(&run(&["resume", id]));
    assert_eq!(again[0]["thread_id"], id);
    assert_eq!(again[2]["item"]["text"], "again");
    let request = model.request(0).await.json();
    assert_eq!(request["reasoning"]["effort"], "max");
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_are_accepted_before_the_subcommand() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("hello"))])
        .await
        .unwrap();
    let place = ExecFolders::with_model(&model);
    let settings = place.home.path().join("config.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(
        &settings,
        text + "[profiles.p]\nmodel_reasoning_effort = \"low\"\n",
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
    let output = command
        .args([
            "-a",
            "on-request",
            "-m",
            "gpt-5.4",
            "-s",
            "read-only",
            "-p",
            "p",
            "--search",
            "-C",
        ])
        .arg(place.work.path())
        .args(["e", "hi"])
        .env("HOME", place.home.path())
        .env("CODEX_HOME", place.home.path())
        .current_dir(place.home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(stdout_of(&output), "hello\n");
    let progress = String::from_utf8(output.stderr).unwrap();
    let id = progress
        .lines()
        .find_map(|line| line.trim().strip_prefix("session id: "));
    let id = id.unwrap_or_else(|| panic!("no session id in:\n{progress}"));
    assert!(place.rollouts()[0].to_str().unwrap().contains(id.trim()));
    let request = model.request(0).await.json();
    assert_eq!(request["model"], "gpt-5.4");
    assert_eq!(request["reasoning"]["effort"], "low");
    let text = request["input"].to_string();
    assert!(text.contains(place.work.path().to_str().unwrap()), "{text}");
    let tools = request["tools"].as_array().unwrap();
    assert!(
        tools
            .iter()
            .any(|tool| tool["type"] == "web_search" && tool["external_web_access"] == true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_needs_no_exec() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("Fine."))])
        .await
        .unwrap();
    let place = ExecFolders::with_model(&model);
    let output = Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["review", "Look at the arithmetic."])
        .env("HOME", place.home.path())
        .env("CODEX_HOME", place.home.path())
        .current_dir(place.work.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(stdout_of(&output).contains("Fine."));
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_environment_key_is_reported() {
    let refusals = std::iter::repeat_with(|| HttpReply::status(401)).take(8);
    let model = ModelServer::start(refusals).await.unwrap();
    let place = ExecFolders::with_model(&model);
    let told = |more: &[&str]| {
        let mut command = place.command(&[more, &["hi"]].concat());
        let output = command.env("OPENAI_API_KEY", "sk-mine").output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let unused = "OPENAI_API_KEY is set, and was not used";
    let own = told(&[]);
    assert!(own.contains(unused) && !own.contains("sk-mine"), "{own}");
    let takes_it = r#"model_providers.scripted.env_key="OPENAI_API_KEY""#;
    let used = told(&["-c", takes_it]);
    assert!(!used.contains(unused), "{used}");
    let sent = model.requests().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-mine"));

    let url = format!("openai_base_url=\"{}\"", model.base_url());
    let hosted = told(&["-c", "model_provider=\"openai\"", "-c", &url]);
    assert!(hosted.contains("codex login --with-api-key"), "{hosted}");
    assert!(!hosted.contains("sk-mine"), "{hosted}");
}

/// The tools of a request that only a person could answer: a tool for questions, arguments that ask to leave the sandbox.
fn asking_tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap().iter();
    let asking = tools.filter(|tool| {
        tool["name"] == "request_user_input" || tool.to_string().contains("require_escalated")
    });
    asking
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unattended_run_has_no_tool_to_ask() {
    let model = ModelServer::start([]).await.unwrap();
    model.answer(|request| {
        let request = request.json();
        let called = request["input"].as_array().unwrap().last().unwrap().clone();
        let call = match called["call_id"].as_str() {
            None if called.to_string().contains("start an agent") => {
                sse::function_call("spawn", "spawn_agent", &json!({ "message": "look" }))
            }
            Some("spawn") => {
                let agent: Value =
                    serde_json::from_str(called["output"].as_str().unwrap()).unwrap();
                sse::function_call(
                    "wait",
                    "wait_agent",
                    &json!({ "targets": [agent["agent_id"]] }),
                )
            }
            _ => return None,
        };
        Some(HttpReply::stream(&sse::items(&[call])))
    });
    model.always(HttpReply::stream(&sse::text("done")));
    let folders = ExecFolders::with_model(&model);
    assert!(folders.exec(&["start an agent"]).status.success());
    let requests = model.requests();
    assert_eq!(requests.len(), 4, "two calls and two answers");
    for request in &requests {
        assert_eq!(asking_tools(&request.json()), [] as [String; 0]);
    }

    // A person who is asked before commands run can be asked for more.
    let folders = ExecFolders::with_model(&model);
    let mut server = experimental_server(&folders.home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "say done").await;
    let last = model.requests().pop().unwrap();
    assert_eq!(
        asking_tools(&last.json()),
        ["exec_command", "request_user_input"]
    );
    server.finish().await.unwrap();
}
