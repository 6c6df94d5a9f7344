//! A small HTTP server on the loopback interface that passes every request to an [`HttpResponder`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use codex_http::{ServerOptions, accept_handshake, serve_http_until_upgrade};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::http_reply::HttpReply;
use crate::http_request::ReceivedRequest;
use crate::socket_server::{self, SocketSession};

/// The size of the read buffer. Large, because requests have long bodies.
const MAX_HEAD_BYTES: usize = 512 * 1024;

/// The status of a server without websockets.
const NO_WEBSOCKET: u16 = 426;

/// Decides on the reply to each request.
pub trait HttpResponder: Send + Sync + 'static {
    fn reply(&self, request: ReceivedRequest) -> HttpReply;

    /// Opens a websocket.
    ///
    /// # Errors
    /// The reply that refuses it.
    fn open_socket(
        self: Arc<Self>,
        _handshake: &ReceivedRequest,
    ) -> Result<Box<dyn SocketSession>, HttpReply> {
        Err(HttpReply::status(NO_WEBSOCKET))
    }

    /// Called when a connection was opened.
    fn opened(&self) {}

    /// Called when a connection has ended.
    fn closed(&self) {}
}

/// The server. Dropping it closes all connections.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    task: AbortHandle,
}

impl HttpServer {
    /// Starts on a free port.
    ///
    /// # Errors
    /// No port can be bound.
    pub async fn start(responder: Arc<impl HttpResponder>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        Self::serve(listener, responder)
    }

    /// Starts on a port that is bound already, with a listener that does not block.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub fn serve(
        listener: std::net::TcpListener,
        responder: Arc<impl HttpResponder>,
    ) -> io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, responder)).abort_handle();
        Ok(Self { address, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, responder: Arc<impl HttpResponder>) {
    // Dropped with this task, which closes the connections.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // Without this, small parts of a stream arrive later; the content is the same.
        let _ = stream.set_nodelay(true);
        responder.opened();
        let responder = Arc::clone(&responder);
        connections.spawn(async move {
            // The client may disconnect at any time.
            let _ = serve(stream, &responder).await;
            responder.closed();
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection. Ends as soon as the client disconnects, even during a stalled reply.
async fn serve<R: HttpResponder>(
    stream: TcpStream,
    responder: &Arc<R>,
) -> Result<(), hyper::Error> {
    let options = ServerOptions {
        head_limit: MAX_HEAD_BYTES,
        head_time: None,
        half_close: false,
    };
    let opened = Mutex::new(None);
    let reply = async |request| {
        let request = ReceivedRequest::read(request).await?;
        let key = accept_handshake(|name| request.header(name).map(str::to_owned));
        let reply = match key {
            None => responder.reply(request),
            Some(headers) => match Arc::clone(responder).open_socket(&request) {
                Ok(session) => {
                    *opened.lock() = Some(session);
                    HttpReply::switching(headers)
                }
                Err(refusal) => refusal,
            },
        };
        reply.into_response().await
    };
    let (stream, read) = serve_http_until_upgrade(stream, options, reply).await?;
    if let Some(session) = opened.into_inner() {
        socket_server::serve(stream, read, session).await;
    }
    Ok(())
}
