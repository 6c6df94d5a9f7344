//! Serves a [`AppServer`] over the transports.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;

use crate::outbox::Limits;
use crate::router::Router;
use crate::server::AppServer;
use crate::transport::{
    self, ConnectedClient, InMemory, InputLine, Listener, MessageHandler, Service,
};

/// Serves standard input and output until the client disconnects or a signal arrives.
///
/// # Errors
/// The input cannot be read, or signals cannot be handled.
pub async fn serve_stdio(server: Arc<AppServer>, limit: usize) -> io::Result<()> {
    transport::serve_stdio(server, limit).await
}

/// Serves one client in this process.
#[must_use]
pub fn serve_in_memory(server: Arc<AppServer>) -> InMemory {
    transport::serve_in_memory(server)
}

impl Listener {
    /// Serves clients until a signal arrives and running turns have ended.
    pub async fn serve(self, server: Arc<AppServer>) {
        self.serve_clients(server).await;
    }
}

#[async_trait]
impl Service for AppServer {
    type MessageHandler = Router;

    fn connect(self: Arc<Self>, limits: Limits) -> ConnectedClient<Router> {
        let connection = Self::connect(&self, limits);
        ConnectedClient {
            id: connection.id(),
            outbox: Arc::clone(connection.outbox()),
            session: Router::new(self, connection),
        }
    }

    async fn disconnect(&self, client: u64) {
        self.disconnect(client).await;
    }

    async fn until_idle(&self) {
        self.until_idle().await;
    }

    async fn shut_down(&self) {
        self.shut_down().await;
    }

    fn close_connections(&self) {
        self.close_connections();
    }
}

#[async_trait]
impl MessageHandler for Router {
    async fn take(&mut self, message: InputLine) {
        self.take(message).await;
    }

    async fn finish(&mut self) {
        self.finish().await;
    }
}
