//! The connection to one exec server, and its task.
//!
//! The task matches replies with requests. Each time a connection is lost, it is opened again with one
//! attempt; if that fails the environment is disconnected until somebody asks for its facts. Requests that were sent over a lost connection fail.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use codex_http::{HttpPool, SocketMessage, WebSocket};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::connect::ExecServer;
use crate::messages::{ExecMessage, OutgoingMessage};

/// Requests that wait to be sent.
const QUEUE: usize = 32;
/// Requests without a reply.
const MAX_OPEN_REQUESTS: usize = 256;
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection that lasted less is not opened again at once.
const SHORT_CONNECTION: Duration = Duration::from_secs(1);

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentState {
    /// The connection is being opened.
    Pending,
    Ready,
    /// The reason.
    Disconnected(String),
}

type ExecReply = Result<Box<RawValue>, String>;

struct ExecRequest {
    method: &'static str,
    reply: oneshot::Sender<ExecReply>,
}

/// A connection. Dropping it ends the task.
#[derive(Debug)]
pub(crate) struct ExecSession {
    requests: mpsc::Sender<ExecRequest>,
    state: watch::Receiver<EnvironmentState>,
}

impl ExecSession {
    /// Opens the connection in the background.
    pub(crate) fn open(server: ExecServer, pool: Arc<HttpPool>) -> Self {
        let (requests, queue) = mpsc::channel(QUEUE);
        let (told, state) = watch::channel(EnvironmentState::Pending);
        tokio::spawn(async move {
            let work = serve(&server, &pool, queue, &told);
            tokio::select! {
                () = work => {}
                () = told.closed() => {}
            }
        });
        Self { requests, state }
    }

    pub(crate) fn state(&self) -> EnvironmentState {
        self.state.borrow().clone()
    }

    /// The state, once the connection is open or has failed.
    pub(crate) async fn settled(&self) -> EnvironmentState {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| *state != EnvironmentState::Pending);
        match settled.await {
            Ok(state) => state.clone(),
            Err(_) => EnvironmentState::Disconnected("the connection was closed".to_owned()),
        }
    }

    /// Sends a request without params.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        method: &'static str,
    ) -> Result<T, String> {
        let lost = || "exec-server transport disconnected".to_owned();
        let (reply, answer) = oneshot::channel();
        let request = ExecRequest { method, reply };
        self.requests.send(request).await.map_err(|_| lost())?;
        let answer = tokio::time::timeout(REPLY_TIMEOUT, answer).await;
        let result = answer
            .map_err(|_| format!("exec-server did not answer `{method}`"))?
            .map_err(|_| lost())??;
        serde_json::from_str(result.get())
            .map_err(|error| format!("exec-server sent an unreadable reply: {error}"))
    }
}

async fn serve(
    server: &ExecServer,
    pool: &HttpPool,
    mut queue: mpsc::Receiver<ExecRequest>,
    state: &watch::Sender<EnvironmentState>,
) {
    let mut session: Option<String> = None;
    loop {
        let opened = server.open(pool, session.as_deref()).await;
        let (mut socket, id) = match opened {
            Ok(opened) => opened,
            Err(reason) => {
                let reason = match session {
                    None => format!("exec-server connection attempt failed: {reason}"),
                    Some(_) => format!(
                        "exec-server transport disconnected; failed to resume exec-server session: {reason}"
                    ),
                };
                state.send_replace(EnvironmentState::Disconnected(reason));
                return;
            }
        };
        session = Some(id);
        state.send_replace(EnvironmentState::Ready);
        let began = Instant::now();
        exchange(&mut socket, &mut queue).await;
        state.send_replace(EnvironmentState::Pending);
        if began.elapsed() < SHORT_CONNECTION {
            tokio::time::sleep_until(began + SHORT_CONNECTION).await;
        }
    }
}

/// Sends requests and takes replies until the connection is lost.
async fn exchange(socket: &mut WebSocket, queue: &mut mpsc::Receiver<ExecRequest>) {
    let mut open: HashMap<u64, oneshot::Sender<ExecReply>> = HashMap::new();
    let mut last_id = 1;
    loop {
        tokio::select! {
            Some(ExecRequest { method, reply }) = queue.recv() => {
                open.retain(|_, reply| !reply.is_closed());
                if open.len() >= MAX_OPEN_REQUESTS {
                    let _ = reply.send(Err("too many requests wait for the exec-server".to_owned()));
                    continue;
                }
                last_id += 1;
                let request = OutgoingMessage { id: Some(last_id), method, params: () };
                if socket.send(request.encode()).await.is_err() {
                    return;
                }
                open.insert(last_id, reply);
            }
            message = socket.next() => match message {
                Ok(SocketMessage::Text(text)) => answer(&text, &mut open),
                Ok(SocketMessage::Control | SocketMessage::Binary) => {}
                Ok(SocketMessage::Closed) | Err(_) => return,
            },
        }
    }
}

/// Notifications and unreadable messages are ignored.
fn answer(text: &str, open: &mut HashMap<u64, oneshot::Sender<ExecReply>>) {
    let Ok(message) = serde_json::from_str::<ExecMessage>(text) else {
        return;
    };
    let waiting = message.id.and_then(|id| open.remove(&id));
    let Some(reply) = waiting else {
        return;
    };
    let _ = reply.send(match (message.result, message.error) {
        (_, Some(refusal)) => Err(refusal.text()),
        (Some(result), None) => Ok(result),
        (None, None) => Err("exec-server sent a reply without a result".to_owned()),
    });
}
