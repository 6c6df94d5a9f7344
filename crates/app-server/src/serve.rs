//! How the transports serve an [`AppServer`].

use std::sync::Arc;

use async_trait::async_trait;
use codex_transport::{ConnectedClient, InputLine, Limits, MessageHandler, Service};

use crate::router::Router;
use crate::server::AppServer;

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
