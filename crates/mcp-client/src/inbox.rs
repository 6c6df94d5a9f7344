//! What comes in from a server: answers go to who waits for them, questions are answered, and what it
//! only tells is logged.

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
use crate::message::{self, Incoming};

/// How many questions of a server are in hand at once. More are not answered.
const QUESTIONS: usize = 64;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Who answers the questions that a server has for the user.
pub trait Questions: Debug + Send + Sync {
    /// Asks the user. Dropping the future takes the question back.
    fn elicit(
        &self,
        id: RequestId,
        request: ElicitationRequest,
    ) -> BoxFuture<'static, ElicitationReply>;
}

/// What the user did with a question.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationReply {
    /// What that was.
    pub action: ElicitationAction,
    /// What was filled in, if the question was accepted.
    pub content: Option<Value>,
}

impl ElicitationReply {
    /// Closed without a word.
    #[must_use]
    pub fn cancelled() -> Self {
        Self {
            action: ElicitationAction::Cancel,
            content: None,
        }
    }

    fn to_result(&self) -> Value {
        match (self.action, &self.content) {
            (ElicitationAction::Accept, content) => {
                let nothing = json!({});
                json!({ "action": "accept", "content": content.as_ref().unwrap_or(&nothing) })
            }
            (action, _) => json!({ "action": action }),
        }
    }
}

/// Nobody is there to be asked: every question is closed.
#[derive(Clone, Copy, Debug)]
pub struct NoQuestions;

impl Questions for NoQuestions {
    fn elicit(&self, _: RequestId, _: ElicitationRequest) -> BoxFuture<'static, ElicitationReply> {
        Box::pin(async { ElicitationReply::cancelled() })
    }
}

/// The inbox of one connection.
#[derive(Debug)]
pub(crate) struct Inbox {
    server: String,
    state: Mutex<State>,
    questions: Arc<dyn Questions>,
    /// How many questions wait for the user.
    asking: watch::Sender<usize>,
    outgoing: mpsc::Sender<String>,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, McpError>>>,
    /// Questions in hand, by the server's ids for them.
    asked: HashMap<RequestId, CancellationToken>,
    /// Why nothing comes any more.
    lost: Option<McpError>,
}

impl Inbox {
    pub(crate) fn new(
        server: String,
        questions: Arc<dyn Questions>,
        outgoing: mpsc::Sender<String>,
        closed: CancellationToken,
    ) -> Self {
        Self {
            server,
            state: Mutex::default(),
            questions,
            asking: watch::Sender::default(),
            outgoing,
            closed,
        }
    }

    /// Waits for the answer to a request that is about to be sent.
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

    /// Waits no longer; tells whether the answer had not come.
    pub(crate) fn forget(&self, id: u64) -> bool {
        self.state.lock().waiting.remove(&id).is_some()
    }

    /// Nothing comes any more.
    pub(crate) fn lose(&self, reason: McpError) {
        let mut state = self.state.lock();
        state.lost.get_or_insert_with(|| reason.clone());
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.send(Err(reason.clone()));
        }
        for (_, question) in state.asked.drain() {
            question.cancel();
        }
    }

    /// Takes a message in. What is none is logged and passed over.
    pub(crate) fn deliver(self: &Arc<Self>, text: &[u8]) {
        match message::read(text) {
            Ok(Some(Incoming::Reply { id, outcome })) => {
                if let Some(waiting) = self.state.lock().waiting.remove(&id) {
                    let _ = waiting.send(outcome);
                }
            }
            Ok(Some(Incoming::Request { id, method, params })) => self.asked(id, &method, params),
            Ok(Some(Incoming::Notification { method, params })) => self.notified(&method, &params),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(server = self.server, %error, "an MCP server printed no message");
            }
        }
    }

    fn notified(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            let id = serde_json::from_value(params["requestId"].clone()).ok();
            if let Some(question) = id.and_then(|id: RequestId| self.state.lock().asked.remove(&id))
            {
                question.cancel();
            }
            return;
        }
        tracing::info!(server = self.server, method, %params, "an MCP server tells");
    }

    fn asked(self: &Arc<Self>, id: RequestId, method: &str, params: Value) {
        let reply = match method {
            "ping" => message::result(&id, json!({})),
            "roots/list" => message::result(&id, json!({ "roots": [] })),
            "elicitation/create" => match elicitation(params) {
                Ok(request) => return self.ask(id, request),
                Err(problem) => message::error(&id, INVALID_PARAMS, &problem),
            },
            other => message::error(&id, METHOD_NOT_FOUND, other),
        };
        self.send(reply);
    }

    /// Sends something that nobody waits for. A server that does not read what it asked for misses it.
    pub(crate) fn send(&self, message: String) {
        if self.outgoing.try_send(message).is_err() {
            tracing::warn!(
                server = self.server,
                "an MCP server does not read its input"
            );
        }
    }

    fn ask(self: &Arc<Self>, id: RequestId, request: ElicitationRequest) {
        let withdrawn = CancellationToken::new();
        {
            let mut state = self.state.lock();
            if state.asked.len() >= QUESTIONS || state.asked.contains_key(&id) {
                return;
            }
            state.asked.insert(id.clone(), withdrawn.clone());
        }
        let answer = self.questions.elicit(id.clone(), request);
        let inbox = Arc::clone(self);
        tokio::spawn(async move {
            let _asking = Asking::new(&inbox.asking);
            let reply = tokio::select! {
                reply = answer => Some(reply),
                () = withdrawn.cancelled() => None,
                () = inbox.closed.cancelled() => None,
            };
            inbox.state.lock().asked.remove(&id);
            if let Some(reply) = reply {
                inbox.send(message::result(&id, reply.to_result()));
            }
        });
    }

    /// Waits until a time limit is up, not counting the time in which the user is asked something.
    pub(crate) async fn limit(&self, limit: Duration) {
        let mut asking = self.asking.subscribe();
        let mut left = limit;
        loop {
            // The sender lives as long as this call, so waiting cannot fail.
            let _ = asking.wait_for(|count| *count == 0).await;
            let started = Instant::now();
            tokio::select! {
                biased;
                () = tokio::time::sleep(left) => return,
                _ = asking.wait_for(|count| *count > 0) => {}
            }
            left = left.saturating_sub(started.elapsed());
        }
    }
}

/// Counts a question for as long as it waits for the user.
struct Asking<'a>(&'a watch::Sender<usize>);

impl<'a> Asking<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The question in the params of `elicitation/create`. Its `_meta` is left out: clients take some of
/// what can be in there for our own word.
fn elicitation(mut params: Value) -> Result<ElicitationRequest, String> {
    let mut take = |name: &str| params.get_mut(name).map(Value::take);
    let mut text = |name: &'static str| match take(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("`{name}` is not a string")),
    };
    let message = text("message")?;
    if let Ok(url) = text("url") {
        let elicitation_id = text("elicitationId")?;
        return Ok(ElicitationRequest::Url {
            meta: None,
            message,
            url,
            elicitation_id,
        });
    }
    let requested_schema = take("requestedSchema").unwrap_or_default();
    Ok(ElicitationRequest::Form {
        meta: None,
        message,
        requested_schema,
    })
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// A user who never answers.
    #[derive(Debug)]
    struct Silent;

    impl Questions for Silent {
        fn elicit(
            &self,
            _: RequestId,
            _: ElicitationRequest,
        ) -> BoxFuture<'static, ElicitationReply> {
            Box::pin(futures::future::pending())
        }
    }

    fn inbox(questions: impl Questions + 'static) -> (Arc<Inbox>, mpsc::Receiver<String>) {
        let (outgoing, sent) = mpsc::channel(8);
        let closed = CancellationToken::new();
        let inbox = Inbox::new("s".to_owned(), Arc::new(questions), outgoing, closed);
        (Arc::new(inbox), sent)
    }

    const QUESTION: &[u8] =
        br#"{"id":7,"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}"#;
    const WITHDRAWN: &[u8] = br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;

    #[tokio::test(start_paused = true)]
    async fn a_limit_stands_still_while_the_user_is_asked() {
        let (inbox, _sent) = inbox(Silent);
        inbox.deliver(QUESTION);
        tokio::task::yield_now().await;
        let mut limit = Box::pin(inbox.limit(Duration::ZERO));
        assert!(limit.as_mut().now_or_never().is_none());
        inbox.deliver(WITHDRAWN);
        limit.await;
    }

    #[tokio::test]
    async fn questions_of_all_kinds_are_answered() {
        let (inbox, mut sent) = inbox(NoQuestions);
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
        for (question, expected) in table {
            inbox.deliver(question);
            assert_eq!(sent.recv().await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn who_waits_learns_that_nothing_comes_any_more() {
        let (inbox, _sent) = inbox(NoQuestions);
        let answer = inbox.expect(1).unwrap();
        inbox.lose(McpError::Closed);
        assert_eq!(answer.await.unwrap(), Err(McpError::Closed));
        assert_eq!(inbox.expect(2).unwrap_err(), McpError::Closed);
    }
}
