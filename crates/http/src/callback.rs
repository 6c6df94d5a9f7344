//! The small server that a browser comes back to. It answers one request a connection, and knows nothing
//! but the login that it was started for.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A longer head is none of a browser on its way back.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long a connection may take to say what it wants, and to take the reply.
const TIME: Duration = Duration::from_secs(10);
/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 32;

/// What browsers are replied.
pub trait Site: Send + Sync + 'static {
    /// Why a login failed.
    type Failure: Send + 'static;

    /// The reply to a GET of this path and query; of any other request the target is empty.
    fn reply(&self, target: &str) -> impl Future<Output = Reply<Self::Failure>> + Send;
}

/// What is replied, and what follows from the request.
#[derive(Clone, Debug)]
pub struct Reply<F> {
    /// The number of the status, and its words.
    pub status: &'static str,
    /// The kind of the body.
    pub kind: &'static str,
    /// Where the browser has to go next.
    pub location: Option<&'static str>,
    /// The body.
    pub body: String,
    /// How the login ends with this.
    pub end: Option<Result<(), F>>,
    /// Whether this is the last that the browser will fetch.
    pub is_last: bool,
}

/// Who hears how a login ends.
pub type Ended<F> = mpsc::Sender<Result<(), F>>;

/// Listens where browsers look for `localhost`: on both loopback addresses, where there are two. With
/// port 0, on any port.
///
/// # Errors
/// Somebody else has the port, most likely.
pub async fn listen(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let first = TcpListener::bind(("127.0.0.1", port)).await?;
    let port = first.local_addr()?.port();
    let second = TcpListener::bind(("::1", port)).await.ok();
    Ok((port, std::iter::once(first).chain(second).collect()))
}

/// Serves browsers for as long as it is polled. `ended` hears how the login ends, `seen` that the browser
/// has the last page.
pub async fn serve<S: Site>(
    site: Arc<S>,
    listeners: Vec<TcpListener>,
    ended: Ended<S::Failure>,
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
        let (site, ended, seen) = (Arc::clone(&site), ended.clone(), seen.clone());
        connections.spawn(async move {
            connection(site.as_ref(), stream, &ended, &seen).await;
        });
    }
}

async fn connection<S: Site>(
    site: &S,
    mut stream: TcpStream,
    ended: &Ended<S::Failure>,
    seen: &mpsc::Sender<()>,
) {
    let Ok(Some(target)) = tokio::time::timeout(TIME, read_target(&mut stream)).await else {
        return;
    };
    let reply = site.reply(&target).await;
    let text = reply.to_text();
    let _ = tokio::time::timeout(TIME, async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
    if let Some(end) = reply.end {
        let _ = ended.send(end).await;
    }
    if reply.is_last {
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

impl<F> Reply<F> {
    /// A line of text.
    #[must_use]
    pub fn text(status: &'static str, body: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            location: None,
            body: body.to_owned(),
            end: None,
            is_last: false,
        }
    }

    /// A page.
    #[must_use]
    pub fn page(body: String) -> Self {
        Self {
            kind: "text/html; charset=utf-8",
            ..Self::text("200 OK", &body)
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
