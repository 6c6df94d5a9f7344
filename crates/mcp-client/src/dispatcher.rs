//! Dispatches the messages of a server: replies go to their requests, requests are answered, notifications are
//! logged.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{ElicitationAction, ElicitationRequest, RequestId};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::McpError;
use crate::message::{self, IncomingMessage};

/// Members of `_meta` that clients do not get.
const NOT_FORWARDED: [&str; 2] = ["persist", "progressToken"];

/// The maximum number of open elicitations; further ones are not answered.
const MAX_ELICITATIONS: usize = 64;

/// The extension, and its request, by which servers ask for forms that are more than flat fields.
pub(crate) const OPENAI_FORM: &str = "openai/form";

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Answers the elicitations of a server.
pub trait ElicitationHandler: Debug + Send + Sync {
    /// Asks the user. Dropping the future withdraws the metadata.
    fn elicit(
        &self,
        id: RequestId,
        request: ElicitationRequest,
    ) -> BoxFuture<'static, ElicitationReply>;

    /// Whether the user can be shown forms that are more than flat fields.
    fn takes_openai_forms(&self) -> bool {
        false
    }
}

/// The user's answer to an elicitation.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationReply {
    pub action: ElicitationAction,
    /// The values of the form, if the user accepted.
    pub content: Option<Value>,
    /// What the client says besides.
    pub meta: Option<Value>,
}

impl ElicitationReply {
    /// The user closed the metadata without an answer.
    #[must_use]
    pub fn cancelled() -> Self {
        Self {
            action: ElicitationAction::Cancel,
            content: None,
            meta: None,
        }
    }

    fn to_result(&self) -> Value {
        let mut result = json!({ "action": self.action });
        if self.action == ElicitationAction::Accept {
            result["content"] = self.content.clone().unwrap_or_else(|| json!({}));
        }
        if let Some(meta) = &self.meta {
            result["_meta"] = meta.clone();
        }
        result
    }
}

/// Cancels every elicitation, for clients without a user.
#[derive(Clone, Copy, Debug)]
pub struct CancelElicitations;

impl ElicitationHandler for CancelElicitations {
    fn elicit(&self, _: RequestId, _: ElicitationRequest) -> BoxFuture<'static, ElicitationReply> {
        Box::pin(async { ElicitationReply::cancelled() })
    }
}

/// Dispatches the incoming messages of one connection.
#[derive(Debug)]
pub(crate) struct MessageDispatcher {
    server: String,
    state: Mutex<PendingReplies>,
    questions: Arc<dyn ElicitationHandler>,
    /// How many elicitations wait for the user.
    metadata_request: watch::Sender<usize>,
    outgoing: mpsc::Sender<String>,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct PendingReplies {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, McpError>>>,
    /// Open elicitations, by the server's request ids.
    elicitations: HashMap<RequestId, CancellationToken>,
    /// Why the connection has ended.
    lost: Option<McpError>,
}

impl MessageDispatcher {
    pub(crate) fn new(
        server: String,
        questions: Arc<dyn ElicitationHandler>,
        outgoing: mpsc::Sender<String>,
        closed: CancellationToken,
    ) -> Self {
        Self {
            server,
            state: Mutex::default(),
            questions,
            metadata_request: watch::Sender::default(),
            outgoing,
            closed,
        }
    }

    /// Registers a request that is about to be sent and returns the receiver of its reply.
    pub(crate) fn expect(
        &self,
        id: u64,
    ) -> Result<oneshot::Receiver<Result<Value, McpError>>, McpError> {
        let mut state = self.state.lock();
        if let Some(lost) = &state.lost {
            return Err(lost.clone());
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting.insert(id, sender);
        Ok(receiver)
    }

    /// Whether the reply to a request has not arrived.
    pub(crate) fn expects(&self, id: u64) -> bool {
        self.state.lock().waiting.contains_key(&id)
    }

    /// Removes a request. True if its reply had not arrived.
    pub(crate) fn forget(&self, id: u64) -> bool {
        self.state.lock().waiting.remove(&id).is_some()
    }

    /// Fails all open requests and withdraws all elicitations, because the connection has ended.
    pub(crate) fn lose(&self, reason: McpError) {
        let mut state = self.state.lock();
        state.lost.get_or_insert_with(|| reason.clone());
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.send(Err(reason.clone()));
        }
        for (_, metadata) in state.elicitations.drain() {
            metadata.cancel();
        }
    }

    /// Dispatches one message. Text that is not a message is logged and skipped.
    pub(crate) fn deliver(self: &Arc<Self>, text: &[u8]) {
        match message::read(text) {
            Ok(Some(IncomingMessage::Reply { id, outcome })) => {
                if let Some(waiting) = self.state.lock().waiting.remove(&id) {
                    let _ = waiting.send(outcome);
                }
            }
            Ok(Some(IncomingMessage::Request { id, method, params })) => {
                self.elicitations(id, &method, params)
            }
            Ok(Some(IncomingMessage::Notification { method, params })) => {
                self.notified(&method, &params)
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(server = self.server, %error, "an MCP server printed no message");
            }
        }
    }

    fn notified(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            let id = serde_json::from_value(params["requestId"].clone()).ok();
            if let Some(metadata) =
                id.and_then(|id: RequestId| self.state.lock().elicitations.remove(&id))
            {
                metadata.cancel();
            }
            return;
        }
        tracing::info!(server = self.server, method, %params, "an MCP server tells");
    }

    fn elicitations(self: &Arc<Self>, id: RequestId, method: &str, params: Value) {
        let reply = match method {
            "ping" => message::result(&id, json!({})),
            "roots/list" => message::result(&id, json!({ "roots": [] })),
            "elicitation/create" => match elicitation(params) {
                Ok(request) => return self.ask(id, request),
                Err(problem) => message::error(&id, INVALID_PARAMS, &problem),
            },
            OPENAI_FORM if self.takes_openai_forms() => match openai_form(params) {
                Ok(request) => return self.ask(id, request),
                Err(problem) => message::error(&id, INVALID_PARAMS, &problem),
            },
            other => message::error(&id, METHOD_NOT_FOUND, other),
        };
        self.send(reply);
    }

    /// Whether the connection has ended.
    pub(crate) fn is_lost(&self) -> bool {
        self.state.lock().lost.is_some()
    }

    /// Whether the server may send requests of the extension [`OPENAI_FORM`].
    pub(crate) fn takes_openai_forms(&self) -> bool {
        self.questions.takes_openai_forms()
    }

    /// Queues a message without waiting. It is lost if the server does not read its input and the queue is full.
    pub(crate) fn send(&self, message: String) {
        if self.outgoing.try_send(message).is_err() {
            tracing::warn!(
                server = self.server,
                "an MCP server does not read its input"
            );
        }
    }

    /// Answers a question that came with a reply. Dropping the future withdraws it.
    ///
    /// # Errors
    /// It is of a kind that was not offered, or cannot be read.
    pub(crate) async fn answer(&self, id: RequestId, mut question: Value) -> Result<Value, String> {
        let method = question["method"].as_str().unwrap_or_default().to_owned();
        let request = match &*method {
            "roots/list" => return Ok(json!({ "roots": [] })),
            "elicitation/create" => elicitation(question["params"].take())?,
            OPENAI_FORM if self.takes_openai_forms() => openai_form(question["params"].take())?,
            _ => return Err(format!("it asks for `{method}`, which was not offered")),
        };
        Ok(self.questions.elicit(id, request).await.to_result())
    }

    fn ask(self: &Arc<Self>, id: RequestId, request: ElicitationRequest) {
        let withdrawn = CancellationToken::new();
        {
            let mut state = self.state.lock();
            if state.elicitations.len() >= MAX_ELICITATIONS || state.elicitations.contains_key(&id)
            {
                return;
            }
            state.elicitations.insert(id.clone(), withdrawn.clone());
        }
        let answer = self.questions.elicit(id.clone(), request);
        let dispatcher = Arc::clone(self);
        tokio::spawn(async move {
            let _open = OpenElicitation::new(&dispatcher.metadata_request);
            let reply = tokio::select! {
                reply = answer => Some(reply),
                () = withdrawn.cancelled() => None,
                () = dispatcher.closed.cancelled() => None,
            };
            dispatcher.state.lock().elicitations.remove(&id);
            if let Some(reply) = reply {
                dispatcher.send(message::result(&id, reply.to_result()));
            }
        });
    }

    /// Waits until a time limit is over. Time in which an elicitation waits for the user does not count.
    pub(crate) async fn limit(&self, limit: Duration) {
        let mut metadata_request = self.metadata_request.subscribe();
        let mut left = limit;
        loop {
            // The sender lives as long as this call, so `wait_for` cannot fail.
            let _ = metadata_request.wait_for(|count| *count == 0).await;
            let started = Instant::now();
            tokio::select! {
                biased;
                () = tokio::time::sleep(left) => return,
                _ = metadata_request.wait_for(|count| *count > 0) => {}
            }
            left = left.saturating_sub(started.elapsed());
        }
    }
}

/// Counts an open elicitation until it is dropped.
struct OpenElicitation<'a>(&'a watch::Sender<usize>);

impl<'a> OpenElicitation<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for OpenElicitation<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Reads the params of `elicitation/create`.
fn elicitation(mut params: Value) -> Result<ElicitationRequest, String> {
    let meta = server_meta(&mut params);
    let message = text(&mut params, "message")?;
    if let Ok(url) = text(&mut params, "url") {
        let elicitation_id = text(&mut params, "elicitationId")?;
        return Ok(ElicitationRequest::Url {
            meta,
            message,
            url,
            elicitation_id,
        });
    }
    Ok(ElicitationRequest::Form {
        meta,
        message,
        requested_schema: params["requestedSchema"].take(),
    })
}

/// Reads the params of the extension [`OPENAI_FORM`].
fn openai_form(mut params: Value) -> Result<ElicitationRequest, String> {
    let meta = server_meta(&mut params);
    Ok(ElicitationRequest::OpenaiForm {
        meta,
        message: text(&mut params, "message")?,
        requested_schema: params["requestedSchema"].take(),
    })
}

fn text(params: &mut Value, name: &'static str) -> Result<String, String> {
    match params.get_mut(name).map(Value::take) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("`{name}` is not a string")),
    }
}

/// The `_meta` of a question, without what clients would trust as if it came from the engine, and without the token for
/// progress, which belongs to this connection.
fn server_meta(params: &mut Value) -> Option<Value> {
    let Some(Value::Object(mut meta)) = params.get_mut("_meta").map(Value::take) else {
        return None;
    };
    let is_own = |name: &str| !name.starts_with("codex") && !NOT_FORWARDED.contains(&name);
    meta.retain(|name, _| is_own(name));
    (!meta.is_empty()).then_some(Value::Object(meta))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// A user who never answers.
    #[derive(Debug)]
    struct Silent;

    impl ElicitationHandler for Silent {
        fn elicit(
            &self,
            _: RequestId,
            _: ElicitationRequest,
        ) -> BoxFuture<'static, ElicitationReply> {
            Box::pin(futures::future::pending())
        }
    }

    fn dispatcher(
        questions: impl ElicitationHandler + 'static,
    ) -> (Arc<MessageDispatcher>, mpsc::Receiver<String>) {
        let (outgoing, sent) = mpsc::channel(8);
        let closed = CancellationToken::new();
        let dispatcher =
            MessageDispatcher::new("s".to_owned(), Arc::new(questions), outgoing, closed);
        (Arc::new(dispatcher), sent)
    }

    const QUESTION: &[u8] =
        br#"{"id":7,"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}"#;
    const CANCELLED_MESSAGE: &[u8] =
        br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;

    #[tokio::test(start_paused = true)]
    async fn limit_is_paused_during_a_question() {
        let (dispatcher, _sent) = dispatcher(Silent);
        dispatcher.deliver(QUESTION);
        tokio::task::yield_now().await;
        let mut limit = Box::pin(dispatcher.limit(Duration::ZERO));
        assert!(limit.as_mut().now_or_never().is_none());
        dispatcher.deliver(CANCELLED_MESSAGE);
        limit.await;
    }

    #[tokio::test]
    async fn questions_of_all_kinds_are_answered() {
        let (dispatcher, mut sent) = dispatcher(CancelElicitations);
        let table: [(&[u8], &str); 5] = [
            (
                QUESTION,
                r#"{"jsonrpc":"2.0","id":7,"result":{"action":"cancel"}}"#,
            ),
            (
                br#"{"id":"p","method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":"p","result":{}}"#,
            ),
            (
                br#"{"id":1,"method":"roots/list"}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#,
            ),
            (
                br#"{"id":2,"method":"sampling/createMessage"}"#,
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"sampling/createMessage"}}"#,
            ),
            (
                br#"{"id":3,"method":"elicitation/create","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"`message` is not a string"}}"#,
            ),
        ];
        for (metadata, expected) in table {
            dispatcher.deliver(metadata);
            assert_eq!(sent.recv().await.unwrap(), expected);
        }
    }

    #[test]
    fn clients_do_not_see_internal_mcp_messages() {
        let meta = |meta: Value| server_meta(&mut serde_json::json!({ "_meta": meta }));
        let all =
            serde_json::json!({ "progressToken": 3, "persist": "always", "codex_x": 1, "a": 1 });
        assert_eq!(meta(all), Some(serde_json::json!({ "a": 1 })));
        assert_eq!(meta(serde_json::json!({ "progressToken": 3 })), None);
    }

    #[tokio::test]
    async fn lost_connection_ends_waiting_calls() {
        let (dispatcher, _sent) = dispatcher(CancelElicitations);
        let answer = dispatcher.expect(1).unwrap();
        dispatcher.lose(McpError::Closed);
        assert_eq!(answer.await.unwrap(), Err(McpError::Closed));
        assert_eq!(dispatcher.expect(2).unwrap_err(), McpError::Closed);
    }
}
