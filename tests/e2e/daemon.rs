//! `codex app-server daemon` and `proxy`: the server in the background of a home folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::escapes::wait_until;

/// A home folder whose server ends with the test.
struct DaemonHome(TempDir);

impl DaemonHome {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
        command
            .args(arguments)
            .env("HOME", self.0.path())
            .env("CODEX_HOME", self.0.path())
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn daemon(&self, what: &str) -> Output {
        self.command(&["app-server", "daemon", what])
            .output()
            .unwrap()
    }

    fn socket(&self) -> PathBuf {
        let folder = fs::canonicalize(self.0.path()).unwrap();
        folder.join("app-server-control/app-server-control.sock")
    }
}

impl Drop for DaemonHome {
    fn drop(&mut self) {
        let _ = self.daemon("stop");
    }
}

#[track_caller]
fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Whether a process runs. One that has ended may be left until whoever adopted it looks.
fn exists(process: &Value) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

fn signal(process: &Value, name: &str) {
    let id = process.to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_server_is_started_once_found_and_ended() {
    let home = DaemonHome::new();
    let error = refusal(&home.daemon("version"));
    assert!(error.contains("daemon start"), "{error}");
    let started = answer(&home.daemon("start"));
    assert_eq!(started["status"], "started");
    assert_eq!(started["backend"], "pid");
    assert_eq!(started["appServerVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(started["socketPath"], home.socket().to_str().unwrap());
    let mode = fs::metadata(home.socket().parent().unwrap()).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o700);
    let again = answer(&home.daemon("start"));
    assert_eq!(again["status"], "alreadyRunning");
    assert_eq!(again["pid"], started["pid"]);
    assert_eq!(answer(&home.daemon("version"))["status"], "running");
    let restarted = answer(&home.daemon("restart"));
    assert_eq!(restarted["status"], "restarted");
    assert_ne!(restarted["pid"], started["pid"]);
    wait_until("the first server ended", || !exists(&started["pid"]));
    assert_eq!(answer(&home.daemon("stop"))["status"], "stopped");
    wait_until("the second server ended", || !exists(&restarted["pid"]));
    assert!(!home.socket().exists());
    assert_eq!(answer(&home.daemon("stop"))["status"], "notRunning");
}

#[test]
fn two_starts_at_once_start_one_server() {
    let home = DaemonHome::new();
    let start = || -> Child {
        let mut command = home.command(&["app-server", "daemon", "start"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start(), start()];
    let answers = both.map(|child| answer(&child.wait_with_output().unwrap()));
    let started = answers.iter().filter(|it| it["status"] == "started");
    assert_eq!(started.count(), 1, "{answers:?}");
    assert!(answers.iter().all(|it| it["pid"] == answers[0]["pid"]));
}

#[test]
fn a_server_that_was_killed_is_replaced() {
    let home = DaemonHome::new();
    let first = answer(&home.daemon("start"));
    signal(&first["pid"], "KILL");
    // The starter has ended, so whoever adopts the process removes it.
    while answer_of_version(&home).is_some() {}
    assert!(home.socket().exists(), "the socket is left over");
    assert_eq!(answer(&home.daemon("start"))["status"], "started");
}

fn answer_of_version(home: &DaemonHome) -> Option<Value> {
    serde_json::from_slice(&home.daemon("version").stdout).ok()
}

/// A stopped process accepts connections, because the system does that for it, and takes no other signal than the last.
#[test]
fn a_server_that_hangs_is_killed_at_the_stop() {
    let home = DaemonHome::new();
    let started = answer(&home.daemon("start"));
    signal(&started["pid"], "STOP");
    let error = refusal(&home.daemon("start"));
    assert!(error.contains("does not answer"), "{error}");
    assert_eq!(answer(&home.daemon("stop"))["status"], "stopped");
    assert_eq!(answer(&home.daemon("start"))["status"], "started");
}

/// The numbers in files of other releases name processes that may be anyone's by now.
#[test]
fn a_process_that_a_file_names_is_not_ended() {
    let home = DaemonHome::new();
    let folder = home.0.path().join("app-server-daemon");
    fs::create_dir(&folder).unwrap();
    let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = bystander.id();
    fs::write(folder.join("daemon.pid"), format!("{{\"pid\":{pid}}}")).unwrap();
    fs::write(folder.join("running.lock"), pid.to_string()).unwrap();
    assert_eq!(answer(&home.daemon("stop"))["status"], "notRunning");
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_server_that_was_started_otherwise_is_left_alone() {
    let home = DaemonHome::new();
    let mut server = home
        .command(&["app-server", "--listen", "unix://"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while answer_of_version(&home).is_none() {}
    let error = refusal(&home.daemon("stop"));
    assert!(
        error.contains(&format!("process {}", server.id())),
        "{error}"
    );
    let found = answer(&home.daemon("start"));
    assert_eq!(found["status"], "alreadyRunning");
    assert_eq!(found.get("pid"), None);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn daemon_socket_does_not_follow_links() {
    let home = DaemonHome::new();
    let socket = home.socket();
    fs::create_dir(socket.parent().unwrap()).unwrap();
    // As another release leaves it behind after a crash.
    std::os::unix::fs::symlink("/nowhere/socket", &socket).unwrap();
    assert_eq!(answer(&home.daemon("start"))["status"], "started");
    assert_eq!(answer(&home.daemon("stop"))["status"], "stopped");
    fs::write(&socket, "precious").unwrap();
    let error = refusal(&home.daemon("start"));
    assert!(error.contains("no socket"), "{error}");
    assert_eq!(fs::read(&socket).unwrap(), b"precious");
}

#[test]
fn silent_listener_does_not_block_the_daemon() {
    let home = DaemonHome::new();
    fs::create_dir(home.socket().parent().unwrap()).unwrap();
    let silent = UnixListener::bind(home.socket()).unwrap();
    let error = refusal(&home.daemon("version"));
    assert!(error.contains("does not answer"), "{error}");
    drop(silent);
}

#[test]
fn daemon_start_error_is_reported() {
    let home = DaemonHome::new();
    let arguments = [
        "app-server",
        "daemon",
        "start",
        "--strict-config",
        "-c",
        "frob=1",
    ];
    let error = refusal(&home.command(&arguments).output().unwrap());
    assert!(error.contains("unknown setting `frob`"), "{error}");
}

#[tokio::test]
async fn the_proxy_passes_websockets_on() {
    let home = DaemonHome::new();
    answer(&home.daemon("start"));
    let mut proxy = tokio::process::Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(["app-server", "proxy"])
        .env("CODEX_HOME", home.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stream = tokio::io::join(proxy.stdout.take().unwrap(), proxy.stdin.take().unwrap());
    let socket = codex_test_support::WebSocket::connect(stream, "").await;
    let mut socket = crate::listeners::initialized(socket.unwrap().unwrap()).await;
    let listed = socket
        .call("thread/loaded/list", serde_json::json!({}))
        .await
        .unwrap();
    assert_eq!(listed["result"]["data"], serde_json::json!([]));
    drop(socket);
    let ended = tokio::time::timeout(Duration::from_secs(30), proxy.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}

#[test]
fn proxy_without_a_server_is_an_error() {
    let home = DaemonHome::new();
    let output = home.command(&["app-server", "proxy"]).output().unwrap();
    let error = refusal(&output);
    assert!(error.contains("cannot reach a server"), "{error}");
}

#[test]
fn daemon_commands_of_other_releases_name_the_replacement() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, instead) in [
        (
            &["bootstrap", "--remote-control"][..],
            "codex app-server daemon start",
        ),
        (&["update"], "codex app-server daemon restart"),
        (&["enable-remote-control"], "codex app-server proxy"),
        (&["disable-remote-control"], "codex app-server proxy"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(["app-server", "daemon"])
            .args(arguments)
            .env("CODEX_HOME", home.path())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(instead), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(home.path().read_dir().unwrap().count(), 0);
}
