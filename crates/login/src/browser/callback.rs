//! The small server that a browser comes back to. It answers one request a connection, and knows nothing
//! but the login that it was started for.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::exchange::exchange;
use super::pages;
use super::pkce::Secrets;
use crate::accounts::Accounts;
use crate::identity_server::parameters;

/// A longer head is none of a browser on its way back.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long a connection may take to say what it wants, and to take the reply.
const TIME: Duration = Duration::from_secs(10);
/// How long another program may take to give a port up.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 32;

/// What comes back belongs to this.
#[derive(Debug)]
pub(crate) struct Callback {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) redirect_uri: String,
    pub(crate) secrets: Secrets,
}

/// What is replied, and what follows from the request.
struct Reply {
    status: &'static str,
    kind: &'static str,
    location: Option<&'static str>,
    body: String,
    end: Option<Result<(), String>>,
}

type Ended = mpsc::Sender<Result<(), String>>;

/// Serves browsers for as long as it is polled. `ended` hears how the login ends, `seen` that the browser
/// has the last page.
pub(crate) async fn serve(
    callback: Arc<Callback>,
    listeners: Vec<TcpListener>,
    ended: Ended,
    seen: mpsc::Sender<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let stream = match &listeners[..] {
            [one] => one.accept().await,
            [one, other, ..] => tokio::select! {
                stream = one.accept() => stream,
                stream = other.accept() => stream,
            },
            [] => return,
        };
        let Ok((stream, _)) = stream else {
            // Out of file handles, most likely.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        let (callback, ended, seen) = (Arc::clone(&callback), ended.clone(), seen.clone());
        connections.spawn(async move {
            connection(&callback, stream, &ended, &seen).await;
        });
    }
}

async fn connection(
    callback: &Callback,
    mut stream: TcpStream,
    ended: &Ended,
    seen: &mpsc::Sender<()>,
) {
    let Ok(Some(target)) = tokio::time::timeout(TIME, read_target(&mut stream)).await else {
        return;
    };
    let reply = callback.reply(&target).await;
    let text = reply.to_text();
    let _ = tokio::time::timeout(TIME, async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
    if let Some(end) = reply.end {
        let _ = ended.send(end).await;
    }
    if target.starts_with("/success") {
        let _ = seen.send(()).await;
    }
}

/// Reads the head of a request. Nothing if it is none.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    match (words.next(), words.next()) {
        (Some("GET"), Some(target)) => Some(target.to_owned()),
        _ => Some(String::new()),
    }
}

impl Callback {
    async fn reply(&self, target: &str) -> Reply {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path {
            "/auth/callback" => self.come_back(&parameters(query)).await,
            "/success" => Reply::page(pages::success()),
            "/cancel" => Reply {
                end: Some(Err("Login cancelled".to_owned())),
                ..Reply::text("200 OK", "Login cancelled")
            },
            "" => Reply::text("400 Bad Request", "Bad Request"),
            path if !path.starts_with('/') => Reply::text("400 Bad Request", "Bad Request"),
            _ => Reply::text("404 Not Found", "Not Found"),
        }
    }

    async fn come_back(&self, parameters: &[(String, String)]) -> Reply {
        let get = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        if get("state") != Some(&self.secrets.state) {
            return Reply::text("400 Bad Request", "State mismatch");
        }
        if let Some(error) = get("error") {
            let description = get("error_description");
            let message = refusal(error, description);
            return Reply::failure(message, error, description);
        }
        let Some(code) = get("code").filter(|code| !code.is_empty()) else {
            let message = "Missing authorization code. Sign-in could not be completed.";
            return Reply::failure(message.to_owned(), "missing_authorization_code", None);
        };
        let verifier = &self.secrets.verifier;
        match exchange(&self.accounts, code, &self.redirect_uri, verifier).await {
            Ok(()) => Reply {
                location: Some("/success"),
                end: Some(Ok(())),
                ..Reply::text("302 Found", "")
            },
            Err(error) => Reply::failure(error.message, error.code, None),
        }
    }
}

/// What a person is told whom the identity server turned down.
fn refusal(error: &str, description: Option<&str>) -> String {
    let not_entitled = description.is_some_and(|text| text.contains("missing_codex_entitlement"));
    if error == "access_denied" && not_entitled {
        return "Codex is not enabled for your workspace. Contact your workspace administrator to \
                request access to Codex."
            .to_owned();
    }
    format!("Sign-in failed: {}", description.unwrap_or(error))
}

impl Reply {
    fn text(status: &'static str, body: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            location: None,
            body: body.to_owned(),
            end: None,
        }
    }

    fn page(body: String) -> Self {
        Self {
            kind: "text/html; charset=utf-8",
            ..Self::text("200 OK", &body)
        }
    }

    fn failure(message: String, code: &str, description: Option<&str>) -> Self {
        Self {
            end: Some(Err(message.clone())),
            ..Self::page(pages::failure(&message, code, description))
        }
    }

    fn to_text(&self) -> String {
        let location = self.location.map(|place| format!("Location: {place}\r\n"));
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Cache-Control: no-store\r\n\
             Connection: close\r\n\r\n{}",
            self.status,
            self.kind,
            self.body.len(),
            location.unwrap_or_default(),
            self.body
        )
    }
}

/// Asks whatever listens on the port to give up its login: most likely one that was left waiting.
pub(crate) async fn ask_to_cancel(port: u16) {
    let ask = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let request =
            format!("GET /cancel HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut reply = [0; 1024];
        stream.read(&mut reply).await
    };
    let _ = tokio::time::timeout(CANCEL_TIME, ask).await;
}
