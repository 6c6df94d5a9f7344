//! The exec servers by the ids of their environments.

use std::collections::HashMap;
use std::sync::Arc;

use codex_http::HttpPool;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::connect::ExecServer;
use crate::messages::EnvironmentInfo;
use crate::session::{EnvironmentState, ExecSession};

/// The limit of registered environments.
pub const MAX_ENVIRONMENTS: usize = 64;

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

#[derive(Clone, Debug)]
struct Registered {
    server: ExecServer,
    session: Arc<ExecSession>,
}

/// The registered environments. They last as long as the program.
#[derive(Debug)]
pub struct Environments {
    http: Arc<HttpPool>,
    known: Mutex<HashMap<String, Registered>>,
}

impl Environments {
    #[must_use]
    pub fn new(http: Arc<HttpPool>) -> Self {
        Self {
            http,
            known: Mutex::default(),
        }
    }

    /// Registers an environment, in place of one with the same id, and connects to it in the background.
    ///
    /// # Errors
    /// There is no id or URL, or there are too many.
    pub fn add(&self, id: &str, server: ExecServer) -> Result<(), AddError> {
        if id.is_empty() {
            return Err(AddError::NoId);
        }
        if server.url.trim().is_empty() {
            return Err(AddError::NoUrl);
        }
        let mut known = self.known.lock();
        if known.len() >= MAX_ENVIRONMENTS && !known.contains_key(id) {
            return Err(AddError::TooMany);
        }
        known.insert(id.to_owned(), self.connect(server));
        Ok(())
    }

    /// Whether an environment is registered.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.known.lock().contains_key(id)
    }

    /// The state of an environment; none if it is unknown. A server that is connected is asked.
    pub async fn state(&self, id: &str) -> Option<EnvironmentState> {
        let session = self.session(id)?;
        let state = session.state();
        if state != EnvironmentState::Ready {
            return Some(state);
        }
        let answer = session.request::<ServerStatus>("environment/status").await;
        Some(match answer {
            Ok(answer) if answer.status == "ready" => EnvironmentState::Ready,
            Ok(answer) => {
                let status = answer.status;
                EnvironmentState::Disconnected(format!("exec-server says that it is {status}"))
            }
            Err(reason) => match session.state() {
                EnvironmentState::Ready => EnvironmentState::Disconnected(reason),
                state => state,
            },
        })
    }

    /// The facts about an environment. Waits for its connection, and opens a lost one again.
    ///
    /// # Errors
    /// The environment is unknown, or its server cannot be reached.
    pub async fn info(&self, id: &str) -> Result<EnvironmentInfo, InfoError> {
        let session = self.session(id);
        let mut session = session.ok_or_else(|| InfoError::Unknown(id.to_owned()))?;
        if matches!(session.state(), EnvironmentState::Disconnected(_))
            && let Some(opened) = self.connect_again(id)
        {
            session = opened;
        }
        let answer = match session.settled().await {
            EnvironmentState::Disconnected(reason) => Err(reason),
            EnvironmentState::Ready | EnvironmentState::Pending => {
                session.request("environment/info").await
            }
        };
        answer.map_err(|reason| InfoError::Unreachable {
            id: id.to_owned(),
            reason,
        })
    }

    fn session(&self, id: &str) -> Option<Arc<ExecSession>> {
        let known = self.known.lock();
        known.get(id).map(|found| Arc::clone(&found.session))
    }

    fn connect(&self, server: ExecServer) -> Registered {
        let session = ExecSession::open(server.clone(), Arc::clone(&self.http));
        Registered {
            server,
            session: Arc::new(session),
        }
    }

    /// None if the environment is not known any more.
    fn connect_again(&self, id: &str) -> Option<Arc<ExecSession>> {
        let mut known = self.known.lock();
        let found = known.get_mut(id)?;
        if matches!(found.session.state(), EnvironmentState::Disconnected(_)) {
            *found = self.connect(found.server.clone());
        }
        Some(Arc::clone(&found.session))
    }
}

#[derive(Deserialize)]
struct ServerStatus {
    status: String,
}
