//! Many clients of one engine, over a listener. Each has a connection of its own to the engine, and sessions do not end
//! with the client that opened them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use codex_client::Client;
use codex_transport::{
    ConnectedClient, InMemory, Limits, LineStreams, LineWriter, Outbox, Service, line_streams,
    serve_in_memory_beside_others,
};
use parking_lot::Mutex;

use crate::connected_clients::ConnectedClients;
use crate::program::Program;
use crate::serve_client;

/// The reply to a message over the limit.
const TOO_LONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\
    \"message\":\"Invalid request\",\"data\":\"the message is too long and was skipped\"}}\n";

/// How long a client whose connection to the engine has ended may read the last messages.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// Serves the protocol to many clients, as clients of the engine `E`.
#[derive(Debug)]
pub struct AcpService<E> {
    engine: Arc<E>,
    program: Program,
    next_id: AtomicU64,
    outboxes: Mutex<HashMap<u64, Arc<Outbox>>>,
    clients: Arc<ConnectedClients>,
}

impl<E: Service> AcpService<E> {
    #[must_use]
    pub fn new(engine: Arc<E>, program: Program) -> Arc<Self> {
        Arc::new(Self {
            engine,
            program,
            next_id: AtomicU64::new(0),
            outboxes: Mutex::default(),
            clients: Arc::default(),
        })
    }

    /// Serves a client until it leaves or its connection to the engine ends.
    async fn serve(self: Arc<Self>, id: u64, streams: LineStreams, outbox: Arc<Outbox>) {
        let InMemory {
            input,
            output,
            mut served,
        } = serve_in_memory_beside_others(Arc::clone(&self.engine));
        let client = Client::new(output, input);
        let stop = std::future::pending();
        let seat = self.clients.seat(id);
        let (program, LineStreams { input, output }) = (self.program.clone(), streams);
        let serving = serve_client(client, program, seat, input, output, stop);
        tokio::pin!(serving);
        let outcome = tokio::select! {
            outcome = &mut serving => Some(outcome),
            // Also where the client does not read, and so the engine has cut it off.
            _ = &mut served => tokio::time::timeout(LAST_MESSAGES, &mut serving).await.ok(),
        };
        match outcome {
            Some(Ok(())) => outbox.close(),
            Some(Err(error)) => {
                tracing::debug!(%error, "a client is no longer served");
                outbox.close();
            }
            None => outbox.cut_off(),
        }
    }
}

#[async_trait]
impl<E: Service> Service for AcpService<E> {
    type MessageHandler = LineWriter;

    fn connect(self: Arc<Self>, limits: Limits) -> ConnectedClient<LineWriter> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (streams, session, outbox) = line_streams(limits, TOO_LONG);
        self.outboxes.lock().insert(id, Arc::clone(&outbox));
        tokio::spawn(self.serve(id, streams, Arc::clone(&outbox)));
        ConnectedClient {
            id,
            session,
            outbox,
        }
    }

    async fn disconnect(&self, client: u64) {
        if let Some(outbox) = self.outboxes.lock().remove(&client) {
            outbox.close();
        }
    }

    async fn until_idle(&self) {
        self.engine.until_idle().await;
    }

    async fn shut_down(&self) {
        self.engine.shut_down().await;
    }

    fn close_connections(&self) {
        // What the engine sent last is still passed on; then the connections of the clients end.
        self.engine.close_connections();
    }
}
