//! The state that all requests share: the connection to the engine, the client, and the open sessions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, SessionId, SessionNotification, SessionUpdate};
use codex_client::ConnectionHandle;
use codex_json_rpc::{Peer, Responder};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{OnceCell, oneshot};

use crate::children::Children;
use crate::client_features::ClientFeatures;
use crate::connected_clients::ClientSeat;
use crate::errors;
use crate::message_ids::MessageIds;
use crate::models::ModelChoice;
use crate::options::Settings;
use crate::program::Program;
use crate::session::AcpSession;

#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) engine: ConnectionHandle,
    pub(crate) peer: Peer,
    pub(crate) program: Program,
    pub(crate) models: OnceCell<Vec<ModelChoice>>,
    /// The home folder of the engine.
    pub(crate) home: Option<String>,
    pub(crate) message_ids: MessageIds,
    /// This client among others.
    pub(crate) seat: ClientSeat,
    state: Mutex<AgentState>,
    children: Mutex<Children>,
}

/// The session that a message is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionNamed {
    session_id: SessionId,
}

#[derive(Debug, Default)]
struct AgentState {
    /// None before `initialize`.
    client_features: Option<ClientFeatures>,
    sessions: HashMap<String, Arc<AcpSession>>,
    /// Logins under way, by their ids in the engine.
    logins: HashMap<String, oneshot::Sender<Result<(), String>>>,
}

impl Agent {
    pub(crate) fn new(
        engine: ConnectionHandle,
        peer: Peer,
        program: Program,
        home: Option<String>,
        seat: ClientSeat,
    ) -> Arc<Self> {
        let agent = Arc::new(Self {
            engine,
            peer,
            program,
            home,
            models: OnceCell::new(),
            message_ids: MessageIds::new(),
            seat,
            state: Mutex::default(),
            children: Mutex::default(),
        });
        agent.seat.take(&agent);
        agent
    }

    fn state(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock()
    }

    pub(crate) fn set_client_features(&self, client_features: ClientFeatures) {
        self.state().client_features = Some(client_features);
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.state().client_features.is_some()
    }

    pub(crate) fn client_features(&self) -> ClientFeatures {
        self.state().client_features.unwrap_or_default()
    }

    /// Opens a session, or opens one again, whose prompts go on.
    pub(crate) fn open_session(
        &self,
        id: &str,
        cwd: PathBuf,
        settings: Settings,
    ) -> Arc<AcpSession> {
        let mut state = self.state();
        let opened = state.sessions.entry(id.to_owned());
        let session = opened.or_insert_with(|| AcpSession::new(id));
        session.open(cwd, settings);
        Arc::clone(session)
    }

    pub(crate) fn find(&self, thread: &str) -> Option<Arc<AcpSession>> {
        self.state().sessions.get(thread).cloned()
    }

    pub(crate) fn session(&self, id: &SessionId) -> Result<Arc<AcpSession>, Error> {
        let found = self.find(&id.0);
        found.ok_or_else(|| Error::session_not_found(id.clone()))
    }

    pub(crate) fn close_session(&self, id: &SessionId) {
        let closed = self.state().sessions.remove(&*id.0);
        if let Some(session) = closed {
            session.gate.discard();
        }
        self.children().forget(id);
    }

    pub(crate) fn children(&self) -> MutexGuard<'_, Children> {
        self.children.lock()
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<AcpSession>> {
        self.state().sessions.values().cloned().collect()
    }

    pub(crate) fn await_login(&self, id: String) -> oneshot::Receiver<Result<(), String>> {
        let (ended, end) = oneshot::channel();
        self.state().logins.insert(id, ended);
        end
    }

    pub(crate) fn end_login(&self, id: &str, result: Result<(), String>) {
        let waiting = self.state().logins.remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    /// Sends an update of a session to the client, once that knows the session.
    pub(crate) async fn update(&self, session: &SessionId, update: SessionUpdate) {
        let updates = match self.find(&session.0) {
            Some(session) => session.gate.pass(update),
            None => vec![update],
        };
        for update in updates {
            self.update_now(session, update).await;
        }
    }

    /// Sends an update of a session to the client, which has named the session itself.
    pub(crate) async fn update_now(&self, session: &SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.peer.notify("session/update", params).await;
    }

    /// Sends what the client of a session has not got before it knew the session.
    pub(crate) async fn send_held(&self, session: &AcpSession) {
        while let Some(updates) = session.gate.next_held() {
            for update in updates {
                self.update_now(&session.id, update).await;
            }
        }
    }

    /// Whether the session is still open.
    pub(crate) fn is_open(&self, session: &Arc<AcpSession>) -> bool {
        let found = self.find(session.thread_id());
        found.is_some_and(|found| Arc::ptr_eq(&found, session))
    }

    /// The client has sent a message with these params.
    pub(crate) fn note_message(&self, params: &RawValue) {
        let mut sessions = self.sessions().into_iter();
        if !sessions.any(|session| session.gate.awaits_request()) {
            return;
        }
        let named = errors::read::<SessionNamed>(params).ok();
        let session = named.and_then(|named| self.find(&named.session_id.0));
        if let Some(session) = session {
            session.gate.requested();
        }
    }

    pub(crate) async fn send_all(&self, updates: Vec<SessionNotification>) {
        for update in updates {
            self.peer.notify("session/update", update).await;
        }
    }

    /// Sends a request to the engine.
    pub(crate) async fn call(&self, method: &str, params: &impl Serialize) -> Result<Value, Error> {
        let reply = self.engine.call(method, params).await;
        reply.map_err(errors::from_engine)
    }

    /// Runs the handler of a request and sends its reply.
    pub(crate) fn serve<P, R, F>(
        self: &Arc<Self>,
        params: &RawValue,
        responder: Responder,
        handler: impl FnOnce(Arc<Self>, P) -> F,
    ) where
        P: for<'de> Deserialize<'de>,
        R: Serialize + Send,
        F: Future<Output = Result<R, Error>> + Send + 'static,
    {
        match errors::read(params) {
            Ok(params) => {
                let work = handler(Arc::clone(self), params);
                tokio::spawn(async move { responder.respond(work.await).await });
            }
            Err(error) => {
                tokio::spawn(responder.respond(Err::<(), _>(error)));
            }
        }
    }
}
