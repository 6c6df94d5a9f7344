//! The connection of one client: its handshake, what it supports, and its outbox.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use codex_app_server_protocol::rpc::{ErrorResponse, OutgoingRequest, RequestId};
use codex_app_server_protocol::v2::{
    ApprovalsReviewer, InitializeCapabilities, InitializeParams, SandboxPolicy,
};
use codex_app_server_protocol::{ClientRequest, RequestMethod, ServerNotification, ServerRequest};
use codex_projection::dialect::{ClientRelease, Dialect};
use codex_projection::{Turns, without_read_limits};
use codex_protocol::{Release, UnknownRelease};
use codex_transport::{EncodedMessage, Limits, Outbox, OutboxFull};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::background_notifier::NotificationSink;
use crate::cancellable::CancellableRequests;
use crate::failure::Failure;
use crate::plain_reason::with_plain_reason;
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
    thread_searches: CancellableRequests,
    thread_search_streams: CancellableRequests,
    release: Mutex<ClientRelease>,
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
    /// A client of this release, if the user gave one.
    pub(crate) fn new(id: ConnectionId, limits: Limits, given: Option<Release>) -> Arc<Self> {
        Arc::new(Self {
            id,
            outbox: Arc::new(Outbox::new(limits)),
            client: OnceLock::new(),
            runs: Arc::default(),
            processes: Arc::default(),
            searches: Searches::default(),
            watches: Watches::default(),
            samples: CancellableRequests::default(),
            thread_searches: CancellableRequests::default(),
            thread_search_streams: CancellableRequests::default(),
            release: Mutex::new(ClientRelease::new(given)),
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

    /// The running `thread/search` requests.
    pub(crate) fn thread_searches(&self) -> &CancellableRequests {
        &self.thread_searches
    }

    /// The running `thread/search/stream` requests.
    pub(crate) fn thread_search_streams(&self) -> &CancellableRequests {
        &self.thread_search_streams
    }

    /// The client has disconnected: nothing more is sent, and its background work ends.
    pub(crate) fn close(&self) {
        self.outbox.close();
        self.searches.clear();
        self.watches.clear();
        self.samples.cancel_all();
        self.thread_searches.cancel_all();
        self.thread_search_streams.cancel_all();
    }

    /// The params of the handshake, once it is complete.
    pub(crate) fn client(&self) -> Option<&InitializedClient> {
        self.client.get()
    }

    /// Completes the handshake. Returns false if it was complete before.
    pub(crate) fn initialize(&self, params: InitializeParams) -> Result<bool, UnknownRelease> {
        self.release.lock().read_handshake(&params)?;
        let capabilities = params.capabilities;
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
        Ok(self.client.set(client).is_ok())
    }

    /// How the protocol is spoken with this client, as far as it has shown its release.
    pub(crate) fn dialect(&self) -> Dialect {
        self.release.lock().dialect()
    }

    /// Notes what a request shows of the release of the client.
    pub(crate) fn recognise(&self, request: &ClientRequest, params: Option<&RawValue>) {
        self.release.lock().read_request(request, params);
    }

    /// The name of a reviewer that this client knows.
    pub(crate) fn reviewer_name(&self, reviewer: ApprovalsReviewer) -> ApprovalsReviewer {
        match reviewer {
            ApprovalsReviewer::User => ApprovalsReviewer::User,
            _ if self.dialect().has_auto_review() => ApprovalsReviewer::AutoReview,
            _ => ApprovalsReviewer::GuardianSubagent,
        }
    }

    /// Whether a problem has not been seen before by this client.
    pub(crate) fn is_new_problem(&self, problem: &str) -> bool {
        self.problems.lock().insert(problem.to_owned())
    }

    /// The sandbox policy in a form that this client accepts.
    pub(crate) fn shown_sandbox(&self, policy: SandboxPolicy) -> SandboxPolicy {
        if self.dialect().shows_read_limits() {
            return policy;
        }
        without_read_limits(policy)
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

    /// Sends a request to the client in the form of a dialect, without experimental members unless the client opted in.
    pub(crate) fn ask(&self, id: &RequestId, request: &ServerRequest, dialect: Dialect) {
        let Some(client) = self.client() else {
            return;
        };
        let plain;
        let request = match request {
            ServerRequest::CommandExecutionRequestApproval(params)
                if dialect.has_plain_reasons() && self.wants(WARNING) =>
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
        let bytes = line.byte_count();
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
    // Most are shorter, so the line does not move while it grows.
    let mut line = Vec::with_capacity(1024);
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
    /// Tells that it was replied to.
    sent: Option<DropGuard>,
    method: std::marker::PhantomData<fn() -> M>,
}

impl<M> Responder<M> {
    pub(crate) fn new(connection: Arc<Connection>, id: RequestId) -> Self {
        Self {
            connection,
            id: Some(id),
            begun: tracing::enabled!(tracing::Level::DEBUG).then(Instant::now),
            sent: None,
            method: std::marker::PhantomData,
        }
    }

    /// A token that is cancelled when the reply was sent.
    pub(crate) fn sent_token(&mut self) -> CancellationToken {
        let token = CancellationToken::new();
        self.sent = Some(token.clone().drop_guard());
        token
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
