//! What all connections share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use codex_exec::Launcher;
use codex_transport::{ConnectedClient, Limits, Outbox, Service};
use parking_lot::Mutex;

use crate::connection::ClientConnection;
use crate::machine::LocalMachine;
use crate::session::Sessions;

/// The exec server of this machine.
#[derive(Debug)]
pub struct MachineServer {
    pub(crate) machine: LocalMachine,
    pub(crate) sessions: Arc<Sessions>,
    /// The number of requests of a connection that run at the same time.
    pub(crate) concurrent_requests: usize,
    outboxes: Mutex<HashMap<u64, Arc<Outbox>>>,
    clients: AtomicU64,
}

impl MachineServer {
    /// A server that works on this many requests of a connection at a time, at least one. The `main` of `program` begins with
    /// [`run_file_operation_if_asked`](crate::run_file_operation_if_asked) and
    /// [`become_renamed_program_if_asked`](crate::become_renamed_program_if_asked).
    #[must_use]
    pub fn new(launcher: Launcher, program: PathBuf, concurrent_requests: usize) -> Arc<Self> {
        Arc::new(Self {
            machine: LocalMachine { launcher, program },
            sessions: Arc::default(),
            concurrent_requests: concurrent_requests.max(1),
            outboxes: Mutex::default(),
            clients: AtomicU64::new(0),
        })
    }
}

#[async_trait]
impl Service for MachineServer {
    type MessageHandler = ClientConnection;

    fn connect(self: Arc<Self>, limits: Limits) -> ConnectedClient<ClientConnection> {
        let id = self.clients.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::new(Outbox::new(limits));
        self.outboxes.lock().insert(id, Arc::clone(&outbox));
        ConnectedClient {
            id,
            session: ClientConnection::new(self, id, Arc::clone(&outbox)),
            outbox,
        }
    }

    async fn disconnect(&self, client: u64) {
        self.outboxes.lock().remove(&client);
        self.sessions.leave(client);
    }

    /// Nothing here ends by itself.
    async fn until_idle(&self) {}

    async fn shut_down(&self) {
        self.sessions.end_all();
        self.machine.launcher.close().await;
    }

    fn close_connections(&self) {
        for outbox in self.outboxes.lock().values() {
            outbox.close();
        }
    }
}
