//! `codex debug trace-replay`: what was recorded happens again, and the first request that differs is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use codex_test_support::{HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::{answer_with, home_with, hook};
use crate::setup::{home_with as home_with_config, scripted_config, server_in};
use crate::trace_record::{TraceBundle, Traced, bundles, message_item, response};
use crate::trace_reduce::unpack;
use crate::{codex, repository};

pub(crate) fn replay(bundle: &Path, more: &[&str]) -> Output {
    codex(&[&["debug", "trace-replay", bundle.to_str().unwrap()], more].concat())
}

#[track_caller]
pub(crate) fn check(output: &Output, status: i32, parts: &[&str]) {
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{printed}");
    for part in parts {
        assert!(printed.contains(part), "{part:?} is not in\n{printed}");
    }
}

/// Plays a ready scenario. Returns its bundle, and its folder without the files of the session.
pub(crate) fn recorded(scenario: &str) -> (PathBuf, TempDir) {
    recorded_file(&repository().join("scenarios").join(scenario))
}

fn recorded_file(script: &Path) -> (PathBuf, TempDir) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("demo");
    let [script, path] = [script, &folder].map(|path| path.to_str().unwrap());
    codex(&["demo", "--script", script, "--auto", "--folder", path]);
    let mut bundles = fs::read_dir(folder.join("traces")).unwrap();
    let bundle = temporary.path().join("bundle");
    fs::rename(bundles.next().unwrap().unwrap().path(), &bundle).unwrap();
    fs::remove_dir_all(folder).unwrap();
    (bundle, temporary)
}

#[test]
fn ready_scenarios_replay_without_their_files() {
    for scenario in [
        "approve-patch.toml",
        "ask-for-more.toml",
        "ask-the-person.toml",
        "context-full.toml",
        "cut-stream.toml",
        "decline-command.toml",
        "failing-command.toml",
        "parallel-commands.toml",
        "rate-limited.toml",
        "server-error.toml",
        "stall.toml",
        "tour.toml",
        "usage-limit.toml",
    ] {
        let (bundle, _folder) = recorded(scenario);
        let output = replay(&bundle, &[]);
        println!("{scenario}");
        check(&output, 0, &[": same, "]);
    }
}

#[test]
fn a_changed_sentence_is_found_in_the_first_request() {
    let (bundle, _folder) = recorded("tour.toml");
    let changed = "developer_instructions=\"Answer in one sentence.\"";
    let output = replay(&bundle, &["-c", changed]);
    check(
        &output,
        1,
        &["/root, turn 1, request 1: ", "Answer in one sentence."],
    );
    // A recording that was changed is not looked at further, unless it has no checksums.
    let requests = fs::read_dir(bundle.join("payloads")).unwrap();
    for file in requests.map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(
            file,
            text.replace("The sandbox mode is", "The sandbox mode was"),
        )
        .unwrap();
    }
    let output = replay(&bundle, &[]);
    check(&output, 1, &["stopped: ", "its checksum differs"]);
    assert!(
        !String::from_utf8(output.stdout)
            .unwrap()
            .contains("mode was")
    );
    let log = bundle.join("trace.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    while let Some(at) = text.find(",\"xxh3\":\"") {
        text.replace_range(at..at + ",\"xxh3\":\"0123456789abcdef\"".len(), "");
    }
    fs::write(&log, text).unwrap();
    let output = replay(&bundle, &[]);
    let expected = [
        "request 1: ",
        "-The sandbox mode was",
        "+The sandbox mode is",
    ];
    check(&output, 1, &expected);
}

#[test]
fn a_bundle_without_settings_and_inputs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = replay(&unpack(folder.path()), &[]);
    check(
        &output,
        4,
        &["cannot be replayed: ", "neither settings nor inputs"],
    );
    let output = replay(Path::new("/no/such/bundle"), &[]);
    check(&output, 2, &["/no/such/bundle"]);
}

#[test]
fn damaged_recording_is_reported_without_waiting() {
    let (bundle, _folder) = recorded("tour.toml");
    let log = fs::read_to_string(bundle.join("trace.jsonl")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let torn = [&lines[..lines.len() - 3], &["{\"torn"]]
        .concat()
        .join("\n");
    fs::write(bundle.join("trace.jsonl"), torn).unwrap();
    check(&replay(&bundle, &[]), 3, &["as far as it goes"]);
    let request = lines
        .iter()
        .position(|line| line.contains("inference_started"));
    let killed = lines[..request.unwrap()].join("\n");
    fs::write(bundle.join("trace.jsonl"), killed).unwrap();
    check(
        &replay(&bundle, &[]),
        3,
        &["same as far as it goes, 0 requests"],
    );
    let changed = log.replacen("\"turn_started\"", "\"turn_Started\"", 1);
    fs::write(bundle.join("trace.jsonl"), changed).unwrap();
    check(&replay(&bundle, &[]), 3, &["same as far as it goes"]);
    let is_start = |line: &&str| line.contains("\"turn_started\"");
    let kept: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !is_start(line))
        .collect();
    assert!(kept.len() < lines.len());
    fs::write(bundle.join("trace.jsonl"), kept.join("\n")).unwrap();
    check(&replay(&bundle, &[]), 3, &["same as far as it goes"]);
    fs::write(bundle.join("trace.jsonl"), "").unwrap();
    let nothing = "ended before anything was recorded";
    check(&replay(&bundle, &[]), 4, &[nothing]);
    fs::write(bundle.join("trace.jsonl"), lost_events(&lines)).unwrap();
    check(
        &replay(&bundle, &[]),
        3,
        &["same as far as it goes, 1 requests"],
    );
    fs::write(bundle.join("trace.jsonl"), &log).unwrap();
    let response = lines
        .iter()
        .find(|line| line.contains("inference_completed"));
    let response: Value = serde_json::from_str(response.unwrap()).unwrap();
    let payload = response["payload"]["response_payload"]["path"].as_str();
    fs::write(bundle.join(payload.unwrap()), "{\"output").unwrap();
    check(&replay(&bundle, &[]), 1, &["stopped: "]);
}

/// The lines of a log whose recorder lost the second request.
fn lost_events(lines: &[&str]) -> String {
    let mut requests = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("inference_started"));
    let (second, _) = requests.nth(1).unwrap();
    let event = lines.iter().find(|line| line.contains("\"turn_started\""));
    let mut gap: Value = serde_json::from_str(event.unwrap()).unwrap();
    gap["seq"] = serde_json::from_str::<Value>(lines[second]).unwrap()["seq"].take();
    gap["payload"]["event_type"] = "trace_gap".into();
    gap.as_object_mut().unwrap().remove("xxh3");
    let gap = gap.to_string();
    [&lines[..second], &[&gap], &lines[second + 1..]]
        .concat()
        .join("\n")
}

/// A server, and the replies of its model to a root thread and its agent.
async fn traced(replies: &[Vec<Value>]) -> (Traced, String) {
    let mut traced = Traced::start(replies).await;
    let thread = traced.thread().await;
    (traced, thread)
}

async fn bundle_of(traced: Traced, thread: &str) -> (TraceBundle, TempDir) {
    let (mut bundles, home) = traced.finish().await;
    (bundles.remove(thread).unwrap(), home)
}

/// What the replay does not need is missing, or is a pipe that nobody writes to.
#[cfg(unix)]
#[test]
fn damage_outside_the_replay_is_reported() {
    let (bundle, _folder) = recorded("tour.toml");
    let log = fs::read_to_string(bundle.join("trace.jsonl")).unwrap();
    let warning = log.lines().find(|line| line.contains("\"task_complete\""));
    let warning = warning.or_else(|| log.lines().find(|line| line.contains("\"turn_complete\"")));
    let event: Value = serde_json::from_str(warning.unwrap()).unwrap();
    let path = event["payload"]["event_payload"]["path"].as_str().unwrap();
    let path = bundle.join(path);
    fs::remove_file(&path).unwrap();
    check(
        &replay(&bundle, &[]),
        3,
        &["same as far as it goes, 4 requests"],
    );
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    check(
        &replay(&bundle, &[]),
        3,
        &["same as far as it goes, 4 requests"],
    );
    let state = bundle.join("state");
    let arguments = ["debug", "trace-reduce", bundle.to_str().unwrap(), "-o"];
    let reduced = codex(&[&arguments[..], &[state.to_str().unwrap()]].concat());
    assert_eq!(reduced.status.code(), Some(3));
}

/// Commands and patches run in a copy of the folder, which stays as it is.
#[tokio::test]
async fn live_tools_run_in_a_copy_of_the_folder() {
    let patch = "*** Begin Patch\n*** Update File: note.txt\n@@\n-one\n+two\n*** End Patch";
    let calls = [
        sse::function_call("c1", "exec_command", &json!({ "cmd": "cat note.txt; pwd" })),
        sse::function_call("c2", "apply_patch", &json!({ "input": patch })),
        sse::function_call("c3", "exec_command", &json!({ "cmd": "cat note.txt" })),
    ];
    let mut replies: Vec<_> = calls.into_iter().map(|call| response(&[call])).collect();
    replies.push(response(&[message_item("done")]));
    let mut traced = Traced::start(&replies).await;
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note.txt");
    fs::write(&note, "one\n").unwrap();
    let started = traced
        .server
        .call("thread/start", json!({ "cwd": folder.path() }));
    let started = started.await.unwrap();
    let thread = started["result"]["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    traced.turn(&thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    check(
        &replay(&bundle.0, &["--tools", "live"]),
        1,
        &["request 2: ", "-one", "+two"],
    );
    fs::write(&note, "one\n").unwrap();
    check(
        &replay(&bundle.0, &["--tools", "live"]),
        0,
        &["same, 4 requests"],
    );
    assert_eq!(fs::read_to_string(&note).unwrap(), "one\n");
    fs::write(&note, "1\n").unwrap();
    check(
        &replay(&bundle.0, &["--tools", "live"]),
        1,
        &["request 2: ", "-one", "+1"],
    );
}

/// Begins a turn, and returns its id once it runs a command.
async fn running_command(traced: &mut Traced, thread: &str) -> Value {
    let turn = traced.begin(thread).await;
    let is_command = |item: &Value| item["params"]["item"]["type"] == "commandExecution";
    while !is_command(&traced.server.wait_for("item/started").await.unwrap()) {}
    turn
}

/// Interrupts a turn while it runs a command, and has another turn.
async fn interrupt_command(traced: &mut Traced, thread: &str) {
    let turn = running_command(traced, thread).await;
    let params = json!({ "threadId": thread, "turnId": turn });
    traced.server.call("turn/interrupt", params).await.unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced.turn(thread).await;
}

/// The bundle has an end of the command that the model did not get.
#[tokio::test]
async fn commands_that_end_with_their_turn_are_interrupted_again() {
    let calls = ["c1", "c2"].map(|id| {
        let arguments = json!({ "command": "sleep 60" });
        sse::function_call(id, "shell_command", &arguments)
    });
    let features = "unified_exec = false";
    let mut traced =
        Traced::start_with_features("Scripted", "", features, &[response(&calls)]).await;
    let thread = traced.thread().await;
    interrupt_command(&mut traced, &thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
}

/// The end of the process ended the turn. A replay goes as far as what came before.
#[tokio::test]
async fn a_session_that_ended_within_a_turn_replays() {
    let call = sse::function_call("c1", "exec_command", &json!({ "cmd": "sleep 60" }));
    let (mut traced, thread) = traced(&[response(&[message_item("one")]), response(&[call])]).await;
    traced.turn(&thread).await;
    running_command(&mut traced, &thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
}

#[tokio::test]
async fn an_interrupted_tool_is_interrupted_again() {
    let call = sse::function_call("c1", "exec_command", &json!({ "cmd": "sleep 60" }));
    let (mut traced, thread) = traced(&[response(&[call])]).await;
    interrupt_command(&mut traced, &thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
    let first = replay(&bundle.0, &["--until", "1"]);
    check(&first, 0, &["same, 1 requests"]);
    check(
        &replay(&bundle.0, &["--until", "9"]),
        2,
        &["no end of turn 9"],
    );
}

#[tokio::test]
async fn a_stopped_response_and_a_turn_after_it_replay() {
    let (mut traced, thread) = traced(&[]).await;
    let never = Latch::new();
    let message = sse::message("");
    let beginning = sse::frames(&[sse::created("r1"), sse::added(&message), sse::delta("half")]);
    let hanging = HttpReply::status(200).header("content-type", "text/event-stream");
    traced.model.push(hanging.body(beginning).wait(&never));
    traced.model.push(answer_with("after"));
    let turn = traced.begin(&thread).await;
    traced
        .server
        .wait_for("item/agentMessage/delta")
        .await
        .unwrap();
    let params = json!({ "threadId": thread, "turnId": turn });
    traced.server.call("turn/interrupt", params).await.unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced.turn(&thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
}

/// Input that comes while a tool runs reaches the request after it; input that comes after the last response makes one more.
#[tokio::test]
async fn steered_turns_replay() {
    let call = |id: &str, command: &str| {
        let arguments = json!({ "cmd": command });
        response(&[sse::function_call(id, "exec_command", &arguments)])
    };
    let replies = [
        call("c1", "read line"),
        call("c2", "true"),
        response(&[message_item("one")]),
    ];
    let (mut traced, thread) = traced(&replies).await;
    for round in 0..2 {
        let turn = traced.begin(&thread).await;
        traced.server.wait_for("turn/started").await.unwrap();
        for number in 0..3 {
            let text = format!("also {round} {number}");
            let input = json!([{ "type": "text", "text": text }]);
            let params = json!({ "threadId": thread, "expectedTurnId": turn, "input": input });
            // It may come too late, which is recorded as well.
            traced.server.call("turn/steer", params).await.unwrap();
        }
        traced.server.wait_for("turn/completed").await.unwrap();
    }
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
}

/// The history goes back to what it was before the compaction.
#[tokio::test]
async fn a_revert_behind_a_compaction_replays() {
    let replies = ["one", "two", "SHORT", "three"].map(|text| response(&[message_item(text)]));
    let (mut traced, thread) = traced(&replies).await;
    traced.turn(&thread).await;
    let reverted = traced.begin(&thread).await;
    traced.server.wait_for("turn/completed").await.unwrap();
    let compact = json!({ "threadId": thread });
    traced.server.result("thread/compact/start", compact).await;
    traced.server.wait_for("turn/completed").await.unwrap();
    let params = json!({ "threadId": thread, "beforeTurnId": reverted });
    traced.server.result("thread/revert", params).await;
    traced.turn(&thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    bundle.replay();
}

/// What hooks add, refuse and change is in the bundle.
#[tokio::test]
async fn a_session_with_hooks_replays_without_them() {
    let adds = |event: &str, text: &str| {
        let output =
            json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } });
        hook(&format!("cat > /dev/null; echo '{output}'"))
    };
    let hooks = json!({
        "SessionStart": adds("SessionStart", "The session began."),
        "UserPromptSubmit": adds("UserPromptSubmit", "The user wrote."),
        "PreToolUse": adds("PreToolUse", "A tool is about to run."),
        "PostToolUse": adds("PostToolUse", "A tool has run."),
    });
    let call = sse::function_call("c1", "shell_command", &json!({ "command": "echo one" }));
    let replies = [
        HttpReply::stream(&sse::items(&[call])),
        answer_with("one"),
        answer_with("two"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with(&model, &hooks);
    let root = home.path().join("deep/traces");
    let mut server = server_in(
        &home,
        &[("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())],
    )
    .await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "go").await;
    server.run_turn(&thread, "again").await;
    server.finish().await.unwrap();
    let sent: String = model
        .requests()
        .iter()
        .map(|sent| sent.json().to_string())
        .collect();
    for text in [
        "The session began.",
        "The user wrote.",
        "A tool is about to run.",
        "A tool has run.",
    ] {
        assert!(sent.contains(text), "{text}");
    }
    bundles(home.path()).remove(&thread).unwrap().replay();
}

/// Files and rules that shape the requests are gone when the session is replayed.
#[tokio::test]
async fn session_replays_without_its_source_files() {
    let spawn = json!({ "message": "read", "agent_type": "careful" });
    let replies = [
        HttpReply::stream(&sse::items(&[sse::function_call(
            "spawn",
            "spawn_agent",
            &spawn,
        )])),
        answer_with("started"),
        answer_with("again"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    model.push_for_agent(answer_with("read"));
    let settings = "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n\
                    include_environment_context = false\n\
                    [features]\nmemories = true\nmulti_agent = true\n\
                    [agents.careful]\ndescription = \"Reads twice.\"\nconfig_file = \"careful.toml\"\n";
    let home = home_with_config(&scripted_config(&model, settings));
    let write = |name: &str, text: &str| {
        let file = home.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("memories/memory_summary.md", "The port is 8080.");
    write("careful.toml", "developer_instructions = \"Read twice.\"");
    write(
        "rules/default.rules",
        "prefix_rule([\"touch\"], \"allow\")\n",
    );
    let root = home.path().join("deep/traces");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    // That of the thread and that of its agent.
    for _ in 0..2 {
        server.wait_for("turn/completed").await.unwrap();
    }
    server.run_turn(&thread, "again").await;
    server.finish().await.unwrap();
    let sent: String = (model.requests().iter())
        .map(|sent| sent.json().to_string())
        .collect();
    for text in ["The port is 8080.", "[\\\"touch\\\"]", "Read twice."] {
        assert!(sent.contains(text), "{text} is missing: {sent}");
    }
    bundles(home.path()).remove(&thread).unwrap().replay();
}

/// The files of the working folder and of folders below it are gone when the session is replayed.
#[tokio::test]
async fn session_with_changed_instruction_files_replays_without_them() {
    let reads = |id: &str| {
        let arguments = json!({ "cmd": "cat deep/text", "command": "cat deep/text" });
        HttpReply::stream(&sse::items(&[sse::function_call(
            id,
            "shell_command",
            &arguments,
        )]))
    };
    let replies = [
        reads("first"),
        answer_with("one"),
        reads("second"),
        answer_with("two"),
        answer_with("three"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"read-only\"\n[features]\nunified_exec = false\n";
    let home = home_with_config(&scripted_config(&model, settings));
    let work = tempfile::tempdir().unwrap();
    let outer = work.path().join("AGENTS.md");
    let inner = work.path().join("deep/AGENTS.md");
    fs::create_dir(work.path().join("deep")).unwrap();
    let root = home.path().join("deep/traces");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    fs::write(&outer, "Outer, first.").unwrap();
    fs::write(&inner, "Inner, first.").unwrap();
    let params = json!({ "cwd": work.path() });
    let thread = server.start_thread_with(params).await;
    server.run_turn(&thread, "go").await;
    fs::write(&outer, "Outer, second.").unwrap();
    fs::write(&inner, "Inner, second.").unwrap();
    server.run_turn(&thread, "again").await;
    fs::remove_file(&outer).unwrap();
    server.run_turn(&thread, "and without").await;
    server.finish().await.unwrap();
    let last = model.requests().pop().unwrap().json().to_string();
    let told = [
        "Outer, first.",
        "Inner, first.",
        "Outer, second.",
        "Inner, second.",
        "There are none",
    ];
    for text in told {
        assert!(last.contains(text), "{text} is missing: {last}");
    }
    bundles(home.path()).remove(&thread).unwrap().replay();
}

/// The bundle of a session that continues a thread, or copies one, has the history.
#[tokio::test]
async fn sessions_that_continue_or_copy_a_thread_replay() {
    let (mut traced, thread) = traced(&[]).await;
    traced.turn(&thread).await;
    let forked = traced
        .server
        .call("thread/fork", json!({ "threadId": thread }))
        .await
        .unwrap();
    let forked = forked["result"]["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    traced.turn(&forked).await;
    let Traced {
        server,
        model,
        home,
    } = traced;
    server.finish().await.unwrap();
    for bundle in bundles(home.path()).values() {
        bundle.replay();
    }
    fs::remove_dir_all(home.path().join("deep/traces")).unwrap();
    let root = home.path().join("deep/traces");
    let mut server = server_in(
        &home,
        &[("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())],
    )
    .await;
    let resumed = server
        .call("thread/resume", json!({ "threadId": thread }))
        .await
        .unwrap();
    assert!(resumed["error"].is_null(), "{resumed}");
    server.run_turn(&thread, "go on").await;
    server.finish().await.unwrap();
    let bundle = bundles(home.path()).remove(&thread).unwrap();
    // Nothing of the home is needed.
    fs::remove_dir_all(home.path().join("sessions")).unwrap();
    bundle.replay();
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn commands_of_the_user_replay_without_being_run() {
    let (mut traced, thread) = traced(&[]).await;
    let made = traced.home.path().join("made");
    let command = format!("echo typed; touch {}", made.display());
    let params = json!({ "threadId": thread, "command": command });
    traced
        .server
        .call("thread/shellCommand", params)
        .await
        .unwrap();
    traced.server.wait_for("turn/completed").await.unwrap();
    traced.turn(&thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    fs::remove_file(&made).unwrap();
    bundle.replay();
    assert!(!made.exists());
}

#[test]
fn many_turns_replay_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("chat.toml");
    let prompts = vec!["Go on."; 300];
    let text = format!(
        "description = \"A long session.\"\nrestart = true\n[session]\nprompts = {prompts:?}\n\
         [[replies]]\nsteps = [{{ message = \"Gone on.\" }}]\n"
    );
    fs::write(&script, text).unwrap();
    let (bundle, _folder) = recorded_file(&script);
    let started = Instant::now();
    check(&replay(&bundle, &[]), 0, &["same, 300 requests"]);
    let took = started.elapsed();
    // A debug build on a busy machine.
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// What scripts called is not called again, and their answers are those of the recording.
#[tokio::test]
async fn scripts_are_answered_as_they_were() {
    let exec = |call: &str, source: &str| response(&[sse::custom_call(call, "exec", source)]);
    let wait = sse::function_call("c4", "wait", &json!({ "cell_id": "2" }));
    let replies = [
        exec(
            "c1",
            "notify('soon'); text((await tools.exec_command({ cmd: 'echo ran >> count; cat count' })).output)",
        ),
        exec("c2", "// @exec: nonsense\ntext(1)"),
        exec(
            "c3",
            "text('a'); yield_control(); await tools.update_plan({ plan: [] }); text('b')",
        ),
        response(&[wait]),
        exec("c5", "throw new Error('boom')"),
        response(&[message_item("done")]),
    ];
    let mut traced =
        Traced::start_with_features("Scripted", "", "code_mode = true", &replies).await;
    let folder = tempfile::tempdir().unwrap();
    let params = json!({ "cwd": folder.path() });
    let thread = traced.server.start_thread_with(params).await;
    traced.turn(&thread).await;
    let (bundle, _home) = bundle_of(traced, &thread).await;
    check(&replay(&bundle.0, &[]), 0, &["same, 6 requests"]);
    let count = fs::read_to_string(folder.path().join("count")).unwrap();
    assert_eq!(count.lines().count(), 1);
}
