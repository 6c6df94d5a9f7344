//! How the transports serve an [`AppServer`].

use std::sync::Arc;

use async_trait::async_trait;
use codex_app_server_protocol::v2::ThreadStatus;
use codex_transport::{ConnectedClient, InputLine, Limits, MessageHandler, Service};

use crate::router::Router;
use crate::server::AppServer;
use crate::thread::Actor;

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

    /// The threads of the client continue, and unload when they have no subscriber.
    async fn disconnect(&self, client: u64) {
        self.remove_client(client);
        for thread in self.threads() {
            let _ = thread.call_now(move |thread| thread.leave(client)).await;
        }
    }

    /// Waits until no turn runs. The notifications of the last turn are then in the outboxes.
    async fn until_idle(&self) {
        loop {
            let broadcast = self.next_broadcast();
            tokio::pin!(broadcast);
            // Registered before the check, so no broadcast is missed.
            broadcast.as_mut().enable();
            if !is_busy(self).await {
                return;
            }
            broadcast.await;
        }
    }

    /// Ends every thread: interrupts turns, writes rollouts, stops processes.
    async fn shut_down(&self) {
        self.begin_end();
        let threads = self.threads();
        let ends = threads.iter().map(|thread| async {
            let _ = thread.call_now(Actor::close).await;
            thread.closed().await;
        });
        futures::future::join_all(ends).await;
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

async fn is_busy(server: &AppServer) -> bool {
    for thread in server.threads() {
        let snapshot = thread.describe().await;
        let status = snapshot.map(|snapshot| snapshot.thread.status);
        if matches!(status, Some(ThreadStatus::Active { .. })) {
            return true;
        }
    }
    false
}
