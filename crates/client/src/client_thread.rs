//! A thread of a server, used turn by turn.

use std::time::Duration;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{CodexErrorInfo, TurnStatus};
use serde_json::{Value, json};

use crate::answer::{ServerQuestion, UserDecision};
use crate::client::{Client, ClientError, ServerMessage};

/// Receives what happens in a turn, and makes its decisions.
pub trait TurnObserver {
    /// Called for each notification.
    fn on_notification(&mut self, notification: &ServerNotification) -> Result<(), ClientError>;

    /// Decides about a question.
    fn decide(
        &mut self,
        question: ServerQuestion<'_>,
    ) -> impl Future<Output = Result<UserDecision, ClientError>>;

    /// Called each second in which nothing came. `silence` is how long that has been so.
    fn on_silence(&mut self, _silence: Duration) -> Result<(), ClientError> {
        Ok(())
    }

    /// Completes when the turn must be interrupted; by default never.
    fn interrupted(&mut self) -> impl Future<Output = ()> {
        std::future::pending()
    }
}

/// How often an observer hears that nothing comes.
const SILENCE_STEP: Duration = Duration::from_secs(1);

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    /// The status of the turn.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether it failed because the model service did not accept the key or the login.
    pub is_unauthorized: bool,
}

/// A thread on a server.
#[derive(Debug)]
pub struct ClientThread {
    client: Client,
    thread: Value,
    id: String,
}

impl ClientThread {
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

    /// Starts a thread as a copy of a stored one.
    ///
    /// # Errors
    /// The server refuses or goes away.
    pub async fn fork(client: Client, params: &Value) -> Result<Self, ClientError> {
        Self::open(client, "thread/fork", params).await
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

    /// What its context is made of.
    ///
    /// # Errors
    /// The server refuses or goes away.
    pub async fn context(&mut self) -> Result<Value, ClientError> {
        let params = json!({ "threadId": self.id });
        self.client.call("thread/context/read", &params).await
    }

    /// Starts a turn with this input and follows it to its end. `more` are further params of `turn/start`.
    ///
    /// # Errors
    /// The server refuses or goes away, or the observer fails.
    pub async fn turn(
        &mut self,
        input: Value,
        more: Value,
        listener: &mut impl TurnObserver,
    ) -> Result<TurnOutcome, ClientError> {
        let mut params = more;
        params["threadId"] = json!(self.id);
        params["input"] = input;
        let started = self.client.call("turn/start", &params).await?;
        self.follow(&started, listener).await
    }

    /// Starts a review of the `target` and follows it to its end.
    ///
    /// # Errors
    /// The server refuses or goes away, or the observer fails.
    pub async fn review(
        &mut self,
        target: &Value,
        listener: &mut impl TurnObserver,
    ) -> Result<TurnOutcome, ClientError> {
        let params = json!({ "threadId": self.id, "target": target });
        let started = self.client.call("review/start", &params).await?;
        self.follow(&started, listener).await
    }

    async fn follow(
        &mut self,
        started: &Value,
        listener: &mut impl TurnObserver,
    ) -> Result<TurnOutcome, ClientError> {
        let turn = started["turn"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let mut interrupted = false;
        let mut silence = Duration::ZERO;
        loop {
            let incoming = tokio::select! {
                incoming = self.client.next() => incoming?,
                () = tokio::time::sleep(SILENCE_STEP) => {
                    silence += SILENCE_STEP;
                    listener.on_silence(silence)?;
                    continue;
                }
                () = listener.interrupted(), if !interrupted => {
                    interrupted = true;
                    let params = json!({ "threadId": self.id, "turnId": turn });
                    self.client.request("turn/interrupt", &params).await?;
                    continue;
                }
            };
            silence = Duration::ZERO;
            match incoming {
                // Notifications of the thread's agents. The items of this thread show their calls.
                ServerMessage::Notification(notification) if self.is_of_other(&notification) => {}
                ServerMessage::Notification(notification) => {
                    listener.on_notification(&notification)?;
                    if let Some(outcome) = self.end(&turn, &notification) {
                        return Ok(outcome);
                    }
                }
                ServerMessage::Request(id, request) => match ServerQuestion::from_request(&request)
                {
                    Some(question) => {
                        let decision = listener.decide(question).await?;
                        self.client.answer(&id, &question.answer(decision)).await?;
                    }
                    None => self.client.refuse(&id, request.method()).await?,
                },
                ServerMessage::Unknown(_) => {}
            }
        }
    }

    /// Closes the connection.
    pub async fn finish(self) {
        self.client.finish().await;
    }

    /// Whether a notification is about another thread.
    fn is_of_other(&self, notification: &ServerNotification) -> bool {
        notification
            .thread_id()
            .is_some_and(|thread| thread != self.id)
    }

    fn end(&self, turn: &str, notification: &ServerNotification) -> Option<TurnOutcome> {
        match notification {
            ServerNotification::TurnCompleted(it)
                if it.thread_id == self.id && it.turn.id == turn =>
            {
                let error = it.turn.error.as_ref();
                Some(TurnOutcome {
                    status: it.turn.status,
                    error: error.map(|error| error.message.clone()),
                    is_unauthorized: error.is_some_and(|error| {
                        matches!(error.codex_error_info, Some(CodexErrorInfo::Unauthorized))
                    }),
                })
            }
            _ => None,
        }
    }
}
