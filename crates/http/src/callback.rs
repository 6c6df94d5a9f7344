//! The small server that a browser comes back to. It answers one request a connection, and knows nothing
//! but the login that it was started for.

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

/// A longer head is none of a browser on its way back.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long a connection may take to say what it wants.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 32;

/// What browsers are replied.
pub trait CallbackSite: Send + Sync + 'static {
    /// Why a login failed.
    type Failure: Send + 'static;

    /// The reply to a GET of this path and query; of any other request the target is empty.
    fn reply(&self, target: &str) -> impl Future<Output = CallbackReply<Self::Failure>> + Send;
}

/// What is replied, and what follows from the request.
#[derive(Clone, Debug)]
pub struct CallbackReply<F> {
    /// The status.
    pub status: StatusCode,
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
pub type EndSender<F> = mpsc::Sender<Result<(), F>>;

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
    // A browser may go away in the middle, and what it has done counts all the same.
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
    /// A line of text.
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

    /// A page.
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
