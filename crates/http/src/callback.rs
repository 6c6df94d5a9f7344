//! The callback server of a browser login. It serves one request per connection and only the login that started it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Response, StatusCode, header};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::server::{HttpRequest, ServerOptions, serve_http};

/// Longer request heads are refused.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The time limit for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 32;

/// The pages of a callback server.
pub trait CallbackSite: Send + Sync + 'static {
    /// Why a login failed.
    type Failure: Send + 'static;

    /// The reply to a GET request for `target`; `target` is empty for other methods.
    fn reply(&self, target: &str) -> impl Future<Output = CallbackReply<Self::Failure>> + Send;
}

/// The reply to a request, and its effect on the login.
#[derive(Clone, Debug)]
pub struct CallbackReply<F> {
    /// The status.
    pub status: StatusCode,
    /// The content type.
    pub kind: &'static str,
    /// The target of a redirect.
    pub location: Option<&'static str>,
    /// The body.
    pub body: String,
    /// The outcome of the login, if this request decides it.
    pub end: Option<Result<(), F>>,
    /// Whether the browser sends no request after this one.
    pub is_last: bool,
}

/// Receives the outcome of a login.
pub type EndSender<F> = mpsc::Sender<Result<(), F>>;

/// Listens on all loopback addresses that `localhost` may resolve to. Port 0 selects a free port.
///
/// # Errors
/// The port cannot be used, usually because it is in use.
pub async fn listen(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let first = TcpListener::bind(("127.0.0.1", port)).await?;
    let port = first.local_addr()?.port();
    let second = TcpListener::bind(("::1", port)).await.ok();
    Ok((port, std::iter::once(first).chain(second).collect()))
}

/// Serves requests while the future is polled. Sends the outcome of the login to `ended`, and notifies `seen` after
/// the last page.
pub async fn serve<S: CallbackSite>(
    site: Arc<S>,
    listeners: Vec<TcpListener>,
    ended: EndSender<S::Failure>,
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
            // Usually no file descriptor is free.
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

async fn connection<S: CallbackSite>(
    site: &S,
    stream: TcpStream,
    ended: &EndSender<S::Failure>,
    seen: &mpsc::Sender<()>,
) {
    let options = ServerOptions {
        head_limit: MAX_HEAD_BYTES,
        head_time: Some(HEAD_TIME),
        half_close: true,
    };
    let outcome = Mutex::new((None, false));
    let reply = async |request: HttpRequest| {
        let target = request.uri().path_and_query().map(|it| it.as_str());
        let target = target.filter(|_| request.method() == Method::GET);
        let reply = site.reply(target.unwrap_or_default()).await;
        let response = reply.response();
        *outcome.lock() = (reply.end, reply.is_last);
        response
    };
    // A browser may disconnect early; its request has taken effect anyway.
    let _ = serve_http(stream, options, reply).await;
    let (end, is_last) = outcome.into_inner();
    if let Some(end) = end {
        let _ = ended.send(end).await;
    }
    if is_last {
        let _ = seen.send(()).await;
    }
}

impl<F> CallbackReply<F> {
    /// A plain text reply.
    #[must_use]
    pub fn text(status: StatusCode, body: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            location: None,
            body: body.to_owned(),
            end: None,
            is_last: false,
        }
    }

    /// An HTML reply.
    #[must_use]
    pub fn page(body: String) -> Self {
        Self {
            kind: "text/html; charset=utf-8",
            ..Self::text(StatusCode::OK, &body)
        }
    }

    fn response(&self) -> Result<Response<Full<Bytes>>, hyper::http::Error> {
        let mut response = Response::builder()
            .status(self.status)
            .header(header::CONTENT_TYPE, self.kind)
            .header(header::CACHE_CONTROL, "no-store")
            .header(header::CONNECTION, "close");
        if let Some(place) = self.location {
            response = response.header(header::LOCATION, place);
        }
        response.body(Full::from(self.body.clone()))
    }
}
