//! The HTTP server of this program: HTTP/1.1 with `hyper` on any stream.
//!
//! It serves one connection; callers accept connections and limit their number.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

/// A request whose body has not been read yet.
pub type HttpRequest = hyper::Request<Incoming>;

/// Options of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    /// The longest head of a request, at least 8 KiB. A longer one gets status 431.
    pub head_limit: usize,
    /// The time limit for the head of a request.
    pub head_time: Option<Duration>,
    /// Whether a client that has closed its side still gets its reply. Otherwise the reply is dropped as soon as the
    /// client has closed.
    pub half_close: bool,
}

impl ServerOptions {
    fn builder(self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder
            .max_buf_size(self.head_limit)
            .half_close(self.half_close)
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_time);
        builder
    }
}

/// Replies to the requests of one connection until either side closes it.
///
/// # Errors
/// What came was no HTTP, the connection broke, or `reply` or the body of a reply failed. The connection
/// is closed then.
pub async fn serve_http<S, F, R, B, E>(
    stream: S,
    options: ServerOptions,
    reply: F,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Fn(HttpRequest) -> R,
    R: Future<Output = Result<hyper::Response<B>, E>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let connection = options
        .builder()
        .serve_connection(TokioIo::new(stream), service_fn(reply));
    connection.await
}

/// Like [`serve_http`], and returns the stream and the bytes that were read ahead, once the connection is closed or a
/// reply has switched to another protocol.
///
/// # Errors
/// As for [`serve_http`].
pub async fn serve_http_until_upgrade<S, F, R, B, E>(
    stream: S,
    options: ServerOptions,
    reply: F,
) -> Result<(S, Bytes), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Fn(HttpRequest) -> R,
    R: Future<Output = Result<hyper::Response<B>, E>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let connection = options
        .builder()
        .serve_connection(TokioIo::new(stream), service_fn(reply));
    let parts = connection.without_shutdown().await?;
    Ok((parts.io.into_inner(), parts.read_buf))
}
