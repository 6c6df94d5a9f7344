//! Serves a [`Server`] over the transports.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;

use crate::outbox::Limits;
use crate::router::Router;
use crate::server::Server;
use crate::transport::{self, Client, InMemory, Incoming, Listener, Service, Session};

/// Serves standard input and output until the client goes away or a signal comes.
///
/// # Errors
/// The input cannot be read, or signals cannot be handled.
pub async fn serve_stdio(server: Arc<Server>, limit: usize) -> io::Result<()> {
    transport::serve_stdio(server, limit).await
}

/// Serves one client in this process.
#[must_use]
pub fn serve_in_memory(server: Arc<Server>) -> InMemory {
    transport::serve_in_memory(server)
}

impl Listener {
    /// Serves clients until a signal comes and running turns have ended.
    pub async fn serve(self, server: Arc<Server>) {
        self.serve_clients(server).await;
    }
}

#[async_trait]
impl Service for Server {
    type Session = Router;

    fn connect(self: Arc<Self>, limits: Limits) -> Client<Router> {
        let connection = Self::connect(&self, limits);
        Client {
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
impl Session for Router {
    async fn take(&mut self, message: Incoming) {
        self.take(message).await;
    }
}
