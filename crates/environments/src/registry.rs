//! The machines by the ids of their environments.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use codex_exec::Launcher;
use codex_http::HttpPool;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::broadcast;

use crate::carrier::{Carrier, CarrierResources, ExecServer};
use crate::facts::MachineFacts;
use crate::machine::RemoteMachine;
use crate::path::RemotePath;
use crate::state::{ConnectionChange, MachineState};

/// The limit of registered environments.
pub const MAX_ENVIRONMENTS: usize = 64;

/// Changes that may wait for somebody who takes them.
const MAX_WAITING_CHANGES: usize = 256;

/// Why an environment cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    #[error("environment id cannot be empty")]
    NoId,
    #[error("remote environment requires an exec-server url")]
    NoUrl,
    #[error("there are {MAX_ENVIRONMENTS} environments already")]
    TooMany,
}

/// Why there are no facts about an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InfoError {
    #[error("unknown environment id `{0}`")]
    Unknown(String),
    #[error("failed to get info for environment `{id}`: {reason}")]
    Unreachable { id: String, reason: String },
}

/// An environment that the settings of the user name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredEnvironment {
    pub carrier: Carrier,
    /// The folder in which threads work, if they name none.
    pub cwd: Option<RemotePath>,
    /// Variables of all commands there.
    pub variables: BTreeMap<String, String>,
}

/// A registered environment.
#[derive(Clone, Debug)]
pub struct EnvironmentEntry {
    pub machine: RemoteMachine,
    pub cwd: Option<RemotePath>,
    pub variables: Arc<BTreeMap<String, String>>,
    carrier: Carrier,
}

/// The registered environments. They last as long as the program.
#[derive(Debug)]
pub struct Environments {
    resources: CarrierResources,
    known: Mutex<HashMap<String, EnvironmentEntry>>,
    changes: broadcast::Sender<ConnectionChange>,
}

impl Environments {
    #[must_use]
    pub fn new(http: Arc<HttpPool>, launcher: Launcher) -> Self {
        let (changes, _) = broadcast::channel(MAX_WAITING_CHANGES);
        Self {
            resources: CarrierResources { http, launcher },
            known: Mutex::default(),
            changes,
        }
    }

    /// Registers an environment of a client, in place of one with the same id, and connects to it in the background.
    ///
    /// # Errors
    /// There is no id or URL, or there are too many.
    pub fn add(&self, id: &str, server: ExecServer) -> Result<(), AddError> {
        if server.url.trim().is_empty() {
            return Err(if id.is_empty() {
                AddError::NoId
            } else {
                AddError::NoUrl
            });
        }
        let environment = ConfiguredEnvironment {
            carrier: Carrier::WebSocket(server),
            cwd: None,
            variables: BTreeMap::new(),
        };
        self.register(id, environment)?.connect();
        Ok(())
    }

    /// Registers an environment. Its connection is opened when it is needed.
    ///
    /// # Errors
    /// There is no id, or there are too many.
    pub fn register(
        &self,
        id: &str,
        environment: ConfiguredEnvironment,
    ) -> Result<RemoteMachine, AddError> {
        if id.is_empty() {
            return Err(AddError::NoId);
        }
        let mut known = self.known.lock();
        if known.len() >= MAX_ENVIRONMENTS && !known.contains_key(id) {
            return Err(AddError::TooMany);
        }
        // What runs over a connection that stays the same goes on.
        let machine = known
            .get(id)
            .filter(|entry| entry.carrier == environment.carrier)
            .map(|entry| entry.machine.clone());
        let machine = machine.unwrap_or_else(|| {
            let carrier = environment.carrier.clone();
            RemoteMachine::new(id, carrier, self.resources.clone(), self.changes.clone())
        });
        let entry = EnvironmentEntry {
            machine: machine.clone(),
            cwd: environment.cwd,
            variables: Arc::new(environment.variables),
            carrier: environment.carrier,
        };
        known.insert(id.to_owned(), entry);
        Ok(machine)
    }

    /// Whether an environment is registered.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.known.lock().contains_key(id)
    }

    /// A registered environment.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<EnvironmentEntry> {
        self.known.lock().get(id).cloned()
    }

    /// The ids of all environments, sorted.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.known.lock().keys().cloned().collect();
        ids.sort();
        ids
    }

    /// The changes of all connections from now on.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<ConnectionChange> {
        self.changes.subscribe()
    }

    /// The state of an environment; none if it is unknown. A server that is connected is asked.
    pub async fn state(&self, id: &str) -> Option<MachineState> {
        let machine = self.find(id)?.machine;
        let state = machine.state();
        if state != MachineState::Ready {
            return Some(state);
        }
        let nothing = serde_json::json!({});
        let answer = machine.request::<_, ServerStatus>("environment/status", &nothing);
        Some(match answer.await {
            Ok(answer) if answer.status == "ready" => MachineState::Ready,
            Ok(answer) => {
                let status = answer.status;
                MachineState::Disconnected(format!("the exec server says that it is {status}"))
            }
            Err(error) => match machine.state() {
                MachineState::Ready => MachineState::Disconnected(error.to_string()),
                state => state,
            },
        })
    }

    /// The facts about an environment. Waits for its connection, and opens a lost one again.
    ///
    /// # Errors
    /// The environment is unknown, or its server cannot be reached.
    pub async fn info(&self, id: &str) -> Result<Arc<MachineFacts>, InfoError> {
        let entry = self.find(id);
        let entry = entry.ok_or_else(|| InfoError::Unknown(id.to_owned()))?;
        let facts = entry.machine.facts().await;
        facts.map_err(|error| InfoError::Unreachable {
            id: id.to_owned(),
            reason: error.to_string(),
        })
    }
}

#[derive(Deserialize)]
struct ServerStatus {
    status: String,
}
