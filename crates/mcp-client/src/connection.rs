//! Requests to an MCP server: time limits, cancellation of abandoned requests, and renewal of expired sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use codex_protocol::{CallToolResult, RequestId, Resource, ResourceTemplate, Tool};
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::dispatcher::{MessageDispatcher, OPENAI_FORM};
use crate::error::McpError;
use crate::revision::{self, RequestRules};
use crate::routing::ParameterHeader;
use crate::transport::Transport;
use crate::{message, routing};

/// The experimental capability of servers that want to be informed about the sandbox policy.
const SANDBOX_STATE_CAPABILITY: &str = "codex/sandbox-state";
/// The time limit for sending one queued message, so that it does not block the others.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// The statuses with which a server refuses messages at an address that has a stream of replies.
const NO_MESSAGES: [u16; 3] = [400, 404, 405];
/// How often a request is repeated with answers at most.
const MAX_ROUNDS: usize = 16;
/// How many questions a reply may have.
const MAX_QUESTIONS: usize = 64;
/// The maximum number of pages of a list; guards against servers whose cursors never end.
const MAX_PAGES: usize = 1000;

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
    /// What the server says beside the entries.
    pub meta: Option<Value>,
}

/// How many bytes of the instructions of a server are kept.
const LONGEST_INSTRUCTIONS: usize = 4096;

/// What a server says about itself in the handshake, unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpServerFacts {
    /// Its name and version, and what else describes it.
    pub info: Option<Value>,
    pub capabilities: Option<Value>,
    /// How its tools are to be used; text for the model.
    pub instructions: Option<Arc<str>>,
}

type ToolHeaders = Result<Vec<ParameterHeader>, &'static str>;

/// A connection to an MCP server. Dropping the last clone closes it and ends the server's program.
#[derive(Clone, Debug)]
pub struct McpConnection(Arc<ConnectionState>);

#[derive(Debug)]
struct ConnectionState {
    transport: Arc<Transport>,
    dispatcher: Arc<MessageDispatcher>,
    next_id: AtomicU64,
    version: String,
    wants_sandbox_states: AtomicBool,
    facts: Mutex<McpServerFacts>,
    rules: parking_lot::Mutex<RequestRules>,
    /// The arguments that become headers, or why a tool may not be used, by tools.
    parameter_headers: parking_lot::Mutex<HashMap<String, ToolHeaders>>,
    /// The task that listens in the current session.
    listens: parking_lot::Mutex<Option<AbortHandle>>,
    /// How many sessions were started. Locked while a session is restarted.
    sessions: Mutex<u64>,
    closed: CancellationToken,
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl McpConnection {
    /// Starts a connection over an open transport. `outgoing` receives the messages that the dispatcher sends by
    /// itself.
    pub(crate) fn over(
        transport: Transport,
        dispatcher: Arc<MessageDispatcher>,
        outgoing: mpsc::Receiver<String>,
        version: &str,
        closed: CancellationToken,
    ) -> Self {
        let transport = Arc::new(transport);
        let send_queued = send_queued(
            Arc::clone(&transport),
            Arc::clone(&dispatcher),
            outgoing,
            closed.clone(),
        );
        tokio::spawn(send_queued);
        Self(Arc::new(ConnectionState {
            transport,
            dispatcher,
            next_id: AtomicU64::new(0),
            version: version.to_owned(),
            wants_sandbox_states: AtomicBool::default(),
            facts: Mutex::default(),
            rules: parking_lot::Mutex::default(),
            parameter_headers: parking_lot::Mutex::default(),
            listens: parking_lot::Mutex::default(),
            sessions: Mutex::new(0),
            closed,
        }))
    }

    /// Introduces this client, by the newest revision that the server knows, and starts to listen for messages that it
    /// sends on its own.
    pub(crate) async fn begin(&self, limit: Duration) -> Result<(), McpError> {
        self.introduce(limit).await?;
        *self.0.sessions.lock().await += 1;
        if self.rules() == RequestRules::Handshake && self.0.transport.answers_in_place() {
            self.start_listening();
        }
        Ok(())
    }

    async fn introduce(&self, limit: Duration) -> Result<(), McpError> {
        if self.0.transport.discovers_first() {
            // The handshake has its time too.
            match self.discover(limit / 2).await {
                Ok(true) => return Ok(()),
                Err(
                    error @ (McpError::AuthRequired | McpError::ScopesMissing | McpError::Closed),
                ) => {
                    return Err(error);
                }
                Ok(false) | Err(_) => {}
            }
            // Whatever the refusal said, there is no session yet.
            self.0.transport.forget_session();
            return match self.initialize(limit).await {
                Err(error @ McpError::Status { status, .. }) if NO_MESSAGES.contains(&status) => {
                    if self.has_reply_stream(limit).await? {
                        self.initialize(limit).await
                    } else {
                        Err(error)
                    }
                }
                begun => begun,
            };
        }
        match self.initialize(limit).await {
            Err(error) if revision::may_know_no_handshake(&error) => {
                match self.discover(limit).await {
                    Ok(true) => Ok(()),
                    Ok(false) | Err(_) => Err(error),
                }
            }
            begun => begun,
        }
    }

    /// Opens the stream on which older servers reply, if there is one.
    async fn has_reply_stream(&self, limit: Duration) -> Result<bool, McpError> {
        let (dispatcher, closed) = (&self.0.dispatcher, self.0.closed.clone());
        let opened = self.0.transport.open_reply_stream(dispatcher, closed);
        let timeout = McpError::Timeout {
            method: "initialize",
            limit,
        };
        tokio::time::timeout(limit, opened)
            .await
            .unwrap_or(Err(timeout))
    }

    /// Asks for the revisions that the server knows. True if it needs no handshake.
    async fn discover(&self, limit: Duration) -> Result<bool, McpError> {
        const DISCOVER: &str = "server/discover";
        let ask = || self.once_by(RequestRules::Stateless, DISCOVER, json!({}), limit);
        let answer = match ask().await {
            Err(error) if revision::demands_stateless(&error) => ask().await?,
            answer => answer?,
        };
        if !revision::is_stateless(&answer) {
            return Ok(false);
        }
        self.take_facts(revision::server_info(&answer), &answer)
            .await;
        self.0
            .transport
            .set_protocol_version(revision::STATELESS_REVISION);
        *self.0.rules.lock() = RequestRules::Stateless;
        Ok(true)
    }

    fn rules(&self) -> RequestRules {
        *self.0.rules.lock()
    }

    async fn take_facts(&self, info: &Value, answer: &Value) {
        let wants = !answer["capabilities"]["experimental"][SANDBOX_STATE_CAPABILITY].is_null();
        self.0.wants_sandbox_states.store(wants, Ordering::Relaxed);
        *self.0.facts.lock().await = McpServerFacts {
            info: some(info),
            capabilities: some(&answer["capabilities"]),
            instructions: answer["instructions"].as_str().map(shortened),
        };
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
        if self.0.dispatcher.takes_openai_forms() {
            capabilities["extensions"] = json!({ OPENAI_FORM: {} });
        }
        capabilities
    }

    fn client_info(&self) -> Value {
        json!({ "name": "codex-mcp-client", "title": "Codex", "version": self.0.version })
    }

    /// Listens for messages of the current session that the server sends on its own.
    fn start_listening(&self) {
        let (transport, dispatcher) = (
            Arc::clone(&self.0.transport),
            Arc::clone(&self.0.dispatcher),
        );
        let closed = self.0.closed.clone();
        let listens = tokio::spawn(async move {
            tokio::select! {
                () = transport.listen(&dispatcher) => {}
                () = closed.cancelled() => {}
            }
        });
        let earlier = self.0.listens.lock().replace(listens.abort_handle());
        if let Some(earlier) = earlier {
            earlier.abort();
        }
    }

    async fn initialize(&self, limit: Duration) -> Result<(), McpError> {
        let params = json!({
            "protocolVersion": revision::WITH_HANDSHAKE,
            "capabilities": self.capabilities(),
            "clientInfo": self.client_info(),
        });
        let answer = self.once("initialize", params, limit).await?;
        self.take_facts(&answer["serverInfo"], &answer).await;
        let version = answer["protocolVersion"]
            .as_str()
            .unwrap_or(revision::WITH_HANDSHAKE);
        self.0.transport.set_protocol_version(version);
        let initialized = message::notification("notifications/initialized", json!({}));
        let headers = HeaderMap::new();
        let sent = self
            .0
            .transport
            .send(initialized, None, headers, &self.0.dispatcher);
        tokio::time::timeout(limit, sent)
            .await
            .unwrap_or(Err(McpError::Timeout {
                method: "initialize",
                limit,
            }))
    }

    /// Whether the server has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.dispatcher.is_lost()
    }

    /// What the server said about itself in the handshake.
    pub async fn facts(&self) -> McpServerFacts {
        self.0.facts.lock().await.clone()
    }

    /// All tools of the server, and what it says beside the list.
    ///
    /// # Errors
    /// The server returns an error or does not reply in time.
    pub async fn tools(&self, limit: Duration) -> Result<(Vec<Tool>, Option<Value>), McpError> {
        let (mut tools, meta): (Vec<Tool>, _) = self.all("tools/list", "tools", limit).await?;
        if self.rules() == RequestRules::Stateless && self.0.transport.answers_in_place() {
            let mut parameter_headers = HashMap::new();
            tools.retain(|tool| {
                let headers = routing::parameter_headers(&tool.input_schema);
                if let Err(problem) = headers {
                    tracing::warn!(tool = tool.name, "a tool is not offered: {problem}");
                }
                let is_fit = headers.is_ok();
                parameter_headers.insert(tool.name.clone(), headers);
                is_fit
            });
            *self.0.parameter_headers.lock() = parameter_headers;
        }
        Ok((tools, meta))
    }

    /// Calls a tool. Dropping the future cancels the request at the server.
    ///
    /// # Errors
    /// The server does not reply in time, or its reply cannot be read. A tool that failed is not an error here: it
    /// has a result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Option<Value>,
        meta: Value,
        limit: Duration,
    ) -> Result<CallToolResult, McpError> {
        let refused = match self.0.parameter_headers.lock().get(tool) {
            Some(Err(problem)) => Some((*problem).to_owned()),
            _ => None,
        };
        if let Some(problem) = refused {
            return Err(McpError::Unreadable {
                method: "tools/list",
                problem,
            });
        }
        let mut params = json!({ "name": tool });
        if let Some(arguments) = arguments {
            params["arguments"] = arguments;
        }
        if !meta.is_null() {
            params["_meta"] = meta;
        }
        let answer = self.request("tools/call", params, limit).await?;
        read("tools/call", answer)
    }

    /// Requests one page of a list; the entries are in the member `key` of the reply and are returned unchanged.
    ///
    /// # Errors
    /// The server returns an error or does not reply in time.
    pub async fn page(
        &self,
        method: &'static str,
        key: &str,
        cursor: Option<&str>,
        limit: Duration,
    ) -> Result<ListPage<Value>, McpError> {
        self.page_of(method, key, cursor, limit).await
    }

    /// All resources of the server.
    ///
    /// # Errors
    /// The server returns an error or does not reply in time.
    pub async fn all_resources(&self, limit: Duration) -> Result<Vec<Resource>, McpError> {
        let listed = self.all("resources/list", "resources", limit).await;
        listed.map(|(resources, _)| resources)
    }

    /// All resource templates of the server.
    ///
    /// # Errors
    /// The server returns an error or does not reply in time.
    pub async fn all_resource_templates(
        &self,
        limit: Duration,
    ) -> Result<Vec<ResourceTemplate>, McpError> {
        let listed = self.all("resources/templates/list", "resourceTemplates", limit);
        listed.await.map(|(templates, _)| templates)
    }

    /// Reads a resource and returns the server's result unchanged.
    ///
    /// # Errors
    /// The server returns an error or does not reply in time.
    pub async fn read(&self, uri: &str, limit: Duration) -> Result<Value, McpError> {
        self.request("resources/read", json!({ "uri": uri }), limit)
            .await
    }

    /// Whether the server wants to be informed about the sandbox policy.
    #[must_use]
    pub fn wants_sandbox_states(&self) -> bool {
        self.0.wants_sandbox_states.load(Ordering::Relaxed)
    }

    /// Sends the sandbox policy that applies from now on.
    ///
    /// # Errors
    /// The server returns an error or does not reply in time.
    pub async fn update_sandbox_state(
        &self,
        state: Value,
        limit: Duration,
    ) -> Result<(), McpError> {
        let sent = self.request("codex/sandbox-state/update", state, limit);
        sent.await.map(drop)
    }

    /// Requests all pages of a list. The metadata is that of the first page.
    async fn all<T: DeserializeOwned>(
        &self,
        method: &'static str,
        key: &str,
        limit: Duration,
    ) -> Result<(Vec<T>, Option<Value>), McpError> {
        let (mut all, mut meta, mut cursor) = (Vec::new(), None, None::<String>);
        for _ in 0..MAX_PAGES {
            let page = self.page_of(method, key, cursor.as_deref(), limit).await?;
            if cursor.is_none() {
                meta = page.meta;
            }
            all.extend(page.items);
            match page.next {
                None => return Ok((all, meta)),
                Some(next) if Some(&next) == cursor.as_ref() => break,
                next => cursor = next,
            }
        }
        Err(McpError::Unreadable {
            method,
            problem: "its pages have no end".to_owned(),
        })
    }

    async fn page_of<T: DeserializeOwned>(
        &self,
        method: &'static str,
        key: &str,
        cursor: Option<&str>,
        limit: Duration,
    ) -> Result<ListPage<T>, McpError> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let mut answer = self.request(method, params, limit).await?;
        let next = answer["nextCursor"].as_str().map(str::to_owned);
        let items = read(method, answer[key].take())?;
        let meta = some(&answer["_meta"]);
        Ok(ListPage { items, next, meta })
    }

    /// Sends a request; if the session has expired, starts a new one and sends the request again.
    async fn request(
        &self,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let session = *self.0.sessions.lock().await;
        match self.once(method, params.clone(), limit).await {
            Err(McpError::SessionExpired) => {
                self.begin_anew(session, limit).await?;
                self.once(method, params, limit).await
            }
            Ok(answer) if self.rules() == RequestRules::Stateless => {
                self.rounds(method, params, answer, limit).await
            }
            answer => answer,
        }
    }

    /// Answers the questions in a reply and repeats the request, until a reply is the result.
    async fn rounds(
        &self,
        method: &'static str,
        mut params: Value,
        mut answer: Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let unreadable = |problem: String| McpError::Unreadable { method, problem };
        for round in 0..MAX_ROUNDS {
            let Some(questions) = revision::questions(&mut answer) else {
                return Ok(answer);
            };
            if questions.len() > MAX_QUESTIONS {
                return Err(unreadable("it asks too many questions at once".to_owned()));
            }
            let request = self.0.next_id.fetch_add(1, Ordering::Relaxed);
            let mut answers = Map::new();
            for (key, question) in questions {
                let id = RequestId::String(format!("input-{request}-{round}-{key}"));
                let reply = self.0.dispatcher.answer(id, question).await;
                answers.insert(key, reply.map_err(unreadable)?);
            }
            revision::put_answers(&mut params, answers, &answer["requestState"]);
            answer = self.once(method, params.clone(), limit).await?;
        }
        Err(unreadable("its questions have no end".to_owned()))
    }

    /// Starts a new session, unless another request has already replaced the session number `expired`.
    async fn begin_anew(&self, expired: u64, limit: Duration) -> Result<(), McpError> {
        let mut sessions = self.0.sessions.lock().await;
        if *sessions == expired {
            self.0.transport.forget_session();
            self.initialize(limit).await?;
            self.start_listening();
            *sessions += 1;
        }
        Ok(())
    }

    async fn once(
        &self,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        self.once_by(self.rules(), method, params, limit).await
    }

    /// The headers of a request without a handshake.
    fn headers(&self, method: &str, params: &Value) -> HeaderMap {
        let known = self.0.parameter_headers.lock();
        let tool = params["name"].as_str().filter(|_| method == "tools/call");
        let parameters = tool.and_then(|tool| known.get(tool)?.as_ref().ok());
        routing::headers(method, params, parameters.map_or(&[], Vec::as_slice))
    }

    async fn once_by(
        &self,
        rules: RequestRules,
        method: &'static str,
        mut params: Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let dispatcher = &self.0.dispatcher;
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        if method == "tools/call" {
            params["_meta"]["progressToken"] = id.into();
        }
        let headers = match rules {
            RequestRules::Handshake => HeaderMap::new(),
            RequestRules::Stateless => {
                revision::introduce(&mut params, self.capabilities(), self.client_info());
                self.headers(method, &params)
            }
        };
        // The protocol does not allow to cancel `initialize`. Without a handshake, the end of an HTTP request cancels it.
        let is_cancelled_by_message = method != "initialize"
            && (rules == RequestRules::Handshake || !self.0.transport.answers_in_place());
        let mut answer = dispatcher.expect(id)?;
        let _cancel_on_drop = CancelOnDrop {
            dispatcher,
            id,
            by_message: is_cancelled_by_message,
        };
        let sends = async {
            let message = message::request(id, method, params);
            let transport = &self.0.transport;
            transport.send(message, Some(id), headers, dispatcher).await
        };
        let exchange = async {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.unwrap_or(Err(McpError::Closed)),
                sent = sends => sent?,
            }
            if self.0.transport.answers_in_place() {
                let missing = || Err(McpError::Http("the answer is missing".to_owned()));
                return answer.try_recv().unwrap_or_else(|_| missing());
            }
            answer.await.unwrap_or(Err(McpError::Closed))
        };
        tokio::select! {
            biased;
            answer = exchange => answer,
            () = dispatcher.limit(limit) => Err(McpError::Timeout { method, limit }),
        }
    }
}

/// Cancels a request at the server if it is dropped before the reply.
struct CancelOnDrop<'a> {
    dispatcher: &'a Arc<MessageDispatcher>,
    id: u64,
    by_message: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.dispatcher.forget(self.id) && self.by_message {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            let cancelled = message::notification("notifications/cancelled", params);
            self.dispatcher.send(cancelled);
        }
    }
}

/// Sends queued messages one after another until the connection is closed, then closes the transport.
async fn send_queued(
    transport: Arc<Transport>,
    dispatcher: Arc<MessageDispatcher>,
    mut outgoing: mpsc::Receiver<String>,
    closed: CancellationToken,
) {
    let carries = async {
        while let Some(message) = outgoing.recv().await {
            let sent = tokio::time::timeout(
                SEND_LIMIT,
                transport.send(message, None, HeaderMap::new(), &dispatcher),
            );
            if !matches!(sent.await, Ok(Ok(()))) {
                tracing::debug!("a message did not reach an MCP server");
            }
        }
    };
    tokio::select! {
        // Messages that were queued before the end are still sent.
        biased;
        () = carries => {}
        () = closed.cancelled() => {}
    }
    dispatcher.lose(McpError::Closed);
    transport.close().await;
}

fn some(value: &Value) -> Option<Value> {
    (!value.is_null()).then(|| value.clone())
}

fn read<T: DeserializeOwned>(method: &'static str, answer: Value) -> Result<T, McpError> {
    serde_json::from_value(answer).map_err(|error| McpError::Unreadable {
        method,
        problem: error.to_string(),
    })
}

/// The beginning of the instructions of a server, as far as a description of a namespace may be long.
fn shortened(text: &str) -> Arc<str> {
    let text = text.trim();
    text[..text.floor_char_boundary(LONGEST_INSTRUCTIONS)].into()
}
