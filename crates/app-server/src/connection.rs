//! The connection of one client: its handshake, what it supports, and its outbox.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use codex_app_server_protocol::releases::{is_newer_client, official_release};
use codex_app_server_protocol::rpc::{ErrorResponse, OutgoingRequest, RequestId};
use codex_app_server_protocol::v2::{
    ApprovalsReviewer, InitializeCapabilities, InitializeParams, SandboxPolicy,
};
use codex_app_server_protocol::{RequestMethod, ServerNotification, ServerRequest};
use parking_lot::Mutex;
use serde::Serialize;

use crate::background_notifier::NotificationSink;
use crate::cancellable::CancellableRequests;
use crate::failure::Failure;
use crate::message::EncodedMessage;
use crate::newer_question::with_plain_reason;
use crate::outbox::{Limits, Outbox, OutboxFull};
use crate::projection::{ItemIds, Turns, without_read_limits};
use crate::runs::Runs;
use crate::searches::Searches;
use crate::watches::Watches;

/// The notification that says what the reason of a question does not.
const WARNING: &str = "warning";

/// Unique in this process.
pub(crate) type ConnectionId = u64;

/// A client.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    outbox: Arc<Outbox>,
    client: OnceLock<InitializedClient>,
    runs: Arc<Runs>,
    processes: Arc<Runs>,
    searches: Searches,
    watches: Watches,
    samples: CancellableRequests,
    knows_newer: AtomicBool,
    /// The problems that the client was told of.
    problems: Mutex<HashSet<String>>,
}

/// The params of `initialize` that are needed later.
#[derive(Debug)]
pub(crate) struct InitializedClient {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) experimental: bool,
    /// Whether it shows forms of MCP servers that are more than flat fields.
    pub(crate) takes_openai_forms: bool,
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
            samples: CancellableRequests::default(),
            knows_newer: AtomicBool::new(false),
            problems: Mutex::default(),
        })
    }

    pub(crate) fn id(&self) -> ConnectionId {
        self.id
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Commands of `command/exec`. They end with the connection.
    pub(crate) fn runs(&self) -> &Arc<Runs> {
        &self.runs
    }

    /// Processes of `process/spawn`. They end with the connection.
    pub(crate) fn processes(&self) -> &Arc<Runs> {
        &self.processes
    }

    /// File searches. They end with the connection.
    pub(crate) fn searches(&self) -> &Searches {
        &self.searches
    }

    /// Watched paths. The watches end with the connection.
    pub(crate) fn watches(&self) -> &Watches {
        &self.watches
    }

    /// The running samples, which are cancelled when the client disconnects.
    pub(crate) fn samples(&self) -> &CancellableRequests {
        &self.samples
    }

    /// The client has disconnected: nothing more is sent, and its background work ends.
    pub(crate) fn close(&self) {
        self.outbox.close();
        self.searches.clear();
        self.watches.clear();
        self.samples.cancel_all();
    }

    /// The params of the handshake, once it is complete.
    pub(crate) fn client(&self) -> Option<&InitializedClient> {
        self.client.get()
    }

    /// Completes the handshake. Returns false if it was complete before.
    pub(crate) fn initialize(&self, params: InitializeParams) -> bool {
        let capabilities = params.capabilities;
        let (name, version) = (&params.client_info.name, &params.client_info.version);
        if is_newer_client(name, version) {
            self.note_newer();
        }
        let experimental = capabilities
            .as_ref()
            .is_some_and(|all| all.experimental_api);
        let takes_openai_forms = capabilities.as_ref().is_some_and(takes_openai_forms);
        let unwanted = capabilities.and_then(|all| all.opt_out_notification_methods);
        let client = InitializedClient {
            name: params.client_info.name,
            version: params.client_info.version,
            experimental,
            takes_openai_forms,
            unwanted: unwanted.unwrap_or_default().into_iter().collect(),
        };
        self.client.set(client).is_ok()
    }

    /// Whether the client is newer than release 0.117, because it has used something that this release lacks. Where
    /// releases disagree, other clients are served like 0.117 does.
    pub(crate) fn knows_newer(&self) -> bool {
        self.knows_newer.load(Ordering::Relaxed)
    }

    /// Whether ephemeral forks must leave their turns out, as in 0.169. Official clients ask for what their release has:
    /// those of 0.140 get the turns.
    pub(crate) fn excludes_turns_of_side_threads(&self) -> bool {
        let is_official = self
            .client()
            .is_some_and(|client| official_release(&client.name, &client.version).is_some());
        self.knows_newer() && !is_official
    }

    /// How items of stored threads are numbered for this client.
    pub(crate) fn item_ids(&self) -> ItemIds {
        if self.knows_newer() {
            return ItemIds::Streamed;
        }
        ItemIds::Numbered
    }

    /// The name of a reviewer that this client knows.
    pub(crate) fn reviewer_name(&self, reviewer: ApprovalsReviewer) -> ApprovalsReviewer {
        match reviewer {
            ApprovalsReviewer::User => ApprovalsReviewer::User,
            _ if self.knows_newer() => ApprovalsReviewer::AutoReview,
            _ => ApprovalsReviewer::GuardianSubagent,
        }
    }

    /// Whether a problem has not been seen before by this client.
    pub(crate) fn is_new_problem(&self, problem: &str) -> bool {
        self.problems.lock().insert(problem.to_owned())
    }

    /// The sandbox policy in a form that this client accepts.
    pub(crate) fn shown_sandbox(&self, policy: SandboxPolicy) -> SandboxPolicy {
        if self.knows_newer() {
            return without_read_limits(policy);
        }
        policy
    }

    /// Marks the client as newer than release 0.117.
    pub(crate) fn note_newer(&self) {
        self.knows_newer.store(true, Ordering::Relaxed);
    }

    /// Whether the handshake is complete and the client has not opted out of `method`.
    pub(crate) fn wants(&self, method: &str) -> bool {
        self.client()
            .is_some_and(|client| !client.unwanted.contains(method))
    }

    /// Sends an encoded notification, which the client must [want](Self::wants).
    pub(crate) fn push_notification(&self, line: impl Into<EncodedMessage>) {
        self.outbox.push_notification(line);
    }

    /// Sends a request to the client, without experimental members unless the client opted in.
    pub(crate) fn ask(&self, id: &RequestId, request: &ServerRequest) {
        let Some(client) = self.client() else {
            return;
        };
        let plain;
        let request = match request {
            ServerRequest::CommandExecutionRequestApproval(params)
                if self.knows_newer() && self.wants(WARNING) =>
            {
                match with_plain_reason(params) {
                    Some((params, warning)) => {
                        self.notify(&ServerNotification::Warning(warning));
                        plain = ServerRequest::CommandExecutionRequestApproval(params);
                        &plain
                    }
                    None => request,
                }
            }
            _ => request,
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

    /// Sends a reply, or an error instead if the outbox is full.
    fn send_reply(&self, id: RequestId, line: impl Into<EncodedMessage>) {
        let line = line.into();
        let bytes = line.len();
        if let Err(OutboxFull) = self.outbox.push_reply(line) {
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

/// Encodes a message as one line of JSON.
pub(crate) fn encode(message: &impl Serialize) -> Bytes {
    let mut line = Vec::new();
    if let Err(error) = serde_json::to_writer(&mut line, message) {
        tracing::error!(%error, "a message could not be written");
        return Bytes::new();
    }
    line.push(b'\n');
    // It may stay in the outbox for long, together with many others.
    line.shrink_to_fit();
    line.into()
}

/// Encodes a notification: method and params, and the current time.
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

fn takes_openai_forms(capabilities: &InitializeCapabilities) -> bool {
    let extensions = capabilities.extensions.as_ref();
    capabilities.mcp_server_openai_form_elicitation
        || extensions.is_some_and(|all| all.contains_key("openai/form"))
}

/// Replies to one request, exactly once. Dropped without a reply, for example by a panic, it sends an error.
#[derive(Debug)]
pub(crate) struct Responder<M> {
    connection: Arc<Connection>,
    id: Option<RequestId>,
    /// The time of the request, if durations are logged.
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

    /// Takes the id for the single reply.
    fn take_id(&mut self) -> Option<RequestId> {
        let id = self.id.take()?;
        if let Some(begun) = self.begun {
            let elapsed = begun.elapsed();
            tracing::debug!(%id, ?elapsed, "a request is replied to");
        }
        Some(id)
    }

    /// The id of the request; none after the reply.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
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

    /// Sends a result whose empty list of turns is replaced by `turns`.
    pub(crate) fn accept_with(self, result: &M::Response, turns: &Turns) {
        let message = turns.put_into(self.draft(result));
        self.accept_line(message);
    }

    /// The encoded reply, into which the caller inserts a large value.
    pub(crate) fn draft(&self, result: &M::Response) -> Bytes {
        match &self.id {
            Some(id) => encode_reply(id, result),
            None => Bytes::new(),
        }
    }

    /// Sends a reply that was made from a [`draft`](Self::draft).
    pub(crate) fn accept_line(mut self, line: impl Into<EncodedMessage>) {
        if let Some(id) = self.take_id() {
            self.connection.send_reply(id, line);
        }
    }
}

fn encode_reply(id: &RequestId, result: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct ReplyMessage<'a, R> {
        id: &'a RequestId,
        result: &'a R,
    }
    encode(&ReplyMessage { id, result })
}

impl<M> Drop for Responder<M> {
    fn drop(&mut self) {
        if let Some(id) = self.take_id() {
            let failure = Failure::internal("the server failed to carry out the request");
            self.connection.refuse(Some(id), failure);
        }
    }
}
