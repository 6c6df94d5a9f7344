//! The clients that one engine serves at the same time, and what each can be asked.
//!
//! All clients of a session are asked what the engine asks, and the first answer counts. A client that cannot show a
//! question must not refuse it while another one can show it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::agent::Agent;
use crate::client_features::ClientFeatures;

#[derive(Debug, Default)]
pub(crate) struct ConnectedClients {
    agents: Mutex<HashMap<u64, Weak<Agent>>>,
    changes: watch::Sender<()>,
}

/// A client among those that are connected, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct ClientSeat {
    number: u64,
    clients: Arc<ConnectedClients>,
}

impl ConnectedClients {
    /// The seat of a client that has connected.
    pub(crate) fn seat(self: &Arc<Self>, number: u64) -> ClientSeat {
        ClientSeat {
            number,
            clients: Arc::clone(self),
        }
    }
}

impl ClientSeat {
    pub(crate) fn take(&self, agent: &Arc<Agent>) {
        let agent = Arc::downgrade(agent);
        self.clients.agents.lock().insert(self.number, agent);
    }

    /// Waits until no other client of a thread has these features. At once if there is no other one.
    pub(crate) async fn until_no_other_can(
        &self,
        thread: &str,
        can: impl Fn(ClientFeatures) -> bool,
    ) {
        let mut changes = self.clients.changes.subscribe();
        while self
            .others()
            .iter()
            .any(|agent| agent.find(thread).is_some() && can(agent.client_features()))
        {
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    fn others(&self) -> Vec<Arc<Agent>> {
        let agents = self.clients.agents.lock();
        let others = agents.iter().filter(|(number, _)| **number != self.number);
        others.filter_map(|(_, agent)| agent.upgrade()).collect()
    }
}

impl Drop for ClientSeat {
    fn drop(&mut self) {
        self.clients.agents.lock().remove(&self.number);
        self.clients.changes.send_replace(());
    }
}
