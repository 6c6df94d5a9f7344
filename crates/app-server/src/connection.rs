//! One client: its handshake, what it can handle, and the way to its outbox.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use codex_app_server_protocol::rpc::{ErrorResponse, OutgoingRequest, RequestId};
use codex_app_server_protocol::v2::{ApprovalsReviewer, InitializeCapabilities, InitializeParams};
use codex_app_server_protocol::{RequestMethod, ServerNotification, ServerRequest};
use serde::Serialize;

use crate::background_notifier::NotificationSink;
use crate::failure::Failure;
use crate::message::Message;
use crate::outbox::{Full, Limits, Outbox};
use crate::projection::{ItemIds, Turns};
use crate::runs::Runs;
use crate::searches::Searches;
use crate::watches::Watches;

/// Identifies a connection for as long as the process runs.
pub(crate) type ConnectionId = u64;

/// A client.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    outbox: Arc<Outbox>,
    client: OnceLock<Client>,
    runs: Arc<Runs>,
    processes: Arc<Runs>,
    searches: Searches,
    watches: Watches,
    knows_newer: AtomicBool,
}

/// The params of `initialize` that are needed later.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) experimental: bool,
    unwanted: HashSet<String>,
}

impl Connection {
    pub(crate) fn new(id: ConnectionId, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            id,
            outbox: Arc::new(Outbox::new(limits)),
            client: OnceLock::new(),
            runs: Arc::default(),
            processes: Arc::default(),
            searches: Searches::default(),
            watches: Watches::default(),
            knows_newer: AtomicBool::new(false),
        })
    }

    pub(crate) fn id(&self) -> ConnectionId {
        self.id
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// The commands that it runs outside of threads. They end with it.
    pub(crate) fn runs(&self) -> &Arc<Runs> {
        &self.runs
    }

    /// The processes that it runs beside those commands. They end with it too.
    pub(crate) fn processes(&self) -> &Arc<Runs> {
        &self.processes
    }

    /// Its searches. They end with it.
    pub(crate) fn searches(&self) -> &Searches {
        &self.searches
    }

    /// The paths that it watches, for as long as it is there.
    pub(crate) fn watches(&self) -> &Watches {
        &self.watches
    }

    /// The client is gone: nothing more is written to it, and what goes on for it alone ends.
    pub(crate) fn close(&self) {
        self.outbox.close();
        self.searches.clear();
        self.watches.clear();
    }

    /// The client, after its handshake.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.client.get()
    }

    /// The handshake. False if it took place before.
    pub(crate) fn initialize(&self, params: InitializeParams) -> bool {
        let capabilities = params.capabilities;
        if capabilities.as_ref().is_some_and(uses_newer) {
            self.note_newer();
        }
        let experimental = capabilities
            .as_ref()
            .is_some_and(|all| all.experimental_api);
        let unwanted = capabilities.and_then(|all| all.opt_out_notification_methods);
        let client = Client {
            name: params.client_info.name,
            version: params.client_info.version,
            experimental,
            unwanted: unwanted.unwrap_or_default().into_iter().collect(),
        };
        self.client.set(client).is_ok()
    }

    /// Whether the client is known to be newer than release 0.117: it has used something that release does
    /// not have. Where releases disagree, the others are served as 0.117 serves them.
    pub(crate) fn knows_newer(&self) -> bool {
        self.knows_newer.load(Ordering::Relaxed)
    }

    /// The ids that messages of stored threads have for this client.
    pub(crate) fn item_ids(&self) -> ItemIds {
        if self.knows_newer() {
            return ItemIds::Streamed;
        }
        ItemIds::Numbered
    }

    /// A reviewer by the name that this client knows.
    pub(crate) fn reviewer_name(&self, reviewer: ApprovalsReviewer) -> ApprovalsReviewer {
        match reviewer {
            ApprovalsReviewer::User => ApprovalsReviewer::User,
            _ if self.knows_newer() => ApprovalsReviewer::AutoReview,
            _ => ApprovalsReviewer::GuardianSubagent,
        }
    }

    /// The client has used something that is newer than release 0.117.
    pub(crate) fn note_newer(&self) {
        self.knows_newer.store(true, Ordering::Relaxed);
    }

    /// Whether the client is past the handshake and has not opted out of `method`.
    pub(crate) fn wants(&self, method: &str) -> bool {
        self.client()
            .is_some_and(|client| !client.unwanted.contains(method))
    }

    /// Sends a notification that is written already and that the client [wants](Self::wants).
    pub(crate) fn push_notification(&self, line: impl Into<Message>) {
        self.outbox.push_notification(line);
    }

    /// Asks the client; what it is not to see of an experimental question is left out.
    pub(crate) fn ask(&self, id: &RequestId, request: &ServerRequest) {
        let Some(client) = self.client() else {
            return;
        };
        let stable;
        let message = match request {
            ServerRequest::CommandExecutionRequestApproval(params) if !client.experimental => {
                let mut params = params.clone();
                params.additional_permissions = None;
                params.skill_metadata = None;
                stable = ServerRequest::CommandExecutionRequestApproval(params);
                &stable
            }
            _ => request,
        };
        self.outbox.push(encode(&OutgoingRequest { id, message }));
    }

    /// Sends a reply, or an error in its place if the client has too much to read.
    fn send_reply(&self, id: RequestId, line: impl Into<Message>) {
        let line = line.into();
        let bytes = line.len();
        if let Err(Full) = self.outbox.push_reply(line) {
            let message = format!(
                "the reply of {bytes} bytes is not sent: too much waits to be read by the client"
            );
            self.refuse(Some(id), Failure::internal(message));
        }
    }

    pub(crate) fn refuse(&self, id: Option<RequestId>, failure: Failure) {
        let error = failure.into_object();
        self.outbox.push(encode(&ErrorResponse { id, error }));
    }
}

impl NotificationSink for Connection {
    fn notify(&self, notification: &ServerNotification) {
        if self.wants(notification.method()) {
            self.push_notification(encode_notification(notification));
        }
    }
}

/// A message as it is written: one line of JSON.
pub(crate) fn encode(message: &impl Serialize) -> Bytes {
    let mut line = Vec::new();
    if let Err(error) = serde_json::to_writer(&mut line, message) {
        tracing::error!(%error, "a message could not be written");
        return Bytes::new();
    }
    line.push(b'\n');
    // It may wait for long, with many others.
    line.shrink_to_fit();
    line.into()
}

/// A notification as it is written: a message with the time beside its method and params.
pub(crate) fn encode_notification(notification: &ServerNotification) -> Bytes {
    let mut line = Vec::new();
    if let Err(error) = serde_json::to_writer(&mut line, notification) {
        tracing::error!(%error, "a notification could not be written");
        return Bytes::new();
    }
    line.pop();
    let now = jiff::Timestamp::now().as_millisecond();
    line.extend_from_slice(format!(",\"emittedAtMs\":{now}}}\n").as_bytes());
    line.shrink_to_fit();
    line.into()
}

fn uses_newer(capabilities: &InitializeCapabilities) -> bool {
    capabilities.request_attestation
        || capabilities.mcp_server_openai_form_elicitation
        || capabilities.required_human_approval
        || capabilities.explicit_gateway_oauth
        || capabilities.extensions.is_some()
}

/// Owes a client the reply to one request. It is given exactly once: whoever drops this without
/// having replied, by a panic for instance, has an error sent.
#[derive(Debug)]
pub(crate) struct Responder<M> {
    connection: Arc<Connection>,
    id: Option<RequestId>,
    /// When the request came, if the log has the duration of requests.
    begun: Option<Instant>,
    method: std::marker::PhantomData<fn() -> M>,
}

impl<M> Responder<M> {
    pub(crate) fn new(connection: Arc<Connection>, id: RequestId) -> Self {
        Self {
            connection,
            id: Some(id),
            begun: tracing::enabled!(tracing::Level::DEBUG).then(Instant::now),
            method: std::marker::PhantomData,
        }
    }

    /// The id, for the one reply that is sent now.
    fn take_id(&mut self) -> Option<RequestId> {
        let id = self.id.take()?;
        if let Some(begun) = self.begun {
            let elapsed = begun.elapsed();
            tracing::debug!(%id, ?elapsed, "a request is replied to");
        }
        Some(id)
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub(crate) fn refuse(mut self, failure: Failure) {
        let id = self.take_id();
        self.connection.refuse(id, failure);
    }
}

impl<M: RequestMethod> Responder<M> {
    pub(crate) fn reply(self, outcome: Result<M::Response, Failure>) {
        match outcome {
            Ok(response) => self.accept(&response),
            Err(failure) => self.refuse(failure),
        }
    }

    pub(crate) fn accept(mut self, result: &M::Response) {
        if let Some(id) = self.take_id() {
            let line = encode_reply(&id, result);
            self.connection.send_reply(id, line);
        }
    }

    /// The result has no turns yet: these are put into it.
    pub(crate) fn accept_with(self, result: &M::Response, turns: &Turns) {
        let message = turns.put_into(self.draft(result));
        self.accept_line(message);
    }

    /// The reply as it would be written now, for who puts a large value into it.
    pub(crate) fn draft(&self, result: &M::Response) -> Bytes {
        match &self.id {
            Some(id) => encode_reply(id, result),
            None => Bytes::new(),
        }
    }

    /// Sends a line that was made from a [`draft`](Self::draft).
    pub(crate) fn accept_line(mut self, line: impl Into<Message>) {
        if let Some(id) = self.take_id() {
            self.connection.send_reply(id, line);
        }
    }
}

fn encode_reply(id: &RequestId, result: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Reply<'a, R> {
        id: &'a RequestId,
        result: &'a R,
    }
    encode(&Reply { id, result })
}

impl<M> Drop for Responder<M> {
    fn drop(&mut self) {
        if let Some(id) = self.take_id() {
            let failure = Failure::internal("the server failed to carry out the request");
            self.connection.refuse(Some(id), failure);
        }
    }
}
