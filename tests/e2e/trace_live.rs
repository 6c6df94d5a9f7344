//! Traces of sessions that still run: `codex debug trace-view --follow` and `trace-reduce --watch`.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

use crate::trace_record::{Traced, message_item, response};

/// A command that runs beside a session, and its output.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    async fn end(mut self) -> Option<i32> {
        self.child.wait().await.unwrap().code()
    }
}

/// The status and the body of what is at an address of this machine.
async fn get(host: &str, target: &str) -> (String, String) {
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    let reply = String::from_utf8(reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.to_owned(), body.to_owned())
}

/// The data of a page.
fn data_of(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

fn turns(spans: &[Value]) -> usize {
    spans.iter().filter(|span| span["kind"] == "turn").count()
}

#[tokio::test]
async fn a_page_follows_a_session_to_its_end() {
    let mut traced = Traced::start(&[
        response(&[message_item("one")]),
        response(&[message_item("two")]),
    ])
    .await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let root = traced.home.path().join("deep/traces");
    let mut page = Running::start(&["debug", "trace-view", "--follow", root.to_str().unwrap()]);
    let address = page.line().await;
    let address = address.strip_prefix("http://").unwrap().to_owned();
    let (host, target) = address.split_once('/').unwrap();
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    let target = format!("/{target}");
    assert_eq!(get(host, "/").await.0, "403");
    let (status, text) = get(host, &target).await;
    assert_eq!(status, "200");
    assert!(text.contains("connect-src 'self'"));
    assert_eq!(get(host, &target).await.0, "403", "the address works once");
    let data = data_of(&text);
    let source = data["live"]["source"].as_str().unwrap();
    assert_eq!(get(host, "/changes?key=x&since=0").await.0, "403");

    traced.turn(&thread).await;
    let (mut version, mut spans) = (
        data["version"].as_u64().unwrap(),
        data["spans"].as_array().unwrap().clone(),
    );
    let mut server = Some(traced.server);
    loop {
        let (status, changes) = get(host, &format!("{source}&since={version}")).await;
        assert_eq!(status, "200");
        let changes: Value = serde_json::from_str(&changes).unwrap();
        version = changes["head"]["version"].as_u64().unwrap();
        let list = &changes["lists"]["spans"];
        spans.resize(list["length"].as_u64().unwrap() as usize, json!(null));
        for changed in list["changed"].as_array().unwrap() {
            spans[changed[0].as_u64().unwrap() as usize] = changed[1].clone();
        }
        if changes["head"]["live"]["over"] == true {
            break;
        }
        if turns(&spans) == 2
            && let Some(server) = server.take()
        {
            server.finish().await.unwrap();
        }
    }
    assert_eq!(turns(&spans), 2);
    assert!(
        spans.iter().all(|span| span["status"] == "completed"),
        "{spans:?}"
    );
    assert_eq!(page.end().await, Some(0));
}

#[tokio::test]
async fn a_state_is_written_while_the_session_runs() {
    let mut traced = Traced::start(&[]).await;
    let thread = traced.thread().await;
    let root = traced.home.path().join("deep/traces");
    let state = traced.home.path().join("state.json");
    let arguments = [
        "debug",
        "trace-reduce",
        "--watch",
        root.to_str().unwrap(),
        "-o",
        state.to_str().unwrap(),
    ];
    let mut watching = Running::start(&arguments);
    traced.turn(&thread).await;
    traced.server.finish().await.unwrap();
    let printed = watching.line().await;
    assert_eq!(Path::new(&printed), state);
    assert_eq!(watching.end().await, Some(0));
    let state: Value = serde_json::from_slice(&std::fs::read(state).unwrap()).unwrap();
    assert_eq!(state["status"], "completed");
}
