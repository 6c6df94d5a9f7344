//! `codex exec-server`: commands and files of a machine for somebody elsewhere.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codex_environments::wire::PROTECTED;
use codex_test_support::{MessageCheck, WebSocket};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::codex;
use crate::escapes::wait_until;

/// An exec server with a folder, and a folder beside it that nobody may write to.
struct TestMachine {
    root: TempDir,
    server: Child,
    address: String,
}

impl TestMachine {
    async fn start() -> Self {
        Self::with_arguments(&[]).await
    }

    async fn with_arguments(arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work/.git", "outside", "home"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let mut server = Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(["exec-server", "--listen", "ws://127.0.0.1:0"])
            .args(arguments)
            .env("HOME", root.path().join("home"))
            .env("SECRET_KEY", "of the server")
            .current_dir(root.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        let address = line.strip_prefix("ws://").unwrap().to_owned();
        Self {
            root,
            server,
            address,
        }
    }

    async fn connect(&self) -> WebSocket<TcpStream> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let check = Box::<EnvelopeCheck>::default();
        let socket = WebSocket::connect_to_other(stream, "", check).await;
        socket.unwrap().unwrap()
    }

    /// A connection with a session of its own, and the id of that.
    async fn session(&self) -> (WebSocket<TcpStream>, String) {
        let mut socket = self.connect().await;
        let session = begin(&mut socket, Value::Null).await["result"]["sessionId"].clone();
        (socket, session.as_str().unwrap().to_owned())
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.root.path().canonicalize().unwrap().join(below)
    }

    fn uri(&self, below: &str) -> String {
        format!("file://{}", self.path(below).display())
    }

    fn start_params(&self, id: &str, script: &str) -> Value {
        json!({
            "processId": id, "argv": ["/bin/sh", "-c", script], "cwd": self.uri("work"),
            "env": { "PATH": std::env::var("PATH").unwrap() }, "tty": false,
        })
    }

    /// A sandbox in which the folder `work` may be written.
    fn sandbox(&self) -> Value {
        let special = |kind: &str, access: &str| json!({ "path": { "type": "special", "value": { "kind": kind } }, "access": access });
        json!({
            "permissions": { "type": "managed", "network": "restricted", "file_system": { "type": "restricted",
                "entries": [special("root", "read"), special("project_roots", "write")] } },
            "cwd": self.uri("work"), "workspaceRoots": [self.uri("work")],
        })
    }
}

/// There is no schema of this protocol: each reply is one, and belongs to a request.
#[derive(Debug, Default)]
struct EnvelopeCheck(HashSet<String>);

impl MessageCheck for EnvelopeCheck {
    fn sent(&mut self, message: &Value) {
        if let Some(id) = message.get("id") {
            self.0.insert(id.to_string());
        }
    }

    fn received(&mut self, message: &Value) {
        let parts = ["method", "result", "error"];
        let given = parts.iter().filter(|part| message.get(**part).is_some());
        assert_eq!(given.count(), 1, "{message}");
        if message.get("method").is_none() {
            let is_known = self.0.remove(&message["id"].to_string());
            assert!(is_known, "a reply to nothing: {message}");
        }
    }
}

async fn begin(socket: &mut WebSocket<TcpStream>, resume: Value) -> Value {
    let params = json!({ "clientName": "tests", "resumeSessionId": resume });
    let reply = socket.call("initialize", params).await.unwrap();
    let initialized = json!({ "method": "initialized", "params": {} });
    socket.send(&initialized).await.unwrap();
    reply
}

/// What a command says until it is closed: its output, its exit code, and the numbers of its messages.
async fn until_closed(socket: &mut WebSocket<TcpStream>, id: &str) -> (String, i64, Vec<u64>) {
    let (mut output, mut code, mut numbers) = (Vec::new(), -1, Vec::new());
    loop {
        let message = socket.receive().await.unwrap().unwrap();
        let params = &message["params"];
        if params["processId"] != id {
            continue;
        }
        numbers.push(params["seq"].as_u64().unwrap());
        match message["method"].as_str().unwrap() {
            "process/output" => {
                output.extend(STANDARD.decode(params["chunk"].as_str().unwrap()).unwrap())
            }
            "process/exited" => code = params["exitCode"].as_i64().unwrap(),
            "process/closed" => return (String::from_utf8(output).unwrap(), code, numbers),
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn remote_output_is_numbered_and_its_end_reported_once() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let params = machine.start_params(
        "1",
        "echo one; echo two >&2; pwd; echo ${SECRET_KEY-unset}; exit 3",
    );
    let started = socket.call("process/start", params).await.unwrap();
    assert_eq!(
        started["result"],
        json!({ "processId": "1", "sandboxType": "none" })
    );
    let (output, code, numbers) = until_closed(&mut socket, "1").await;
    assert!(
        output.contains("one\n") && output.contains("two\n"),
        "{output}"
    );
    assert!(output.contains("work\nunset\n"), "{output}");
    assert_eq!(code, 3);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let again = machine.start_params("1", "true");
    let again = socket.call("process/start", again).await.unwrap();
    assert_eq!(again["error"]["code"], -32600, "{again}");
}

#[tokio::test]
async fn requests_before_the_handshake_are_refused() {
    let machine = TestMachine::start().await;
    let mut socket = machine.connect().await;
    let params = machine.start_params("1", "touch made");
    let refused = socket.call("process/start", params.clone()).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let params = json!({ "path": machine.uri("work/made"), "dataBase64": "" });
    let refused = socket.call("fs/writeFile", params).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(!machine.path("work/made").exists());
}

#[tokio::test]
async fn input_with_known_id_is_written_once() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let mut params = machine.start_params("1", "head -c 4; sleep 0.1; echo .");
    params["pipeStdin"] = true.into();
    socket.call("process/start", params).await.unwrap();
    for (id, text) in [("a", "ab"), ("a", "XX"), ("b", "cd")] {
        let params = json!({ "processId": "1", "writeId": id, "chunk": STANDARD.encode(text) });
        let written = socket.begin("process/write", params).await;
        written.unwrap();
    }
    assert_eq!(until_closed(&mut socket, "1").await.0, "abcd.\n");
}

#[tokio::test]
async fn lost_connection_loses_no_output_and_starts_nothing_twice() {
    let machine = TestMachine::start().await;
    let (mut socket, session) = machine.session().await;
    let script = "echo one; until [ -e go ]; do sleep 0.02; done; echo two";
    let params = machine.start_params("1", script);
    socket.call("process/start", params.clone()).await.unwrap();
    socket.wait_for("process/output").await.unwrap();
    let mut other = machine.connect().await;
    let busy = begin(&mut other, session.clone().into()).await;
    assert_eq!(busy["error"]["code"], -32010, "{busy}");
    drop((socket, other));
    fs::write(machine.path("work/go"), "").unwrap();
    let mut socket = loop {
        let mut socket = machine.connect().await;
        // The server may not have seen yet that the connection is gone.
        if begin(&mut socket, session.clone().into())
            .await
            .get("result")
            .is_some()
        {
            break socket;
        }
    };
    let again = socket.call("process/start", params).await.unwrap();
    assert_eq!(again["error"]["code"], -32600, "{again}");
    let mut text = Vec::new();
    let mut after = 1;
    loop {
        let params = json!({ "processId": "1", "afterSeq": after, "waitMs": 20000 });
        let read = socket.call("process/read", params).await.unwrap()["result"].clone();
        for chunk in read["chunks"].as_array().unwrap() {
            text.extend(STANDARD.decode(chunk["chunk"].as_str().unwrap()).unwrap());
        }
        after = read["nextSeq"].as_u64().unwrap() - 1;
        if read["closed"] == true {
            assert_eq!(read["exitCode"], 0);
            break;
        }
    }
    assert_eq!(String::from_utf8(text).unwrap(), "two\n");
}

#[tokio::test]
async fn output_that_nobody_reads_is_kept_to_a_limit() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let params = machine.start_params("1", "head -c 3000000 /dev/zero | tr '\\0' x");
    socket.call("process/start", params).await.unwrap();
    let (output, code, _) = until_closed(&mut socket, "1").await;
    assert_eq!((output.len(), code), (3_000_000, 0));
    let params = json!({ "processId": "1", "afterSeq": 0 });
    let read = socket.call("process/read", params).await.unwrap();
    let chunks = read["result"]["chunks"].as_array().unwrap();
    let kept = chunks.iter().map(|chunk| {
        STANDARD
            .decode(chunk["chunk"].as_str().unwrap())
            .unwrap()
            .len()
    });
    let kept: usize = kept.sum();
    assert!((1_000_000..=1_048_576).contains(&kept), "{kept}");
}

#[tokio::test]
async fn command_in_a_sandbox_writes_only_where_it_may() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let script = format!(
        "echo x > made; echo x > .git/config; echo x > {}/made; ln -s {} way; echo x > way/made; true",
        machine.path("outside").display(),
        machine.path("outside").display(),
    );
    let mut params = machine.start_params("1", &script);
    params["sandbox"] = machine.sandbox();
    let started = socket.call("process/start", params).await.unwrap();
    assert_ne!(started["result"]["sandboxType"], "none", "{started}");
    until_closed(&mut socket, "1").await;
    assert!(machine.path("work/made").exists());
    assert!(!machine.path("work/.git/config").exists());
    assert_eq!(fs::read_dir(machine.path("outside")).unwrap().count(), 0);
}

#[tokio::test]
async fn sandboxed_file_operation_writes_only_permitted_paths() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    std::os::unix::fs::symlink(machine.path("outside"), machine.path("work/way")).unwrap();
    let write = async |socket: &mut WebSocket<TcpStream>, below: &str| {
        let params = json!({ "path": machine.uri(below), "dataBase64": "eA==", "sandbox": machine.sandbox() });
        socket.call("fs/writeFile", params).await.unwrap()
    };
    assert_eq!(write(&mut socket, "work/made").await["result"], json!({}));
    for below in ["outside/made", "work/way/made", "work/.git/config"] {
        let refused = write(&mut socket, below).await;
        assert_eq!(refused["error"]["code"], -32603, "{below}: {refused}");
    }
    // In blocks as well: neither when a file is opened nor when it is closed.
    let params = json!({ "handleId": "h", "mode": "replace", "path": machine.uri("outside/made"), "sandbox": machine.sandbox() });
    let refused = socket.call("fs/open", params).await.unwrap();
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    let copy = json!({ "sourcePath": machine.uri("work/made"), "destinationPath": machine.uri("outside/made"), "sandbox": machine.sandbox() });
    let refused = socket.call("fs/copy", copy).await.unwrap();
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(fs::read_dir(machine.path("outside")).unwrap().count(), 0);
}

#[tokio::test]
async fn remote_file_is_replaced_when_its_handle_closes() {
    let machine = TestMachine::start().await;
    let file = machine.path("work/file");
    fs::write(&file, "before, and longer").unwrap();
    for sandbox in [Value::Null, machine.sandbox()] {
        for is_closed in [false, true] {
            let (mut socket, _) = machine.session().await;
            let params = json!({ "handleId": "h", "mode": "replace", "path": machine.uri("work/file"), "sandbox": sandbox });
            let opened = socket.call("fs/open", params).await.unwrap();
            assert_eq!(opened["result"]["handleId"], "h", "{opened}");
            let block = json!({ "handleId": "h", "offset": 0, "chunk": STANDARD.encode("after") });
            socket.call("fs/writeBlock", block).await.unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "before, and longer");
            if is_closed {
                let closed = socket.call("fs/close", json!({ "handleId": "h" })).await;
                assert_eq!(closed.unwrap()["result"], json!({}));
                assert_eq!(fs::read_to_string(&file).unwrap(), "after");
                fs::write(&file, "before, and longer").unwrap();
            }
        }
    }
    let names = fs::read_dir(machine.path("work")).unwrap();
    // Folders that a sandbox protects are there while something runs in it.
    let names: Vec<_> = (names.map(|entry| entry.unwrap().file_name().into_string().unwrap()))
        .filter(|name| !PROTECTED.contains(&name.as_str()))
        .collect();
    assert_eq!(names, ["file"]);
}

#[tokio::test]
async fn unenforceable_sandbox_request_is_refused() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let mut unknown = machine.sandbox();
    unknown["permissions"]["type"] = "other".into();
    let mut above = machine.sandbox();
    let place = json!({ "path": { "type": "special", "value": { "kind": "project_roots", "subpath": "../outside" } }, "access": "write" });
    above["permissions"]["file_system"]["entries"] = json!([place]);
    let cases = [
        json!({ "sandbox": unknown }),
        json!({ "sandbox": above }),
        json!({ "enforceManagedNetwork": true }),
        json!({ "managedNetwork": { "domains": {} } }),
        json!({ "networkProxy": {} }),
    ];
    for (number, members) in cases.into_iter().enumerate() {
        let mut params = machine.start_params(&number.to_string(), "touch made");
        params
            .as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        let refused = socket.call("process/start", params).await.unwrap();
        assert!(refused.get("error").is_some(), "{members}: {refused}");
    }
    assert!(!machine.path("work/made").exists());
}

#[tokio::test]
async fn confined_command_cannot_ask_its_server_for_more() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let port = machine.address.rsplit(':').next().unwrap();
    let upgrade = "GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\
                   Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n";
    let script =
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{upgrade}' >&3; head -n 1 <&3");
    let mut params = machine.start_params("1", &script);
    params["argv"][0] = "/bin/bash".into();
    let unconfined = params.clone();
    params["sandbox"] = machine.sandbox();
    params["sandbox"]["permissions"]["network"] = "enabled".into();
    socket.call("process/start", params).await.unwrap();
    let (answer, ..) = until_closed(&mut socket, "1").await;
    // It reached the server, which said no.
    assert!(answer.contains("403"), "{answer}");
    let mut params = unconfined;
    params["processId"] = "2".into();
    socket.call("process/start", params).await.unwrap();
    let (answer, ..) = until_closed(&mut socket, "2").await;
    // A command without a sandbox has the rights of the user anyway.
    assert!(answer.contains("101") || answer.contains("403"), "{answer}");
}

#[tokio::test]
async fn started_processes_end_with_the_server() {
    let mut machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let params = machine.start_params(
        "1",
        "setsid sh -c 'echo $$ > pid; exec sleep 600' & echo started; wait",
    );
    socket.call("process/start", params).await.unwrap();
    socket.wait_for("process/output").await.unwrap();
    let read = || fs::read_to_string(machine.path("work/pid")).unwrap_or_default();
    wait_until("the process runs", || read().ends_with('\n'));
    let process = format!("/proc/{}", read().trim());
    machine.server.kill().await.unwrap();
    wait_until("the process is gone", || !Path::new(&process).exists());
}

#[tokio::test]
async fn terminated_command_ends_with_all_that_it_started() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let params = machine.start_params("1", "sleep 600 & echo started; wait");
    socket.call("process/start", params).await.unwrap();
    socket.wait_for("process/output").await.unwrap();
    let ended = socket
        .begin("process/terminate", json!({ "processId": "1" }))
        .await;
    ended.unwrap();
    let (_, code, _) = until_closed(&mut socket, "1").await;
    assert_eq!(code, 137);
}

#[tokio::test]
async fn waiting_read_blocks_no_other_request() {
    let machine = TestMachine::start().await;
    let (mut socket, _) = machine.session().await;
    let params = machine.start_params("1", "sleep 600");
    socket.call("process/start", params).await.unwrap();
    let wait = json!({ "processId": "1", "waitMs": 60000 });
    socket.begin("process/read", wait).await.unwrap();
    let status = socket.call("environment/status", json!({})).await.unwrap();
    assert_eq!(status["result"]["status"], "ready");
}

#[test]
fn listener_that_other_machines_reach_needs_a_token() {
    let refused = codex(&["exec-server", "--listen", "ws://0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("--ws-auth"), "{error}");
}

#[tokio::test]
async fn a_listener_ends_with_its_input_on_request() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["exec-server", "--listen", "ws://127.0.0.1:0"])
        .arg("--exit-on-stdin-close")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let mut input = server.stdin.take().unwrap();
    input.write_all(b"nothing to this program\n").await.unwrap();
    let stream = TcpStream::connect(line.strip_prefix("ws://").unwrap()).await;
    let check = Box::<EnvelopeCheck>::default();
    let socket = WebSocket::connect_to_other(stream.unwrap(), "", check).await;
    let mut socket = socket.unwrap().unwrap();
    let begun = begin(&mut socket, Value::Null).await;
    assert!(begun["result"]["sessionId"].is_string(), "{begun}");
    drop(input);
    assert!(server.wait().await.unwrap().success());
}
