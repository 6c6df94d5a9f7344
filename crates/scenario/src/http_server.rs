//! A small HTTP server on the loopback interface that passes every request to an [`HttpResponder`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use codex_http::{ServerOptions, serve_http};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::http_reply::HttpReply;
use crate::http_request::ReceivedRequest;

/// The size of the read buffer. Large, because requests have long bodies.
const MAX_HEAD_BYTES: usize = 512 * 1024;

/// Decides on the reply to each request.
pub trait HttpResponder: Send + Sync + 'static {
    fn reply(&self, request: ReceivedRequest) -> HttpReply;

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
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
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
            let _ = serve(stream, &*responder).await;
            responder.closed();
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection. Ends as soon as the client disconnects, even during a stalled reply.
async fn serve(stream: TcpStream, responder: &impl HttpResponder) -> Result<(), hyper::Error> {
    let options = ServerOptions {
        head_limit: MAX_HEAD_BYTES,
        head_time: None,
        half_close: false,
    };
    let reply = async |request| {
        let request = ReceivedRequest::read(request).await?;
        responder.reply(request).into_response().await
    };
    serve_http(stream, options, reply).await
}
