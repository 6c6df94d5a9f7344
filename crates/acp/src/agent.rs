//! What all requests share: the engine, the client, the sessions that are open.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, SessionId, SessionNotification, SessionUpdate};
use codex_client::Caller;
use codex_json_rpc::{Peer, RequestId, Responder};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{OnceCell, oneshot};

use crate::offers::Offers;
use crate::options::Model;
use crate::session::Session;
use crate::{Program, errors};

#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) engine: Caller,
    pub(crate) peer: Peer,
    pub(crate) program: Program,
    pub(crate) models: OnceCell<Vec<Model>>,
    /// The home folder of the engine.
    pub(crate) home: Option<String>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// None before `initialize`.
    offers: Option<Offers>,
    sessions: HashMap<String, Arc<Session>>,
    /// Logins under way, by their ids in the engine.
    logins: HashMap<String, oneshot::Sender<Result<(), String>>>,
}

impl Agent {
    pub(crate) fn new(
        engine: Caller,
        peer: Peer,
        program: Program,
        home: Option<String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine,
            peer,
            program,
            home,
            models: OnceCell::new(),
            shared: Mutex::default(),
        })
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }

    pub(crate) fn set_offers(&self, offers: Offers) {
        self.shared().offers = Some(offers);
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.shared().offers.is_some()
    }

    pub(crate) fn offers(&self) -> Offers {
        self.shared().offers.unwrap_or_default()
    }

    pub(crate) fn open_session(&self, session: Arc<Session>) {
        let id = session.thread_id().to_owned();
        self.shared().sessions.insert(id, session);
    }

    pub(crate) fn find(&self, thread: &str) -> Option<Arc<Session>> {
        self.shared().sessions.get(thread).cloned()
    }

    pub(crate) fn session(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let found = self.find(&id.0);
        found.ok_or_else(|| Error::session_not_found(id.clone()))
    }

    pub(crate) fn close_session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.shared().sessions.remove(&*id.0)
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        self.shared().sessions.values().cloned().collect()
    }

    pub(crate) fn await_login(&self, id: String) -> oneshot::Receiver<Result<(), String>> {
        let (ended, end) = oneshot::channel();
        self.shared().logins.insert(id, ended);
        end
    }

    pub(crate) fn end_login(&self, id: &str, result: Result<(), String>) {
        let waiting = self.shared().logins.remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    /// Sends an update of a session to the client.
    pub(crate) async fn update(&self, session: &SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.peer.notify("session/update", params).await;
    }

    /// Sends a request to the engine.
    pub(crate) async fn call(&self, method: &str, params: &impl Serialize) -> Result<Value, Error> {
        let reply = self.engine.call(method, params).await;
        reply.map_err(errors::of_engine)
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

    /// Cancels a request of the client: a prompt or a login. Other requests end by themselves.
    pub(crate) fn cancel_request(self: &Arc<Self>, id: &RequestId) {
        self.peer.cancel(id);
        let sessions = self.sessions();
        if let Some(session) = sessions.iter().find(|session| session.state().run.has(id)) {
            crate::prompt::cancel(self, session);
        }
    }
}
