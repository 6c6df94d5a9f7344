//! A thread, turn by turn.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::TurnStatus;
use serde_json::{Value, json};

use crate::answer::{Decision, Question};
use crate::client::{Client, ClientError, Incoming};

/// Who follows a turn.
pub trait Listener {
    /// Hears what the server tells.
    fn hear(&mut self, notification: &ServerNotification) -> Result<(), ClientError>;

    /// Decides.
    fn decide(
        &mut self,
        question: Question<'_>,
    ) -> impl Future<Output = Result<Decision, ClientError>>;

    /// Waits until the turn is to be interrupted; by default for ever.
    fn interrupted(&mut self) -> impl Future<Output = ()> {
        std::future::pending()
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<String>,
}

/// A thread on a server.
#[derive(Debug)]
pub struct Session {
    client: Client,
    thread: Value,
    id: String,
}

impl Session {
    /// Starts a thread with these params.
    ///
    /// # Errors
    /// The server refuses or goes away.
    pub async fn start(client: Client, params: &Value) -> Result<Self, ClientError> {
        Self::open(client, "thread/start", params).await
    }

    /// Resumes a stored thread.
    ///
    /// # Errors
    /// The server refuses or goes away.
    pub async fn resume(client: Client, params: &Value) -> Result<Self, ClientError> {
        Self::open(client, "thread/resume", params).await
    }

    async fn open(
        mut client: Client,
        method: &'static str,
        params: &Value,
    ) -> Result<Self, ClientError> {
        let mut reply = client.call(method, params).await?;
        let thread = reply["thread"].take();
        let id = thread["id"].as_str().map(str::to_owned);
        let id = id.ok_or(ClientError::Incomplete {
            method,
            member: "thread id",
        })?;
        Ok(Self { client, thread, id })
    }

    /// The id of the thread.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The file of the thread, if it has one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.thread["path"].as_str()
    }

    /// Says something and follows the turn to its end. `more` are the further params of `turn/start`.
    ///
    /// # Errors
    /// The server refuses or goes away, or the listener gives up.
    pub async fn turn(
        &mut self,
        input: Value,
        more: Value,
        listener: &mut impl Listener,
    ) -> Result<Outcome, ClientError> {
        let mut params = more;
        params["threadId"] = json!(self.id);
        params["input"] = input;
        let started = self.client.call("turn/start", &params).await?;
        self.follow(&started, listener).await
    }

    /// Has the `target` reviewed and follows the review to its end.
    ///
    /// # Errors
    /// The server refuses or goes away, or the listener gives up.
    pub async fn review(
        &mut self,
        target: &Value,
        listener: &mut impl Listener,
    ) -> Result<Outcome, ClientError> {
        let params = json!({ "threadId": self.id, "target": target });
        let started = self.client.call("review/start", &params).await?;
        self.follow(&started, listener).await
    }

    async fn follow(
        &mut self,
        started: &Value,
        listener: &mut impl Listener,
    ) -> Result<Outcome, ClientError> {
        let turn = started["turn"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let mut interrupted = false;
        loop {
            let incoming = tokio::select! {
                incoming = self.client.next() => incoming?,
                () = listener.interrupted(), if !interrupted => {
                    interrupted = true;
                    let params = json!({ "threadId": self.id, "turnId": turn });
                    self.client.request("turn/interrupt", &params).await?;
                    continue;
                }
            };
            match incoming {
                // Agents of the thread: the items of this thread show their calls.
                Incoming::Notification(notification) if self.is_of_other(&notification) => {}
                Incoming::Notification(notification) => {
                    listener.hear(&notification)?;
                    if let Some(outcome) = self.end(&turn, &notification) {
                        return Ok(outcome);
                    }
                }
                Incoming::Question(id, request) => match Question::of(&request) {
                    Some(question) => {
                        let decision = listener.decide(question).await?;
                        self.client.answer(&id, &question.answer(decision)).await?;
                    }
                    None => self.client.refuse(&id, request.method()).await?,
                },
                Incoming::Unknown(_) => {}
            }
        }
    }

    /// Ends the conversation with the server.
    pub async fn finish(self) {
        self.client.finish().await;
    }

    /// Whether a notification is about another thread.
    fn is_of_other(&self, notification: &ServerNotification) -> bool {
        notification
            .thread_id()
            .is_some_and(|thread| thread != self.id)
    }

    fn end(&self, turn: &str, notification: &ServerNotification) -> Option<Outcome> {
        match notification {
            ServerNotification::TurnCompleted(it)
                if it.thread_id == self.id && it.turn.id == turn =>
            {
                Some(Outcome {
                    status: it.turn.status,
                    error: it.turn.error.as_ref().map(|error| error.message.clone()),
                })
            }
            _ => None,
        }
    }
}
