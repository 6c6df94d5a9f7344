//! Another protocol on top of the app-server: its client on one side, the engine on the other.
//!
//! Requests of the engine are answered by tasks of their own. When the engine withdraws one, its task is dropped
//! before the next notification is handled.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_json_rpc::{LINE_LIMIT, Peer};
use serde_json::Value;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Client, ClientError, ServerMessage};
use crate::multiplex::{ConnectionHandle, ServerMessages};

/// How long the client may take to read the last messages.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// Translates between a protocol and the app-server.
pub trait Adapter: Send + Sync + 'static {
    /// Handles a message of the client. Spawns what takes time.
    fn receive(self: &Arc<Self>, incoming: codex_json_rpc::Incoming);

    /// Handles a notification of the engine. The next one is read afterwards.
    fn notified(
        self: &Arc<Self>,
        notification: &ServerNotification,
    ) -> impl Future<Output = ()> + Send;

    /// The result for a request of the engine; none for a request that this protocol cannot answer.
    fn answer(
        self: Arc<Self>,
        id: &RequestId,
        request: &ServerRequest,
    ) -> impl Future<Output = Option<Value>> + Send;
}

/// Why serving ended before the client closed the input.
#[derive(Debug, Error)]
pub enum AdapterError {
    /// The input cannot be read.
    #[error("cannot read the input: {0}")]
    Input(#[from] io::Error),
    /// The engine did not start, or it ended.
    #[error(transparent)]
    Engine(#[from] ClientError),
}

/// Serves a client until it closes the input, the engine ends, or `stop` completes. `engine` is initialized, and ends
/// with this; `cancellation` is the notification by which the protocol cancels requests.
///
/// # Errors
/// The input cannot be read, or the engine ended.
pub async fn serve_adapter<A: Adapter>(
    engine: Client,
    cancellation: &'static str,
    adapter: impl FnOnce(ConnectionHandle, Peer) -> Arc<A>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), AdapterError> {
    let (caller, events) = engine.split();
    let (peer, queue) = Peer::new(cancellation);
    let writer = tokio::spawn(queue.write_to(output));
    let adapter = adapter(caller.clone(), peer.clone());
    let mut follower = tokio::spawn(follow(Arc::clone(&adapter), caller.clone(), events));
    let read = peer.read(input, LINE_LIMIT, |incoming| adapter.receive(incoming));
    let ended = tokio::select! {
        read = read => read.map_err(AdapterError::from),
        () = stop => Ok(()),
        error = &mut follower => Err(error.unwrap_or(ClientError::Closed).into()),
    };
    // No replies come any more. What the client was asked is not answered in its place: another client of the engine
    // may answer it. The last notifications are still passed on.
    caller.finish();
    peer.fail_requests();
    if !follower.is_finished() {
        let _ = follower.await;
    }
    drop((adapter, peer, caller));
    let _ = tokio::time::timeout(LAST_MESSAGES, writer).await;
    ended
}

/// A request of the engine that is being answered.
struct Answering {
    withdraw: oneshot::Sender<()>,
    task: JoinHandle<()>,
    /// The thread whose tool is called. Its turn ends without a word about the call.
    tool_thread: Option<String>,
}

impl Answering {
    async fn withdraw(self) {
        let _ = self.withdraw.send(());
        let _ = self.task.await;
    }
}

/// Handles the messages of the engine until it ends, and returns why.
async fn follow<A: Adapter>(
    adapter: Arc<A>,
    caller: ConnectionHandle,
    mut events: ServerMessages,
) -> ClientError {
    let mut answering: HashMap<RequestId, Answering> = HashMap::new();
    loop {
        match events.next().await {
            Ok(ServerMessage::Notification(notification)) => {
                for ended in ended_by(&notification, &mut answering) {
                    ended.withdraw().await;
                }
                adapter.notified(&notification).await;
            }
            Ok(ServerMessage::Request(id, request)) => {
                let tool_thread = match &*request {
                    ServerRequest::DynamicToolCall(it) => Some(it.thread_id.clone()),
                    _ => None,
                };
                let (withdraw, withdrawn) = oneshot::channel();
                let work = answer(Arc::clone(&adapter), caller.clone(), id.clone(), request);
                let task = tokio::spawn(async move {
                    tokio::select! {
                        () = work => {}
                        Ok(()) = withdrawn => {}
                    }
                });
                let request = Answering {
                    withdraw,
                    task,
                    tool_thread,
                };
                answering.insert(id, request);
            }
            Ok(ServerMessage::Unknown(_)) => {}
            Err(error) => return error,
        }
    }
}

/// The requests that a notification puts an end to.
fn ended_by(
    notification: &ServerNotification,
    answering: &mut HashMap<RequestId, Answering>,
) -> Vec<Answering> {
    match notification {
        ServerNotification::ServerRequestResolved(it) => {
            answering.remove(&it.request_id).into_iter().collect()
        }
        ServerNotification::TurnCompleted(it) => {
            let is_of_turn =
                |request: &Answering| request.tool_thread.as_ref() == Some(&it.thread_id);
            let ended = answering.extract_if(|_, request| is_of_turn(request));
            ended.map(|(_, request)| request).collect()
        }
        _ => Vec::new(),
    }
}

async fn answer<A: Adapter>(
    adapter: Arc<A>,
    caller: ConnectionHandle,
    id: RequestId,
    request: Box<ServerRequest>,
) {
    let sent = match adapter.answer(&id, &request).await {
        Some(answer) => caller.answer(&id, &answer).await,
        None => caller.refuse(&id, request.method()).await,
    };
    if let Err(error) = sent {
        tracing::debug!(%error, "the answer came after the engine had ended");
    }
}
