//! A server of a user who may have only a few threads: every request gets a reply, or the server says why it ends.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use codex_test_support::{ProtocolObserver, copy_executable};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::setup::PROGRAM;

/// Users that nobody else has. The limit is for all processes of a user, so each test has its own.
const USERS: [u32; 3] = [64_321, 64_322, 64_323];

const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A server of another user with at most so many threads. None without the privileges to start one.
fn limited(base: &TempDir, user: u32, threads: usize) -> Option<Child> {
    let (home, program) = (base.path().join("home"), base.path().join("codex"));
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if !program.exists() {
        copy_executable(Path::new(PROGRAM), &program).unwrap();
    }
    if chown(&home, Some(user), Some(user)).is_err() {
        println!("skipped: no server can be started for another user");
        return None;
    }
    let script = format!("ulimit -u {threads} && exec \"$0\" app-server");
    Command::new("bash")
        .args(["-c", &script])
        .arg(&program)
        .uid(user)
        .gid(user)
        .env("HOME", &home)
        .env("CODEX_HOME", &home)
        .current_dir(&home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .ok()
}

/// Sends so many requests at once and counts the replies until the output ends. Returns what standard error has as well.
async fn replies(
    mut server: Child,
    method: &str,
    params: &Value,
    count: usize,
) -> (usize, Option<i32>, String) {
    let mut input = server.stdin.take().unwrap();
    let handshake = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let mut requests = vec![json!({ "id": 0, "method": "initialize", "params": handshake })];
    let request = |id| json!({ "id": id, "method": method, "params": params });
    requests.extend((1..=count).map(request));
    let mut observer = ProtocolObserver::default();
    requests.iter().for_each(|request| observer.sent(request));
    let text: String = requests.iter().map(|one| format!("{one}\n")).collect();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let send = async {
        // A server that has ended reads nothing.
        let _ = input.write_all(text.as_bytes()).await;
        input
    };
    let read = async {
        let mut replies = 0;
        while replies <= count {
            let Ok(Some(line)) = output.next_line().await else {
                break;
            };
            let message: Value = serde_json::from_str(&line).unwrap();
            observer.received(&message);
            replies += usize::from(message.get("id").is_some() && message.get("method").is_none());
        }
        replies
    };
    let work = async { tokio::join!(send, read) };
    let (input, replies) = tokio::time::timeout(TIME_LIMIT, work).await.unwrap();
    drop(input);
    let ended = tokio::time::timeout(TIME_LIMIT, server.wait_with_output()).await;
    let ended = ended.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    (replies, ended.status.code(), errors)
}

#[tokio::test]
async fn thousands_of_threads_at_once_are_all_answered() {
    let base = tempfile::tempdir().unwrap();
    for limit in [60, 400] {
        let Some(server) = limited(&base, USERS[0], limit) else {
            return;
        };
        let params = json!({ "cwd": base.path().join("home") });
        let (replies, status, errors) = replies(server, "thread/start", &params, 3_000).await;
        assert_eq!(
            replies, 3_001,
            "at most {limit} threads: {status:?} {errors}"
        );
        assert_eq!(status, Some(0), "{errors}");
    }
}

#[tokio::test]
async fn commands_without_a_process_are_answered() {
    let base = tempfile::tempdir().unwrap();
    let Some(server) = limited(&base, USERS[1], 20) else {
        return;
    };
    let params = json!({ "command": ["sleep", "1"] });
    let (replies, status, errors) = replies(server, "command/exec", &params, 200).await;
    assert_eq!(replies, 201, "{status:?} {errors}");
}

/// Whatever it lacks: it answers everything, or ends with an error and a message.
#[tokio::test]
async fn failing_server_reports_the_reason() {
    let base = tempfile::tempdir().unwrap();
    for limit in 1..10 {
        let Some(server) = limited(&base, USERS[2], limit) else {
            return;
        };
        let params = json!({ "cwd": base.path().join("home") });
        let (replies, status, errors) = replies(server, "thread/start", &params, 50).await;
        let is_served = replies == 51 && status == Some(0);
        let is_told = status != Some(0) && !errors.is_empty();
        assert!(
            is_served || is_told,
            "at most {limit} threads: {replies} replies, {status:?} {errors}"
        );
        assert!(
            !errors.contains("panicked"),
            "at most {limit} threads: {errors}"
        );
    }
}
