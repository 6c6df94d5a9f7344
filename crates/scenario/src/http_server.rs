//! A small HTTP server on the loopback interface that hands every request to a [`Responder`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use codex_http::{ServerOptions, serve_http};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::http_reply::HttpReply;
use crate::http_request::ReceivedRequest;

/// The requests of a client have long bodies, which are read in pieces of this size.
const MAX_HEAD_BYTES: usize = 512 * 1024;

/// Says what is answered.
pub trait Responder: Send + Sync + 'static {
    /// The reply to a request.
    fn reply(&self, request: ReceivedRequest) -> HttpReply;

    /// A connection was made.
    fn opened(&self) {}

    /// A connection has ended.
    fn closed(&self) {}
}

/// The server. It ends, and closes its connections, when it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    task: AbortHandle,
}

impl HttpServer {
    /// Starts on a free port.
    ///
    /// # Errors
    /// The system has no port to give.
    pub async fn start(responder: Arc<impl Responder>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, responder)).abort_handle();
        Ok(Self { address, task })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, responder: Arc<impl Responder>) {
    // Dropped with this task, and the connections with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // Small pieces of a stream would wait for each other; without this they only come later.
        let _ = stream.set_nodelay(true);
        responder.opened();
        let responder = Arc::clone(&responder);
        connections.spawn(async move {
            // A client may go away in the middle; that is its right.
            let _ = serve(stream, &*responder).await;
            responder.closed();
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection. Also while a reply stalls it ends as soon as the client has gone.
async fn serve(stream: TcpStream, responder: &impl Responder) -> Result<(), hyper::Error> {
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
