//! Threads on other machines: what they do there, and never here.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use codex_environments::wire::{AccessEntry, AccessMode, PlaceKind, Sandbox, SandboxNetwork};
use codex_environments::{
    Carrier, ConfiguredEnvironment, Environments, ExecServer, MachineError, MachineState,
    RemoteCommand, RemoteExit, RemoteMachine, RemotePath,
};
use codex_exec::Launcher;
use codex_http::{HttpPool, HttpSettings};
use codex_test_support::{AppServer, HttpReply, ModelServer, PseudoRandom, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::environments::ExecServer as ExecServerStandIn;
use crate::other_machine::{OtherMachine, Wire};
use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config};
use crate::soak::message;

fn calls(id: &str, tool: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(id, tool, arguments)]))
}

fn runs(id: &str, script: &str) -> HttpReply {
    calls(
        id,
        "exec_command",
        &json!({ "cmd": script, "login": false }),
    )
}

/// A thread with a folder here, whose environment is the folder `work` of another machine.
struct DistantThread {
    machine: OtherMachine,
    model: ModelServer,
    home: TempDir,
    here: TempDir,
    server: AppServer,
    id: String,
}

const CONFINED_SETTINGS: &str = "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n\
                        sandbox_workspace_write.exclude_slash_tmp = true\n\
                        sandbox_workspace_write.exclude_tmpdir_env_var = true\n\
                        features.unified_exec = true\n";

impl DistantThread {
    async fn start(replies: impl IntoIterator<Item = HttpReply>) -> Self {
        let machine = OtherMachine::start().await;
        let url = machine.url();
        Self::over(machine, &url, replies).await
    }

    async fn over(
        machine: OtherMachine,
        url: &str,
        replies: impl IntoIterator<Item = HttpReply>,
    ) -> Self {
        let model = ModelServer::start(replies).await.unwrap();
        let home = home_with(&scripted_config(&model, CONFINED_SETTINGS));
        let here = tempfile::tempdir().unwrap();
        let mut server = experimental_server(&home).await;
        let params = json!({ "environmentId": "box", "execServerUrl": url });
        server.result("environment/add", params).await;
        let params = json!({
            "cwd": here.path(),
            "environments": [{ "environmentId": "box", "cwd": machine.path("work") }],
        });
        let started = server.result("thread/start", params).await;
        let id = started["thread"]["id"].as_str().unwrap().to_owned();
        Self {
            machine,
            model,
            home,
            here,
            server,
            id,
        }
    }

    async fn turn(&mut self) -> Value {
        self.server.run_turn(&self.id, "go").await
    }

    /// The output of a call, as the model got it.
    async fn output(&self, call: &str) -> String {
        let requests = self.model.requests();
        let last = requests.last().unwrap().json();
        let items = last["input"].as_array().unwrap().clone();
        let output = items
            .iter()
            .rev()
            .find(|item| item["call_id"] == call && item["output"] != Value::Null);
        output.unwrap()["output"].to_string()
    }
}

#[tokio::test]
async fn remote_thread_uses_commands_files_and_instructions_there() {
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: seen.txt\n@@\n-one\n+two\n\
                 *** Add File: sub/made.txt\n+made\n*** End Patch\nEOF\n";
    let replies = [
        runs("c1", "pwd; cat seen.txt; echo $SHELL_OF_HERE-"),
        runs("c2", patch),
        runs("c3", "cat seen.txt sub/made.txt"),
        message(0, "done"),
    ];
    let machine = OtherMachine::start().await;
    fs::write(machine.path("work/seen.txt"), "one\n").unwrap();
    fs::write(machine.path("work/AGENTS.md"), "RULES OF THERE").unwrap();
    let url = machine.url();
    let mut thread = DistantThread::over(machine, &url, replies).await;
    fs::write(thread.here.path().join("seen.txt"), "one\n").unwrap();
    fs::write(thread.here.path().join("AGENTS.md"), "RULES OF HERE").unwrap();
    thread.turn().await;
    let there = thread.machine.path("work").display().to_string();
    let first = thread.model.request(0).await.json().to_string();
    assert!(
        first.contains("RULES OF THERE") && !first.contains("RULES OF HERE"),
        "{first}"
    );
    assert!(first.contains(&format!("<cwd>{there}</cwd>")), "{first}");
    let output = thread.output("c1").await;
    assert!(
        output.contains(&there) && output.contains("one"),
        "{output}"
    );
    let output = thread.output("c3").await;
    assert!(
        output.contains("two") && output.contains("made"),
        "{output}"
    );
    assert_eq!(
        thread.machine.read("work/seen.txt").as_deref(),
        Some("two\n")
    );
    assert_eq!(
        thread.machine.read("work/sub/made.txt").as_deref(),
        Some("made\n")
    );
    // Nothing of it happened in the folder of the thread here.
    let here = fs::read_to_string(thread.here.path().join("seen.txt")).unwrap();
    assert_eq!(here, "one\n");
    assert!(!thread.here.path().join("sub").exists());
    thread.server.finish().await.unwrap();
}

#[tokio::test]
async fn remote_sandbox_escape_needs_an_approval() {
    let escalated = json!({
        "cmd": "echo x > ../outside/asked", "login": false,
        "sandbox_permissions": "require_escalated", "justification": "because",
    });
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ../outside/patched\n+p\n*** End Patch\nEOF\n";
    let protected = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+p\n*** End Patch\nEOF\n";
    let link = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: link/through\n+p\n*** End Patch\nEOF\n";
    let replies = [
        runs(
            "c1",
            "echo x > inside; echo x > ../outside/refused; echo x > .git/config",
        ),
        calls("c2", "exec_command", &escalated),
        runs("c3", patch),
        runs("c4", protected),
        runs("c5", "ln -s ../outside link"),
        runs("c6", link),
        message(0, "done"),
    ];
    let mut thread = DistantThread::start(replies).await;
    let params = json!({ "threadId": thread.id, "input": [{ "type": "text", "text": "go" }] });
    thread.server.result("turn/start", params).await;
    let mut asked = Vec::new();
    loop {
        let message = thread.server.receive().await.unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        if method.ends_with("requestApproval") {
            asked.push(message["params"].clone());
            // The command and the first patch are accepted, the others not.
            let decision = if asked.len() <= 2 {
                "accept"
            } else {
                "decline"
            };
            let reply = json!({ "id": message["id"], "result": { "decision": decision } });
            thread.server.send(&reply).await.unwrap();
        }
        if method == "turn/completed" {
            break;
        }
    }
    assert_eq!(thread.machine.read("work/inside").as_deref(), Some("x\n"));
    assert_eq!(thread.machine.read("outside/refused"), None);
    assert_eq!(thread.machine.read("work/.git/config"), None);
    assert_eq!(thread.machine.read("outside/asked").as_deref(), Some("x\n"));
    assert_eq!(
        thread.machine.read("outside/patched").as_deref(),
        Some("p\n")
    );
    assert_eq!(thread.machine.read("work/.git/hooks/pre-commit"), None);
    assert_eq!(thread.machine.read("outside/through"), None);
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert_eq!(asked[0]["environmentId"], "box");
    let notice = asked[0]["engineNotice"].as_str().unwrap();
    assert!(notice.contains("box"), "{notice}");
    thread.server.finish().await.unwrap();
}

#[tokio::test]
async fn thread_of_a_missing_machine_never_runs_locally() {
    let replies = [runs("c1", "echo made > made"), message(0, "done")];
    let mut thread = DistantThread::start(replies).await;
    thread.turn().await;
    let DistantThread {
        machine,
        model,
        home,
        here,
        server,
        id,
    } = thread;
    server.finish().await.unwrap();
    fs::remove_file(machine.path("work/made")).unwrap();
    // The path of the other machine exists here as well, and so does the folder of the thread.
    model.push(runs("c2", "echo made > made"));
    model.push(message(1, "done"));
    let mut server = experimental_server(&home).await;
    let resumed = server
        .result("thread/resume", json!({ "threadId": id }))
        .await;
    assert_eq!(resumed["thread"]["environments"][0]["environmentId"], "box");
    server.run_turn(&id, "again").await;
    let request = model.requests().last().unwrap().json().to_string();
    assert!(
        request.contains("No usable execution environment"),
        "{request}"
    );
    assert!(!here.path().join("made").exists() && !machine.path("work/made").exists());
    // When it is known again, the thread goes on there.
    model.push(runs("c3", "echo again > again"));
    model.push(message(2, "done"));
    let params = json!({ "environmentId": "box", "execServerUrl": machine.url() });
    server.result("environment/add", params).await;
    server.run_turn(&id, "once more").await;
    assert_eq!(machine.read("work/again").as_deref(), Some("again\n"));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn command_without_remote_confinement_is_refused() {
    let mut far = ExecServerStandIn::start().await;
    let replies = [runs("c1", "touch made"), message(0, "done")];
    let machine = OtherMachine::start().await;
    let mut thread = DistantThread::over(machine, &far.url, replies).await;
    thread.turn().await;
    let output = thread.output("c1").await;
    assert!(output.contains("does not confine"), "{output}");
    let started = far.wait_for("process/start").await;
    let ended = far.wait_for("process/terminate").await;
    assert_eq!(ended["params"]["processId"], started["params"]["processId"]);
    assert!(!thread.here.path().join("made").exists());
    thread.server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_is_interrupted_without_connection() {
    let machine = OtherMachine::start().await;
    let wire = Wire::connect(&machine).await;
    let replies = [
        runs(
            "c1",
            "echo begun; while [ ! -e on ]; do sleep 0.05; done; echo over",
        ),
        runs("c2", "echo second >> lines"),
        message(0, "done"),
    ];
    let mut thread = DistantThread::over(machine, wire.url(), replies).await;
    let params = json!({ "threadId": thread.id, "input": [{ "type": "text", "text": "go" }] });
    let turn = thread.server.result("turn/start", params).await;
    thread
        .server
        .wait_for("item/commandExecution/outputDelta")
        .await
        .unwrap();
    wire.down();
    let params = json!({ "threadId": thread.id, "turnId": turn["turn"]["id"] });
    thread.server.result("turn/interrupt", params).await;
    let ended = thread.server.completed_turn().await;
    assert_eq!(ended["status"], "interrupted", "{ended}");
    wire.up();
    thread.turn().await;
    assert_eq!(
        thread.machine.read("work/lines").as_deref(),
        Some("second\n")
    );
    thread.server.finish().await.unwrap();
}

#[tokio::test]
async fn killed_exec_server_ends_its_commands_and_is_replaced() {
    let machine = OtherMachine::start().await;
    let url = machine.url();
    let replies = [
        calls(
            "c1",
            "exec_command",
            &json!({ "cmd": "echo begun; exec sleep 600", "login": false, "yield_time_ms": 30000 }),
        ),
        runs("c2", "echo again"),
        message(0, "done"),
    ];
    let mut thread = DistantThread::over(machine, &url, replies).await;
    let params = json!({ "threadId": thread.id, "input": [{ "type": "text", "text": "go" }] });
    thread.server.result("turn/start", params).await;
    thread
        .server
        .wait_for("item/commandExecution/outputDelta")
        .await
        .unwrap();
    thread.machine.restart().await;
    thread.server.wait_for("turn/completed").await.unwrap();
    let output = thread.output("c1").await;
    assert!(output.contains("started anew"), "{output}");
    let output = thread.output("c2").await;
    assert!(output.contains("again"), "{output}");
    thread.server.finish().await.unwrap();
}

#[tokio::test]
async fn call_selects_the_machine_of_a_thread() {
    let patch = |environment: &str| {
        format!("*** Begin Patch\n{environment}*** Add File: made\n+made\n*** End Patch\n")
    };
    let run = |id: &str, environment: Value| {
        let arguments = json!({ "cmd": "pwd", "login": false, "environment_id": environment });
        calls(id, "exec_command", &arguments)
    };
    let shell_patch = |id: &str, environment: Value, line: &str| {
        let script = format!("apply_patch <<'EOF'\n{}EOF\n", patch(line));
        let arguments = json!({ "cmd": script, "login": false, "environment_id": environment });
        calls(id, "exec_command", &arguments)
    };
    let replies = [
        run("c1", json!("box")),
        run("c2", Value::Null),
        run("c3", json!("nope")),
        shell_patch("c4", json!("box"), "*** Environment ID: box\n"),
        shell_patch("c5", Value::Null, "*** Environment ID: box\n"),
        message(0, "done"),
    ];
    let mut thread = DistantThread::start(replies).await;
    let here = dunce::canonicalize(thread.here.path()).unwrap();
    let params = json!({
        "cwd": here,
        "environments": [
            { "environmentId": "local", "cwd": here },
            { "environmentId": "box", "cwd": thread.machine.path("work") },
        ],
    });
    let started = thread.server.result("thread/start", params).await;
    thread.id = started["thread"]["id"].as_str().unwrap().to_owned();
    thread.turn().await;
    let there = thread.machine.path("work").display().to_string();
    let first = thread.model.request(0).await.json();
    let text = first.to_string();
    assert!(
        text.contains(r#"<environment id=\"box\" primary=\"false\">"#),
        "{text}"
    );
    let tools = first["tools"].to_string();
    assert!(tools.contains("environment_id"), "{tools}");
    assert!(thread.output("c1").await.contains(&there));
    assert!(
        thread
            .output("c2")
            .await
            .contains(&*here.display().to_string())
    );
    assert!(thread.output("c3").await.contains("nope"));
    assert!(thread.output("c5").await.contains("another environment"));
    assert_eq!(thread.machine.read("work/made").as_deref(), Some("made\n"));
    assert!(!here.join("made").exists());
    thread.server.finish().await.unwrap();
}

/// A machine without an engine around it.
fn machine_at(url: &str) -> (Environments, RemoteMachine) {
    let http = Arc::new(HttpPool::new(HttpSettings::default()));
    let environments = Environments::new(http, Launcher::with_helper(PROGRAM));
    let server = ExecServer {
        url: url.to_owned(),
        ..ExecServer::default()
    };
    let environment = ConfiguredEnvironment {
        carrier: Carrier::WebSocket(server),
        cwd: None,
        variables: BTreeMap::new(),
    };
    let machine = environments.register("box", environment).unwrap();
    (environments, machine)
}

fn command(id: String, machine: &OtherMachine, script: &str) -> RemoteCommand {
    RemoteCommand {
        id,
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: RemotePath::new(machine.path("work").to_str().unwrap()).unwrap(),
        env: BTreeMap::new(),
        env_policy: Default::default(),
        has_terminal: false,
        takes_input: false,
        sandbox: None,
    }
}

/// Runs a command to its end. Returns what it printed, and how it ended.
async fn run(machine: &RemoteMachine, command: RemoteCommand) -> (String, RemoteExit) {
    let mut process = machine.start(command).await.unwrap();
    let mut text = Vec::new();
    while let Some(piece) = process.output.next().await {
        text.extend_from_slice(&piece.bytes);
    }
    let exit = process.control.exited().await;
    (String::from_utf8(text).unwrap(), exit)
}

/// How often the connection is cut.
const CUTS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn lost_connection_neither_loses_nor_repeats_lines() {
    let far = OtherMachine::start().await;
    let wire = Wire::connect(&far).await;
    let (_environments, machine) = machine_at(wire.url());
    machine.facts().await.unwrap();
    let cutter = wire.clone();
    let reached = machine.clone();
    let cutting = tokio::spawn(async move {
        let mut random = PseudoRandom::new(7);
        for number in 1..=CUTS {
            cutter.accepted(number).await;
            // Every other connection becomes one, however slow this machine is.
            if number % 2 == 0 {
                reached.facts().await.unwrap();
            }
            // The moments are what the test is about.
            tokio::time::sleep(Duration::from_millis(random.below(60) as u64)).await;
            cutter.cut();
        }
    });
    let mut number = 0;
    let mut expected = String::new();
    while !cutting.is_finished() {
        let script = format!("echo {number} >> lines; echo out {number}; echo more {number}");
        let ran = run(&machine, command(format!("{number}-x"), &far, &script)).await;
        let text = format!("out {number}\nmore {number}\n");
        assert_eq!(ran, (text, RemoteExit::Code(0)));
        expected.push_str(&format!("{number}\n"));
        number += 1;
    }
    cutting.await.unwrap();
    assert_eq!(far.read("work/lines").unwrap(), expected);
    assert!(number > 20, "{number} commands");
}

#[tokio::test]
async fn lost_connection_repeats_no_remote_input() {
    let far = OtherMachine::start().await;
    let wire = Wire::connect(&far).await;
    let (_environments, machine) = machine_at(wire.url());
    let reading = RemoteCommand {
        takes_input: true,
        ..command("1-cat".to_owned(), &far, "head -n 200 > lines")
    };
    let process = machine.start(reading).await.unwrap();
    let mut expected = String::new();
    for number in 0..200 {
        let line = format!("{number}\n");
        process.control.write(line.as_bytes());
        expected.push_str(&line);
        if number % 20 == 10 {
            wire.cut();
            machine.facts().await.unwrap();
        }
    }
    assert_eq!(process.control.exited().await, RemoteExit::Code(0));
    assert_eq!(far.read("work/lines").unwrap(), expected);
}

#[tokio::test]
async fn interrupted_remote_write_of_a_long_file_starts_again() {
    let mut is_first = true;
    let mut far = ExecServerStandIn::answering(move |message| {
        let is_lost = message["method"] == "fs/close" && std::mem::take(&mut is_first);
        is_lost.then_some(Value::Null)
    })
    .await;
    let (_environments, machine) = machine_at(&far.url);
    let content = vec![b'x'; 9 * 1024 * 1024];
    let path = RemotePath::new("/far/file").unwrap();
    let writing = tokio::spawn(async move { machine.write_file(&path, &content, None).await });
    let first = far.wait_for("fs/close").await["params"]["handleId"].clone();
    far.drop_connection();
    writing.await.unwrap().unwrap();
    let mut methods = Vec::new();
    for message in far.received() {
        let method = message["method"].as_str().unwrap();
        if method.starts_with("fs/") {
            assert_ne!(message["params"]["handleId"], first);
            methods.push(method.to_owned());
        }
    }
    let blocks = vec!["fs/writeBlock".to_owned(); 9];
    let whole = [
        vec!["fs/open".to_owned()],
        blocks,
        vec!["fs/close".to_owned()],
    ];
    assert_eq!(methods, whole.concat());
}

#[tokio::test]
async fn long_file_survives_lost_connection() {
    let far = OtherMachine::start().await;
    let wire = Wire::connect(&far).await;
    let (_environments, machine) = machine_at(wire.url());
    machine.facts().await.unwrap();
    let content: Vec<u8> = (0..24 * 1024 * 1024_u32)
        .map(|at| (at / 1000 % 251) as u8)
        .collect();
    let path = RemotePath::new(far.path("work/long").to_str().unwrap()).unwrap();
    let mut random = PseudoRandom::new(11);
    for number in 1..=3 {
        let cutter = wire.clone();
        let pause = Duration::from_millis(random.below(200) as u64);
        // The moments are what the test is about.
        let cutting = async {
            tokio::time::sleep(pause).await;
            cutter.cut();
        };
        let (written, ()) = tokio::join!(machine.write_file(&path, &content, None), cutting);
        written.unwrap();
        let found = fs::read(far.path("work/long")).unwrap();
        assert!(found == content, "attempt {number}: {} bytes", found.len());
        let read = machine.read_file(&path, content.len() as u64, 1 << 30, None);
        assert!(read.await.unwrap() == content);
    }
}

/// A command that is to be confined, on a machine that is a stand-in.
fn confined_command(id: &str) -> RemoteCommand {
    let folder = RemotePath::new("/far").unwrap();
    let sandbox = Sandbox::of_entries(
        vec![AccessEntry::special(
            PlaceKind::Root,
            None,
            AccessMode::Read,
        )],
        SandboxNetwork::Restricted,
        folder.clone(),
        vec![folder.clone()],
    );
    RemoteCommand {
        id: id.to_owned(),
        argv: vec!["x".to_owned()],
        cwd: folder,
        env: BTreeMap::new(),
        env_policy: Default::default(),
        has_terminal: false,
        takes_input: true,
        sandbox: Some(sandbox),
    }
}

fn refusal(text: &str) -> Option<Value> {
    Some(json!({ "error": { "code": -32600, "message": text } }))
}

/// What a read of a command that runs is answered with.
fn running() -> Option<Value> {
    Some(
        json!({ "result": { "chunks": [], "nextSeq": 1, "exited": false, "exitCode": null, "closed": false } }),
    )
}

/// Starts a command whose first answer is lost.
async fn start_with_lost_answer(far: &mut ExecServerStandIn, id: &str) -> Result<(), MachineError> {
    let (_environments, machine) = machine_at(&far.url);
    let command = confined_command(id);
    let starting = tokio::spawn(async move { machine.start(command).await.map(drop) });
    far.wait_for("process/start").await;
    far.drop_connection();
    starting.await.unwrap()
}

#[tokio::test]
async fn a_command_whose_confinement_is_not_known_is_ended() {
    let mut starts = 0;
    let mut far = ExecServerStandIn::answering(move |message| match message["method"].as_str() {
        Some("process/start") => {
            starts += 1;
            if starts == 1 {
                Some(Value::Null)
            } else {
                refusal("there is a process already")
            }
        }
        Some("process/read") => running(),
        _ => None,
    })
    .await;
    let started = start_with_lost_answer(&mut far, "1-x").await;
    assert_eq!(started, Err(MachineError::Unconfined));
    let ended = far.wait_for("process/terminate").await;
    assert_eq!(ended["params"]["processId"], "1-x");
}

#[tokio::test]
async fn repeated_start_repeats_the_first_refusal() {
    let mut starts = 0;
    let mut far = ExecServerStandIn::answering(move |message| match message["method"].as_str() {
        Some("process/start") => {
            starts += 1;
            if starts == 1 {
                Some(Value::Null)
            } else {
                refusal("512 processes run already")
            }
        }
        Some("process/read") => refusal("there is no process"),
        _ => None,
    })
    .await;
    let started = start_with_lost_answer(&mut far, "1-x").await;
    let problem = started.unwrap_err().to_string();
    assert_eq!(problem, "512 processes run already");
}

#[tokio::test]
async fn refused_input_and_failed_reads_end_the_remote_command() {
    for refused in ["process/write", "process/read"] {
        let mut far = ExecServerStandIn::answering(move |message| {
            let id = &message["params"]["processId"];
            match message["method"].as_str() {
                Some("process/start") => {
                    Some(json!({ "result": { "processId": id, "sandboxType": "some" } }))
                }
                Some(method) if method == refused => refusal("it is full"),
                Some("process/write") => Some(json!({ "result": { "status": "accepted" } })),
                Some("process/read") => running(),
                _ => None,
            }
        })
        .await;
        let (_environments, machine) = machine_at(&far.url);
        let process = machine.start(confined_command("1-x")).await.unwrap();
        process.control.write(b"input");
        if refused == "process/read" {
            far.wait_for("process/write").await;
            far.drop_connection();
        }
        match process.control.exited().await {
            RemoteExit::Lost(reason) => assert!(reason.contains("it is full"), "{reason}"),
            exit => panic!("{exit:?}"),
        }
        let ended = far.wait_for("process/terminate").await;
        assert_eq!(ended["params"]["processId"], "1-x");
    }
}

#[tokio::test]
async fn session_held_by_a_lost_connection_is_requested_again() {
    let mut resumes = 0;
    let mut far = ExecServerStandIn::answering(move |message| {
        if message["params"]["resumeSessionId"].is_null() {
            return None;
        }
        resumes += 1;
        let in_use = json!({ "error": { "code": -32010, "message": "another connection has it" } });
        (resumes <= 3).then_some(in_use)
    })
    .await;
    let (_environments, machine) = machine_at(&far.url);
    machine.facts().await.unwrap();
    far.drop_connection();
    let status: Value = machine
        .request("environment/status", &json!({}))
        .await
        .unwrap();
    assert_eq!(status["status"], "ready");
    for _ in 0..5 {
        far.wait_for("initialize").await;
    }
}

#[tokio::test]
async fn much_output_arrives_whole() {
    let far = OtherMachine::start().await;
    let (_environments, machine) = machine_at(&far.url());
    let script =
        "i=0; while [ $i -lt 64 ]; do head -c 1000000 /dev/zero | tr '\\0' x; i=$((i+1)); done";
    let (text, exit) = run(&machine, command("1-x".to_owned(), &far, script)).await;
    assert_eq!((text.len(), exit), (64_000_000, RemoteExit::Code(0)));
    assert!(text.bytes().all(|byte| byte == b'x'));
}

#[tokio::test]
async fn a_dropped_command_is_ended_there() {
    let far = OtherMachine::start().await;
    let wire = Wire::connect(&far).await;
    let (_environments, machine) = machine_at(wire.url());
    let script = "echo $$ > pid; exec sleep 600";
    let process = machine
        .start(command("1-x".to_owned(), &far, script))
        .await
        .unwrap();
    let pid = loop {
        match far
            .read("work/pid")
            .and_then(|pid| pid.trim().parse::<i32>().ok())
        {
            Some(pid) => break pid,
            None => tokio::task::yield_now().await,
        }
    };
    // Also if nobody can be told at the moment.
    wire.down();
    drop(process);
    wire.up();
    machine.facts().await.unwrap();
    let has_ended = move || !std::path::Path::new(&format!("/proc/{pid}/root")).exists();
    let waiting = move || crate::escapes::wait_until("the command has ended", has_ended);
    tokio::task::spawn_blocking(waiting).await.unwrap();
}

#[tokio::test]
async fn missing_exec_server_is_reported_and_tried_again() {
    let mut far = OtherMachine::start().await;
    let url = far.url();
    far.kill().await;
    let (_environments, machine) = machine_at(&url);
    assert!(machine.facts().await.is_err());
    assert!(matches!(machine.state(), MachineState::Disconnected(_)));
    far.restart().await;
    assert!(machine.facts().await.is_ok());
    assert_eq!(machine.state(), MachineState::Ready);
}

#[tokio::test]
async fn remote_commands_get_no_local_secrets() {
    let machine = OtherMachine::start().await;
    let replies = [runs("c1", "env > variables"), message(0, "done")];
    let url = machine.url();
    let model = ModelServer::start(replies).await.unwrap();
    let config = scripted_config(&model, CONFINED_SETTINGS);
    let config = format!("{config}env_key = \"MODEL_KEY\"\n");
    let home = home_with(&config);
    let variables = [("MODEL_KEY", "sk-secret-1"), ("OTHER_TOKEN", "secret-2")];
    let mut server = AppServer::start_in(PROGRAM, home.path(), &variables).unwrap();
    server.initialize_experimental().await;
    let params =
        json!({ "environmentId": "box", "execServerUrl": url, "authBearerToken": "secret-3" });
    server.result("environment/add", params).await;
    let there = json!([{ "environmentId": "box", "cwd": machine.path("work") }]);
    let started = server
        .result("thread/start", json!({ "environments": there }))
        .await;
    let id = started["thread"]["id"].as_str().unwrap().to_owned();
    server.run_turn(&id, "go").await;
    let told = machine.read("work/variables").unwrap();
    assert!(told.contains("CODEX_THREAD_ID"), "{told}");
    for secret in ["sk-secret-1", "secret-2", "secret-3"] {
        assert!(!told.contains(secret), "{told}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_program_that_reaches_a_machine_gets_no_logins() {
    let there = tempfile::tempdir().unwrap();
    let there = dunce::canonicalize(there.path()).unwrap();
    let model = ModelServer::start([runs("c1", "true"), message(0, "done")])
        .await
        .unwrap();
    let script = format!("env > {there:?}/variables; exec {PROGRAM:?} exec-server --listen stdio");
    let config = format!(
        "{}env_key = \"MODEL_KEY\"\nenv_http_headers = {{ \"X-Key\" = \"MODEL_HEADER\" }}\n\
         [mcp_servers.far]\nurl = \"http://127.0.0.1:1\"\nenabled = false\n\
         bearer_token_env_var = \"MCP_LOGIN\"\nenv_http_headers = {{ \"X-Key\" = \"MCP_HEADER\" }}\n\
         [environments.other]\nurl = \"ws://127.0.0.1:1\"\nbearer_token_env_var = \"MACHINE_LOGIN\"\n\
         [environments.box]\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\n",
        scripted_config(&model, CONFINED_SETTINGS),
    );
    let home = home_with(&config);
    let secret = [
        "MODEL_KEY",
        "MODEL_HEADER",
        "MCP_LOGIN",
        "MCP_HEADER",
        "MACHINE_LOGIN",
        "OPENAI_API_KEY",
        "CODEX_API_KEY",
        "CODEX_ACCESS_TOKEN",
        "CODEX_CONNECTORS_TOKEN",
    ];
    let mut variables = secret.map(|name| (name, "secret-value")).to_vec();
    variables.push(("SSH_SETTING", "kept"));
    let mut server = AppServer::start_in(PROGRAM, home.path(), &variables).unwrap();
    server.initialize_experimental().await;
    let environments = json!([{ "environmentId": "box", "cwd": there }]);
    let started = server
        .result("thread/start", json!({ "environments": environments }))
        .await;
    let id = started["thread"]["id"].as_str().unwrap().to_owned();
    server.run_turn(&id, "go").await;
    let told = fs::read_to_string(there.join("variables")).unwrap();
    assert!(told.contains("SSH_SETTING=kept"), "{told}");
    for name in secret {
        assert!(!told.contains(&format!("{name}=")), "{told}");
    }
    assert!(!told.contains("secret-value"), "{told}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn configured_mcp_server_runs_on_the_named_machine() {
    let machine = OtherMachine::start().await;
    let server = "import json, os, sys\n\
        for line in sys.stdin:\n\
        \x20   m = json.loads(line)\n\
        \x20   if 'id' not in m: continue\n\
        \x20   r = {'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}},\n\
        \x20        'tools/list': {'tools': [{'name': 'where', 'inputSchema': {'type': 'object'}}]},\n\
        \x20        'tools/call': {'content': [{'type': 'text', 'text': os.getcwd()}]}}.get(m['method'], {})\n\
        \x20   print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n";
    fs::write(machine.path("work/server.py"), server).unwrap();
    let model = ModelServer::start([]).await.unwrap();
    let cwd = machine.path("work");
    let settings = format!(
        "[mcp_servers.srv]\ncommand = \"python3\"\nargs = [\"server.py\"]\nenvironment_id = \"box\"\ncwd = {cwd:?}\n\
         [environments.box]\nurl = {:?}\n",
        machine.url()
    );
    let home = home_with(&format!(
        "{}{settings}",
        scripted_config(&model, CONFINED_SETTINGS)
    ));
    let mut server = experimental_server(&home).await;
    let id = server.start_thread().await;
    loop {
        let told = server
            .wait_for("mcpServer/startupStatus/updated")
            .await
            .unwrap();
        match told["params"]["status"].as_str() {
            Some("starting") => {}
            status => break assert_eq!(status, Some("ready"), "{told}"),
        }
    }
    let params = json!({ "threadId": id, "server": "srv", "tool": "where" });
    let called = server.result("mcpServer/tool/call", params).await;
    let text = called["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, cwd.to_str().unwrap());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn remote_mcp_server_without_input_gives_the_reason() {
    let far = ExecServerStandIn::answering(|message| match message["method"].as_str() {
        Some("process/write") => refusal("it is full"),
        Some("process/read") => running(),
        _ => None,
    })
    .await;
    let model = ModelServer::start([]).await.unwrap();
    let settings = format!(
        "[mcp_servers.srv]\ncommand = \"x\"\nenvironment_id = \"box\"\ncwd = \"/far\"\n\
         [environments.box]\nurl = {:?}\n",
        far.url
    );
    let home = home_with(&format!(
        "{}{settings}",
        scripted_config(&model, CONFINED_SETTINGS)
    ));
    let mut server = experimental_server(&home).await;
    server.start_thread().await;
    loop {
        let told = server
            .wait_for("mcpServer/startupStatus/updated")
            .await
            .unwrap();
        if told["params"]["status"] != "starting" {
            assert_eq!(told["params"]["status"], "failed", "{told}");
            let problem = told["params"]["error"].as_str().unwrap();
            break assert!(problem.contains("it is full"), "{told}");
        }
    }
    server.finish().await.unwrap();
}
