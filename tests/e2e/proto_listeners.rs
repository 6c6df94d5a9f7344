//! `codex proto --listen`: who is served, how many, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::PROGRAM;

/// Longer than anything here takes.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

struct Listening {
    child: Child,
    /// What it says that it listens at.
    url: String,
    folder: TempDir,
    _model: ModelServer,
    _runtime: tokio::runtime::Runtime,
}

trait Socket: Read + Write {}

impl<S: Read + Write> Socket for S {}

impl Listening {
    fn start(url: impl FnOnce(&Path) -> String) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let model = runtime.block_on(ModelServer::start([])).unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
        let folder = tempfile::tempdir().unwrap();
        let settings = format!(
            "model = \"mock-model\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
             sandbox_mode = \"danger-full-access\"\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}\"\n",
            model.base_url()
        );
        fs::write(folder.path().join("config.toml"), settings).unwrap();
        let mut child = command(&folder, &url(folder.path()))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url =
            lines.find_map(|line| Some(line.unwrap().split_once("listening on: ")?.1.to_owned()));
        // What it logs later must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            url: url.unwrap(),
            folder,
            _model: model,
            _runtime: runtime,
        }
    }

    fn tcp(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.url.strip_prefix("tcp://").unwrap()).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        BufReader::new(stream)
    }

    fn path(&self) -> PathBuf {
        self.url.strip_prefix("unix://").unwrap().into()
    }

    fn unix(&self) -> BufReader<UnixStream> {
        let stream = UnixStream::connect(self.path()).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        BufReader::new(stream)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(home: &TempDir, url: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["proto", "--listen", url])
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .stdin(Stdio::null());
    command
}

/// The next event of this type; none if the connection ends before.
fn wait_for(client: &mut BufReader<impl Socket>, kind: &str) -> Option<Value> {
    loop {
        let mut line = String::new();
        if client.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let event: Value = serde_json::from_str(&line).unwrap();
        crate::proto::check(&event);
        if event["msg"]["type"] == kind {
            return Some(event);
        }
    }
}

fn submit_text(client: &mut BufReader<impl Socket>, id: &str) {
    let op = json!({ "type": "user_input", "items": [{ "type": "text", "text": "hi" }] });
    let line = json!({ "id": id, "op": op });
    writeln!(client.get_mut(), "{line}").unwrap();
}

#[test]
fn each_connection_has_a_session_of_its_own() {
    let server = Listening::start(|_| "tcp://127.0.0.1:0".to_owned());
    let mut clients = [server.tcp(), server.tcp()];
    let sessions = clients.each_mut().map(|client| {
        let configured = wait_for(client, "session_configured").unwrap();
        configured["msg"]["session_id"].as_str().unwrap().to_owned()
    });
    assert_ne!(sessions[0], sessions[1]);
    for client in &mut clients {
        submit_text(client, "1");
        assert_eq!(wait_for(client, "task_complete").unwrap()["id"], "1");
    }
    let [mut first, mut second] = clients;
    first.get_mut().shutdown(Shutdown::Write).unwrap();
    assert!(wait_for(&mut first, "shutdown_complete").is_some());
    submit_text(&mut second, "2");
    assert_eq!(wait_for(&mut second, "task_complete").unwrap()["id"], "2");
}

#[test]
fn a_web_page_starts_no_task() {
    let server = Listening::start(|_| "tcp://127.0.0.1:0".to_owned());
    let mut page = server.tcp();
    let op = json!({ "type": "user_input", "items": [{ "type": "text", "text": "hi" }] });
    let body = json!({ "id": "1", "op": op });
    let request = format!("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n{body}\n");
    page.get_mut().write_all(request.as_bytes()).unwrap();
    assert!(wait_for(&mut page, "task_started").is_none());
}

#[test]
fn a_later_line_that_is_no_submission_ends_nothing() {
    let server = Listening::start(|_| "tcp://127.0.0.1:0".to_owned());
    let mut client = server.tcp();
    submit_text(&mut client, "1");
    wait_for(&mut client, "task_complete").unwrap();
    client.get_mut().write_all(b"no submission\n").unwrap();
    wait_for(&mut client, "error").unwrap();
    submit_text(&mut client, "2");
    assert_eq!(wait_for(&mut client, "task_complete").unwrap()["id"], "2");
}

#[test]
fn socket_is_private_and_removed_at_the_end() {
    let mut server = Listening::start(|home| format!("unix://{}/socket", home.display()));
    let mode = fs::metadata(server.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = server.unix();
    client.get_mut().write_all(b"no submission\n").unwrap();
    wait_for(&mut client, "error").unwrap();
    submit_text(&mut client, "1");
    wait_for(&mut client, "task_complete").unwrap();
    // Another server does not take the place of a live one.
    let second = command(&server.folder, &server.url).output().unwrap();
    assert!(!second.status.success());
    let id = server.child.id().to_string();
    let ended = Command::new("kill").args(["-s", "TERM", &id]).status();
    assert!(ended.unwrap().success());
    assert!(wait_for(&mut client, "shutdown_complete").is_some());
    assert!(server.child.wait().unwrap().success());
    assert!(!server.path().exists());
}

#[test]
fn client_limit_is_enforced() {
    let server = Listening::start(|home| format!("unix://{}/socket", home.display()));
    let mut clients: Vec<_> = (0..16).map(|_| server.unix()).collect();
    for client in &mut clients {
        wait_for(client, "session_configured").unwrap();
    }
    assert!(wait_for(&mut server.unix(), "session_configured").is_none());
    let mut last = clients.pop().unwrap();
    last.get_mut().shutdown(Shutdown::Write).unwrap();
    wait_for(&mut last, "shutdown_complete").unwrap();
    while last.read_line(&mut String::new()).unwrap() > 0 {}
    submit_text(&mut clients[0], "1");
    wait_for(&mut clients[0], "task_complete").unwrap();
}

#[test]
fn other_machines_cannot_be_served() {
    let home = tempfile::tempdir().unwrap();
    for url in ["tcp://0.0.0.0:0", "tcp://[::]:0"] {
        let refused = command(&home, url).output().unwrap();
        assert!(!refused.status.success());
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(
            said.contains("can be reached from other machines"),
            "{said}"
        );
    }
    for url in ["tcp://localhost:1", "unix://", "ws://127.0.0.1:1"] {
        let refused = command(&home, url).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("expected `"), "{said}");
    }
}

#[test]
fn a_confined_program_is_not_served() {
    let server = Listening::start(|_| "tcp://127.0.0.1:0".to_owned());
    let address = server.url.strip_prefix("tcp://").unwrap();
    let (host, port) = address.split_once(':').unwrap();
    let script = format!("exec 3<>/dev/tcp/{host}/{port}; read -r line <&3; echo \"[$line]\"");
    let policy = [
        "-c",
        "sandbox_workspace_write.network_access=true",
        "-c",
        "sandbox_mode=workspace-write",
    ];
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).args(["bash", "-c", &script]);
        command
            .current_dir(server.folder.path())
            .env("CODEX_HOME", server.folder.path());
        let said = command.output().unwrap();
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    };
    let free = run("env", &[]);
    assert!(free.contains("session_configured"), "{free}");
    let confined = [&["sandbox"], &policy[..]].concat();
    assert_eq!(run(PROGRAM, &confined), "[]");
}
