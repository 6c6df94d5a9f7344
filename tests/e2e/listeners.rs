//! The listeners of the app-server: who may connect, how many, and how they end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use codex_test_support::{HttpReply, Latch, ModelServer, WebSocket, sse};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, Command};

use crate::setup::scripted_home;

/// A listener, and where it says that it listens.
pub(crate) struct Listening {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Listening {
    pub(crate) async fn start(home: &Path, arguments: &[&str]) -> Self {
        Self::start_command(home, "app-server", arguments).await
    }

    /// Starts another command that listens.
    pub(crate) async fn start_command(home: &Path, command: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
            .arg(command)
            .args(arguments)
            .env("HOME", home)
            .env("CODEX_HOME", home)
            .current_dir(home)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some(address) = line.trim().strip_prefix("listening on: ") {
                break address.to_owned();
            }
        };
        // What else it says must have somewhere to go.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { child, address }
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        let address = self.address.strip_prefix("ws://").unwrap();
        TcpStream::connect(address).await.unwrap()
    }

    pub(crate) async fn connect(&self) -> WebSocket<TcpStream> {
        initialized(self.connect_raw().await).await
    }

    /// A connection before the handshake.
    pub(crate) async fn connect_raw(&self) -> WebSocket<TcpStream> {
        let connected = WebSocket::connect(self.tcp().await, "").await;
        connected.unwrap().unwrap()
    }

    pub(crate) fn terminate(&self) {
        self.send_signal("TERM");
    }

    pub(crate) fn send_signal(&self, signal: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", signal, &id])
            .status();
        assert!(sent.unwrap().success());
    }
}

pub(crate) async fn initialized<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    mut socket: WebSocket<S>,
) -> WebSocket<S> {
    let client = json!({ "clientInfo": { "name": "tests", "version": "1" } });
    let reply = socket.call("initialize", client).await.unwrap();
    assert!(reply["result"]["userAgent"].is_string(), "{reply}");
    socket
}

pub(crate) async fn start_turn(socket: &mut WebSocket<TcpStream>, text: &str) -> (Value, Value) {
    let reply = socket.call("thread/start", json!({})).await.unwrap();
    let thread = reply["result"]["thread"]["id"].clone();
    let input = json!([{ "type": "text", "text": text }]);
    let params = json!({ "threadId": thread, "input": input });
    let reply = socket.call("turn/start", params).await.unwrap();
    (thread, reply["result"]["turn"]["id"].clone())
}

async fn home_with(replies: Vec<HttpReply>) -> (ModelServer, TempDir) {
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "");
    (model, home)
}

#[tokio::test]
async fn a_port_serves_many_clients_and_its_probes() {
    let (_model, home) = home_with(vec![HttpReply::stream(&sse::text("hello"))]).await;
    let server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let mut one = server.connect().await;
    let mut other = server.connect().await;
    let (thread, turn) = start_turn(&mut one, "hi").await;
    let ended = one.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["turn"]["id"], turn);
    // The other hears of the thread, and of its turns when it asks for it.
    let started = other.wait_for("thread/started").await.unwrap();
    assert_eq!(started["params"]["thread"]["id"], thread);
    let params = json!({ "threadId": thread });
    let resumed = other.call("thread/resume", params).await.unwrap();
    assert_eq!(resumed["result"]["thread"]["turns"][0]["id"], turn);
    one.finish().await.unwrap();
    other.finish().await.unwrap();

    let mut probe = server.tcp().await;
    probe
        .write_all(b"GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut reply = String::new();
    probe.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    let page = WebSocket::connect(server.tcp().await, "Origin: http://localhost\r\n").await;
    let refused = page.unwrap().unwrap_err();
    assert!(refused.status_line.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn ping_is_answered_within_long_message() {
    let (_model, home) = home_with(Vec::new()).await;
    // Far more than the buffers between the two take.
    let path = home.path().join("long");
    fs::File::create(&path).unwrap().set_len(40 << 20).unwrap();
    let server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let mut client = server.connect().await;
    let params = json!({ "path": path });
    let id = client.begin("fs/readFile", params).await.unwrap();
    let (message, is_answered_inside) = client.ping_inside_a_message().await.unwrap();
    assert_eq!(message["id"], id);
    let data = message["result"]["dataBase64"].as_str().unwrap();
    assert_eq!(data.len(), (40_usize << 20).div_ceil(3) * 4);
    assert!(is_answered_inside);
    client.finish().await.unwrap();
}

#[tokio::test]
async fn unix_socket_is_private_and_replaced_only_if_abandoned() {
    let (_model, home) = home_with(Vec::new()).await;
    let path = home.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let url = format!("unix://{}", path.display());
    let mut server = Listening::start(home.path(), &["--listen", &url]).await;
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let stream = UnixStream::connect(&path).await.unwrap();
    let mut client = initialized(WebSocket::connect(stream, "").await.unwrap().unwrap()).await;

    let second = crate::codex(&["app-server", "--listen", &url]);
    assert_eq!(second.status.code(), Some(1));

    server.terminate();
    assert_eq!(client.receive().await.unwrap(), None);
    assert!(server.child.wait().await.unwrap().success());
    assert!(!path.exists());
}

#[tokio::test]
async fn default_unix_socket_is_in_home_folder() {
    let (_model, home) = home_with(Vec::new()).await;
    let mut server = Listening::start(home.path(), &["--listen", "unix://"]).await;
    let folder = home.path().join("app-server-control");
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let path = folder.join("app-server-control.sock");
    let stream = UnixStream::connect(&path).await.unwrap();
    let client = initialized(WebSocket::connect(stream, "").await.unwrap().unwrap()).await;
    client.finish().await.unwrap();
    server.terminate();
    assert!(server.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set() {
    let (_model, home) = home_with(Vec::new()).await;
    let token = home.path().join("token");
    fs::write(&token, "open sesame\n").unwrap();
    let token = token.display().to_string();
    let auth = ["--ws-auth", "capability-token", "--ws-token-file", &token];
    let server = Listening::start(
        home.path(),
        &[&["--listen", "ws://0.0.0.0:0"], auth.as_slice()].concat(),
    )
    .await;
    let port = server.address.rsplit_once(':').unwrap().1;
    let connect = async |header: &str| {
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).await;
        WebSocket::connect(stream.unwrap(), header).await.unwrap()
    };
    for header in ["", "Authorization: Bearer else\r\n"] {
        let refused = connect(header).await.unwrap_err();
        assert!(
            refused.status_line.starts_with("HTTP/1.1 401 "),
            "{refused:?}"
        );
    }
    let welcome = connect("Authorization: Bearer open sesame\r\n").await;
    initialized(welcome.unwrap()).await;
}

#[test]
fn listening_without_authentication_is_refused() {
    let check = |arguments: &[&str], reason: &str| {
        let arguments = [&["app-server", "--listen", "ws://127.0.0.1:0"], arguments].concat();
        let output = crate::codex(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(reason), "{said}");
    };
    let output = crate::codex(&["app-server", "--listen", "ws://0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    check(&["--ws-issuer", "us"], "--ws-auth");
    check(&["--ws-auth", "capability-token"], "--ws-token-file");
    let relative = ["--ws-auth", "capability-token", "--ws-token-file", "token"];
    check(&relative, "absolute");
    check(
        &["--ws-auth", "signed-bearer-token"],
        "--ws-shared-secret-file",
    );
}

#[tokio::test]
async fn a_signal_lets_a_listener_finish_its_turns() {
    let latch = Latch::new();
    let held = HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(&latch)
        .body(sse::frames(&sse::text("at last")));
    let (model, home) = home_with(vec![held]).await;
    let mut server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let mut client = server.connect().await;
    let (_, turn) = start_turn(&mut client, "hi").await;
    client.wait_for("turn/started").await.unwrap();
    model.request(0).await;
    server.terminate();
    // It is still served.
    client.call("thread/loaded/list", json!({})).await.unwrap();
    latch.open();
    let ended = client.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["turn"]["id"], turn);
    assert_eq!(ended["params"]["turn"]["status"], "completed");
    while client.receive().await.unwrap().is_some() {}
    assert!(server.child.wait().await.unwrap().success());
}

/// What a command is answered that asks a listener of the server that runs it for a websocket.
#[cfg(target_os = "linux")]
async fn asked_by_command(policy: Value, arguments: &[&str], headers: &str) -> String {
    let (_model, home) = home_with(Vec::new()).await;
    let token = home.path().join("token");
    fs::write(&token, "open sesame").unwrap();
    let mut all = vec!["--listen", "ws://127.0.0.1:0"];
    all.extend(arguments);
    let token = token.to_str().unwrap();
    let server = Listening::start(
        home.path(),
        &all.iter()
            .map(|argument| match *argument {
                "TOKEN" => token,
                other => other,
            })
            .collect::<Vec<_>>(),
    )
    .await;
    let stream = server.tcp().await;
    let socket = WebSocket::connect(stream, headers).await.unwrap();
    let mut socket = initialized(socket.unwrap()).await;
    let address = server.address.strip_prefix("ws://").unwrap();
    let (host, port) = address.split_once(':').unwrap();
    let head = format!(
        "GET / HTTP/1.1\\r\\nHost: {address}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\
         Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n{}\\r\\n",
        headers.replace("\r\n", "\\r\\n")
    );
    let script = format!(
        "exec 3<>/dev/tcp/{host}/{port}; printf '{head}' >&3; read -r line <&3; echo \"$line\""
    );
    let command = json!({ "command": ["bash", "-c", script], "sandboxPolicy": policy });
    let reply = socket.call("command/exec", command).await.unwrap();
    let said = reply["result"]["stdout"].as_str();
    said.unwrap_or_else(|| panic!("{reply}")).trim().to_owned()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_confined_command_is_no_client() {
    let confined = || json!({ "type": "workspaceWrite", "networkAccess": true });
    let free = json!({ "type": "dangerFullAccess" });
    let forbidden = "HTTP/1.1 403 Forbidden";
    assert_eq!(asked_by_command(confined(), &[], "").await, forbidden);
    let reading = json!({ "type": "readOnly", "networkAccess": true });
    assert_eq!(asked_by_command(reading, &[], "").await, forbidden);
    // A token is of no use to it, though it may read the file.
    let auth = ["--ws-auth", "capability-token", "--ws-token-file", "TOKEN"];
    let token = "Authorization: Bearer open sesame\r\n";
    assert_eq!(asked_by_command(confined(), &auth, token).await, forbidden);
    let upgraded = "HTTP/1.1 101 Switching Protocols";
    assert_eq!(asked_by_command(free, &[], "").await, upgraded);
}

#[tokio::test]
async fn foreign_host_header_is_refused() {
    let (_model, home) = home_with(Vec::new()).await;
    let server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let mut stream = server.tcp().await;
    let head = "GET / HTTP/1.1\r\nHost: rebound.example.org\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut reply = [0; 22];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"HTTP/1.1 403 Forbidden");
}
