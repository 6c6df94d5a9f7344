//! The connection to a server: requests with their replies, and what comes in between.

use std::collections::VecDeque;
use std::{fmt, io};

use codex_app_server_protocol::rpc::{
    ErrorObject, ErrorResponse, Message, Request, RequestId, error_code,
};
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use crate::multiplex::{self, Caller, Events};

/// A line longer than this is not from a server of ours.
const LINE_LIMIT: u64 = 256 * 1024 * 1024;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// To the server.
    Sent,
    /// From the server.
    Received,
}

/// Sees every line, as it is on the wire.
type Tap = Box<dyn FnMut(Wire, &str) + Send>;

/// Something that comes from the server by itself.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// It tells something.
    Notification(Box<ServerNotification>),
    /// It asks something, and waits for the answer.
    Question(RequestId, Box<ServerRequest>),
    /// It says something that this client does not know.
    Unknown(String),
}

/// Why a conversation does not go on.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The connection failed.
    #[error("the connection to the server failed: {0}")]
    Io(#[from] io::Error),
    /// The server has gone away.
    #[error("the server ended the connection; its log is on standard error")]
    Closed,
    /// The server said something that is no message.
    #[error("the server sent a line that is no message: {0}")]
    Unreadable(String),
    /// The server refused a request.
    #[error("{method} was refused: {} (code {})", .error.message, .error.code)]
    Refused {
        /// What was asked.
        method: String,
        /// Why not.
        error: Box<ErrorObject>,
    },
    /// The reply lacks what the client needs.
    #[error("the reply to {method} has no {member}")]
    Incomplete {
        /// What was asked.
        method: &'static str,
        /// What is missing.
        member: &'static str,
    },
}

/// A connection.
pub struct Client {
    lines: Lines,
    output: Output,
    tap: Option<Tap>,
    next_id: i64,
    /// What came while a reply was waited for.
    unread: VecDeque<Incoming>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Where what is said goes.
pub(crate) type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// What the server says, line by line.
pub(crate) struct Lines {
    input: BufReader<Box<dyn AsyncRead + Unpin + Send>>,
    line: Vec<u8>,
}

impl Lines {
    fn new(input: impl AsyncRead + Unpin + Send + 'static) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, Box::new(input)),
            line: Vec::new(),
        }
    }

    /// The next line. Nothing is lost if this is dropped.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, ClientError> {
        let left = LINE_LIMIT.saturating_sub(self.line.len() as u64);
        // What was read stays in the line if this is dropped, and the next call goes on.
        (&mut self.input)
            .take(left)
            .read_until(b'\n', &mut self.line)
            .await?;
        match std::mem::take(&mut self.line) {
            line if line.is_empty() => Err(ClientError::Closed),
            line => Ok(line),
        }
    }
}

/// A line from the server, read as far as the client knows it.
pub(crate) enum Line {
    Reply(RequestId, Result<Value, ErrorObject>),
    Other(Incoming),
    /// It asks something that this client does not know.
    UnknownQuestion(RequestId, String),
}

impl Client {
    /// Speaks over these streams.
    pub fn new(
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        Self {
            lines: Lines::new(input),
            output: Box::new(output),
            tap: None,
            next_id: 0,
            unread: VecDeque::new(),
        }
    }

    /// Shows every line to `tap`.
    pub fn tapped(mut self, tap: impl FnMut(Wire, &str) + Send + 'static) -> Self {
        self.tap = Some(Box::new(tap));
        self
    }

    /// The handshake.
    ///
    /// # Errors
    /// The server refuses it or goes away.
    pub async fn initialize(&mut self, name: &str, version: &str) -> Result<Value, ClientError> {
        let params = json!({
            "clientInfo": { "name": name, "version": version },
            "capabilities": { "experimentalApi": true },
        });
        let reply = self.call("initialize", &params).await?;
        self.send(&json!({ "method": "initialized" })).await?;
        Ok(reply)
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The server refuses it or goes away.
    pub async fn call(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, ClientError> {
        let id = self.request(method, params).await?;
        loop {
            match self.read().await? {
                Line::Reply(of, result) if of == id => {
                    return result.map_err(|error| ClientError::Refused {
                        method: method.to_owned(),
                        error: Box::new(error),
                    });
                }
                Line::Reply(..) => {}
                Line::Other(incoming) => self.unread.push_back(incoming),
                Line::UnknownQuestion(id, method) => self.refuse(&id, &method).await?,
            }
        }
    }

    /// Sends a request whose reply nobody waits for.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn request(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RequestId, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "id": id, "method": method, "params": params }))
            .await?;
        Ok(RequestId::Integer(id))
    }

    /// The next thing that the server says by itself. Nothing is lost if this is dropped.
    ///
    /// # Errors
    /// The server goes away.
    pub async fn next(&mut self) -> Result<Incoming, ClientError> {
        if let Some(incoming) = self.unread.pop_front() {
            return Ok(incoming);
        }
        loop {
            match self.read().await? {
                Line::Reply(..) => {}
                Line::Other(incoming) => return Ok(incoming),
                Line::UnknownQuestion(id, method) => self.refuse(&id, &method).await?,
            }
        }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn answer(&mut self, id: &RequestId, result: &Value) -> Result<(), ClientError> {
        self.send(&json!({ "id": id, "result": result })).await
    }

    /// Says that a question cannot be answered here.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn refuse(&mut self, id: &RequestId, method: &str) -> Result<(), ClientError> {
        self.send(&refusal(id, method)).await
    }

    /// Lets many tasks use the connection at once. Unread messages are kept; the tap ends. Needs a runtime.
    #[must_use]
    pub fn split(self) -> (Caller, Events) {
        multiplex::split(self.lines, self.output, self.next_id, self.unread)
    }

    /// Ends the conversation: says nothing more, and hears the server out.
    pub async fn finish(mut self) {
        let _ = self.output.shutdown().await;
        drop(std::mem::replace(
            &mut self.output,
            Box::new(tokio::io::sink()),
        ));
        while self.read().await.is_ok() {}
    }

    async fn send(&mut self, message: &Value) -> Result<(), ClientError> {
        let mut line = message.to_string();
        if let Some(tap) = &mut self.tap {
            tap(Wire::Sent, &line);
        }
        line.push('\n');
        self.output.write_all(line.as_bytes()).await?;
        Ok(self.output.flush().await?)
    }

    async fn read(&mut self) -> Result<Line, ClientError> {
        let line = self.lines.next().await?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if let Some(tap) = &mut self.tap {
            tap(Wire::Received, line);
        }
        read(line)
    }
}

/// The answer to a question that cannot be answered.
pub(crate) fn refusal(id: &RequestId, method: &str) -> Value {
    let error = ErrorObject {
        code: error_code::METHOD_NOT_FOUND,
        message: format!("this client cannot answer {method}"),
        data: None,
    };
    json!({ "id": id, "error": error })
}

pub(crate) fn read(line: &str) -> Result<Line, ClientError> {
    let unreadable = || {
        let beginning: String = line.chars().take(200).collect();
        ClientError::Unreadable(crate::text::harmless(&beginning))
    };
    Ok(
        match serde_json::from_str::<Message<'_>>(line).map_err(|_| unreadable())? {
            Message::Response(reply) => {
                let result = serde_json::from_str(reply.result.get());
                Line::Reply(reply.id, Ok(result.map_err(|_| unreadable())?))
            }
            Message::Error(ErrorResponse {
                id: Some(id),
                error,
            }) => Line::Reply(id, Err(error)),
            Message::Error(ErrorResponse { id: None, error }) => {
                Line::Other(Incoming::Unknown(error.message))
            }
            Message::Notification(it) => match ServerNotification::read(&it.method, it.params) {
                Ok(notification) => Line::Other(Incoming::Notification(Box::new(notification))),
                Err(_) => Line::Other(Incoming::Unknown(it.method.into_owned())),
            },
            Message::Request(Request {
                id, method, params, ..
            }) => match ServerRequest::read(&method, params) {
                Ok(question) => Line::Other(Incoming::Question(id, Box::new(question))),
                Err(_) => Line::UnknownQuestion(id, method.into_owned()),
            },
        },
    )
}
