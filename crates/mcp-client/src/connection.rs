//! A connection: requests with their limits, and what becomes of those that nobody waits for any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use codex_protocol::{CallToolResult, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::error::McpError;
use crate::inbox::Inbox;
use crate::message;
use crate::transport::Transport;

/// The version of the protocol that we offer. What a server answers is taken.
const PROTOCOL: &str = "2025-06-18";
/// What a server offers that wants to know how commands are confined.
const SANDBOX_STATES: &str = "codex/sandbox-state";
/// How long the carrying of one message may hold the others up.
const CARRYING: Duration = Duration::from_secs(10);
/// A list with more pages has no end.
const PAGES: usize = 1000;

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next one begins, if there is one.
    pub next: Option<String>,
}

/// A connection to a server. It ends, and with it the program that it leads to, with its last clone.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    transport: Arc<Transport>,
    inbox: Arc<Inbox>,
    next_id: AtomicU64,
    version: String,
    wants_sandbox_states: AtomicBool,
    /// How often the session was begun. Held while it is begun anew.
    sessions: Mutex<u64>,
    closed: CancellationToken,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl Connection {
    /// Over a way that stands. `outgoing` is what the inbox sends by itself.
    pub(crate) fn over(
        transport: Transport,
        inbox: Arc<Inbox>,
        outgoing: mpsc::Receiver<String>,
        version: &str,
        closed: CancellationToken,
    ) -> Self {
        let transport = Arc::new(transport);
        let courier = courier(
            Arc::clone(&transport),
            Arc::clone(&inbox),
            outgoing,
            closed.clone(),
        );
        tokio::spawn(courier);
        Self(Arc::new(Shared {
            transport,
            inbox,
            next_id: AtomicU64::new(0),
            version: version.to_owned(),
            wants_sandbox_states: AtomicBool::default(),
            sessions: Mutex::new(0),
            closed,
        }))
    }

    /// Agrees with the server on how to go on.
    pub(crate) async fn begin(&self, limit: Duration) -> Result<(), McpError> {
        self.initialize(limit).await?;
        *self.0.sessions.lock().await += 1;
        let (transport, inbox) = (Arc::clone(&self.0.transport), Arc::clone(&self.0.inbox));
        let closed = self.0.closed.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = transport.listen(&inbox) => {}
                () = closed.cancelled() => {}
            }
        });
        Ok(())
    }

    async fn initialize(&self, limit: Duration) -> Result<(), McpError> {
        let params = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": { "elicitation": {} },
            "clientInfo": {
                "name": "codex-mcp-client", "title": "Codex", "version": self.0.version,
            },
        });
        let answer = self.once("initialize", params, limit).await?;
        let wants = !answer["capabilities"]["experimental"][SANDBOX_STATES].is_null();
        self.0.wants_sandbox_states.store(wants, Ordering::Relaxed);
        let version = answer["protocolVersion"].as_str().unwrap_or(PROTOCOL);
        self.0.transport.agreed(version);
        let initialized = message::notification("notifications/initialized", json!({}));
        let sent = self.0.transport.send(initialized, &self.0.inbox);
        tokio::time::timeout(limit, sent)
            .await
            .unwrap_or(Err(McpError::Timeout {
                method: "initialize",
                limit,
            }))
    }

    /// All tools of the server.
    ///
    /// # Errors
    /// The server does not tell, or not in time.
    pub async fn tools(&self, limit: Duration) -> Result<Vec<Tool>, McpError> {
        self.all("tools/list", "tools", limit).await
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    ///
    /// # Errors
    /// There is no answer, or one that is no result; a tool that failed has a result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Option<Value>,
        meta: Value,
        limit: Duration,
    ) -> Result<CallToolResult, McpError> {
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

    /// A page of a list, whose entries the answer has under `key`, as the server gave it.
    ///
    /// # Errors
    /// The server does not tell, or not in time.
    pub async fn page(
        &self,
        method: &'static str,
        key: &str,
        cursor: Option<&str>,
        limit: Duration,
    ) -> Result<Page<Value>, McpError> {
        self.page_of(method, key, cursor, limit).await
    }

    /// All resources of the server.
    ///
    /// # Errors
    /// The server does not tell, or not in time.
    pub async fn all_resources(&self, limit: Duration) -> Result<Vec<Resource>, McpError> {
        self.all("resources/list", "resources", limit).await
    }

    /// All families of resources of the server.
    ///
    /// # Errors
    /// The server does not tell, or not in time.
    pub async fn all_resource_templates(
        &self,
        limit: Duration,
    ) -> Result<Vec<ResourceTemplate>, McpError> {
        self.all("resources/templates/list", "resourceTemplates", limit)
            .await
    }

    /// Reads a resource: the result as the server gave it.
    ///
    /// # Errors
    /// The server does not give it, or not in time.
    pub async fn read(&self, uri: &str, limit: Duration) -> Result<Value, McpError> {
        self.request("resources/read", json!({ "uri": uri }), limit)
            .await
    }

    /// Whether the server wants to know how commands are confined.
    #[must_use]
    pub fn wants_sandbox_states(&self) -> bool {
        self.0.wants_sandbox_states.load(Ordering::Relaxed)
    }

    /// Tells the server how commands are confined from now on.
    ///
    /// # Errors
    /// It does not take note, or not in time.
    pub async fn tell_sandbox_state(&self, state: Value, limit: Duration) -> Result<(), McpError> {
        let sent = self.request("codex/sandbox-state/update", state, limit);
        sent.await.map(drop)
    }

    /// All pages of a list.
    async fn all<T: DeserializeOwned>(
        &self,
        method: &'static str,
        key: &str,
        limit: Duration,
    ) -> Result<Vec<T>, McpError> {
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..PAGES {
            let page = self.page_of(method, key, cursor.as_deref(), limit).await?;
            all.extend(page.items);
            match page.next {
                None => return Ok(all),
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
    ) -> Result<Page<T>, McpError> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let mut answer = self.request(method, params, limit).await?;
        let next = answer["nextCursor"].as_str().map(str::to_owned);
        let items = read(method, answer[key].take())?;
        Ok(Page { items, next })
    }

    /// Asks; once more if the server has forgotten who we are.
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
            answer => answer,
        }
    }

    /// Begins another session, unless somebody else has since `expired`.
    async fn begin_anew(&self, expired: u64, limit: Duration) -> Result<(), McpError> {
        let mut sessions = self.0.sessions.lock().await;
        if *sessions == expired {
            self.0.transport.forget_session();
            self.initialize(limit).await?;
            *sessions += 1;
        }
        Ok(())
    }

    async fn once(
        &self,
        method: &'static str,
        mut params: Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let inbox = &self.0.inbox;
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        if method == "tools/call" {
            params["_meta"]["progressToken"] = id.into();
        }
        let mut answer = inbox.expect(id)?;
        let _withdrawal = Withdrawal { inbox, id, method };
        let sends = async {
            let message = message::request(id, method, params);
            self.0.transport.send(message, inbox).await
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
            () = inbox.limit(limit) => Err(McpError::Timeout { method, limit }),
        }
    }
}

/// Takes a request back whose answer has not come when it is dropped.
struct Withdrawal<'a> {
    inbox: &'a Arc<Inbox>,
    id: u64,
    method: &'static str,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        // The handshake is the one request that cannot be taken back.
        if self.inbox.forget(self.id) && self.method != "initialize" {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            let cancelled = message::notification("notifications/cancelled", params);
            self.inbox.send(cancelled);
        }
    }
}

/// Carries what nobody waits for, one after another, and says goodbye at the end.
async fn courier(
    transport: Arc<Transport>,
    inbox: Arc<Inbox>,
    mut outgoing: mpsc::Receiver<String>,
    closed: CancellationToken,
) {
    let carries = async {
        while let Some(message) = outgoing.recv().await {
            let sent = tokio::time::timeout(CARRYING, transport.send(message, &inbox));
            if !matches!(sent.await, Ok(Ok(()))) {
                tracing::debug!("a message did not reach an MCP server");
            }
        }
    };
    tokio::select! {
        // What was to be said before the end is said.
        biased;
        () = carries => {}
        () = closed.cancelled() => {}
    }
    inbox.lose(McpError::Closed);
    transport.close().await;
}

fn read<T: DeserializeOwned>(method: &'static str, answer: Value) -> Result<T, McpError> {
    serde_json::from_value(answer).map_err(|error| McpError::Unreadable {
        method,
        problem: error.to_string(),
    })
}
