//! The connection to a server: requests with their replies, and messages in between.

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

use crate::multiplex::{self, ConnectionHandle, ServerMessages};

/// Longer lines are an error.
const LINE_LIMIT: u64 = 256 * 1024 * 1024;

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Sent,
    /// From the server.
    Received,
}

/// Receives every line as it is on the wire.
type Tap = Box<dyn FnMut(Direction, &str) + Send>;

/// A message of the server that is not a reply.
#[derive(Clone, Debug)]
pub enum ServerMessage {
    /// A notification.
    Notification(Box<ServerNotification>),
    /// A request, which must be answered.
    Request(RequestId, Box<ServerRequest>),
    /// A message that this client does not know, by its method or error.
    Unknown(String),
}

/// Why the connection or a request failed.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The connection failed.
    #[error("the connection to the server failed: {0}")]
    Io(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection; its log is on standard error")]
    Closed,
    /// This side closed the connection before the reply came.
    #[error("the input ended before the command was done")]
    Finished,
    /// The server sent a line that is not a message.
    #[error("the server sent a line that is not a message: {0}")]
    Unreadable(String),
    /// The server replied with an error.
    #[error("{method} was refused: {} (code {})", .error.message, .error.code)]
    Refused {
        /// The method of the request.
        method: String,
        /// The error of the reply.
        error: Box<ErrorObject>,
    },
    /// The reply has no such member, which the client needs.
    #[error("the reply to {method} has no {member}")]
    Incomplete {
        /// The method of the request.
        method: &'static str,
        /// The name of the missing member.
        member: &'static str,
    },
}

/// A connection.
pub struct Client {
    lines: ServerLines,
    output: Output,
    tap: Option<Tap>,
    next_id: i64,
    /// Messages that came while a reply was awaited.
    unread: VecDeque<ServerMessage>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}

/// The stream to the server.
pub(crate) type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// The lines of the server.
pub(crate) struct ServerLines {
    input: BufReader<Box<dyn AsyncRead + Unpin + Send>>,
    line: Vec<u8>,
}

impl ServerLines {
    fn new(input: impl AsyncRead + Unpin + Send + 'static) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, Box::new(input)),
            line: Vec::new(),
        }
    }

    /// The next line. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, ClientError> {
        let left = LINE_LIMIT.saturating_sub(self.line.len() as u64);
        // A partly read line is kept if this is dropped, and the next call continues it.
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
pub(crate) enum ServerLine {
    Reply(RequestId, Result<Value, ErrorObject>),
    Other(ServerMessage),
    /// A request with an unknown method.
    UnknownRequest(RequestId, String),
}

impl Client {
    /// A client on these streams.
    pub fn new(
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        Self {
            lines: ServerLines::new(input),
            output: Box::new(output),
            tap: None,
            next_id: 0,
            unread: VecDeque::new(),
        }
    }

    /// Passes every line to `tap`.
    pub fn tapped(mut self, tap: impl FnMut(Direction, &str) + Send + 'static) -> Self {
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
                ServerLine::Reply(of, result) if of == id => {
                    return result.map_err(|error| ClientError::Refused {
                        method: method.to_owned(),
                        error: Box::new(error),
                    });
                }
                ServerLine::Reply(..) => {}
                ServerLine::Other(incoming) => self.unread.push_back(incoming),
                ServerLine::UnknownRequest(id, method) => self.refuse(&id, &method).await?,
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

    /// The next message that is not a reply. Cancel safe.
    ///
    /// # Errors
    /// The server goes away.
    pub async fn next(&mut self) -> Result<ServerMessage, ClientError> {
        if let Some(incoming) = self.unread.pop_front() {
            return Ok(incoming);
        }
        loop {
            match self.read().await? {
                ServerLine::Reply(..) => {}
                ServerLine::Other(incoming) => return Ok(incoming),
                ServerLine::UnknownRequest(id, method) => self.refuse(&id, &method).await?,
            }
        }
    }

    /// Replies to a request.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn answer(&mut self, id: &RequestId, result: &Value) -> Result<(), ClientError> {
        self.send(&json!({ "id": id, "result": result })).await
    }

    /// Replies to a request with the error that it is not supported.
    ///
    /// # Errors
    /// The server has gone away.
    pub async fn refuse(&mut self, id: &RequestId, method: &str) -> Result<(), ClientError> {
        self.send(&refusal(id, method)).await
    }

    /// Lets many tasks use the connection at once. Unread messages are kept; the tap ends. Needs a runtime.
    #[must_use]
    pub fn split(self) -> (ConnectionHandle, ServerMessages) {
        multiplex::split(self.lines, self.output, self.next_id, self.unread)
    }

    /// Closes the input of the server and waits until it has closed its output.
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
            tap(Direction::Sent, &line);
        }
        line.push('\n');
        self.output.write_all(line.as_bytes()).await?;
        Ok(self.output.flush().await?)
    }

    async fn read(&mut self) -> Result<ServerLine, ClientError> {
        let bytes = self.lines.next().await?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.trim_end();
        if let Some(tap) = &mut self.tap {
            tap(Direction::Received, line);
        }
        read(line)
    }
}

/// The error reply to an unsupported request.
pub(crate) fn refusal(id: &RequestId, method: &str) -> Value {
    let error = ErrorObject {
        code: error_code::METHOD_NOT_FOUND,
        message: format!("this client cannot answer {method}"),
        data: None,
    };
    json!({ "id": id, "error": error })
}

pub(crate) fn read(line: &str) -> Result<ServerLine, ClientError> {
    let unreadable = || {
        let beginning: String = line.chars().take(200).collect();
        ClientError::Unreadable(crate::text::harmless(&beginning))
    };
    Ok(
        match serde_json::from_str::<Message<'_>>(line).map_err(|_| unreadable())? {
            Message::Response(reply) => {
                let result = serde_json::from_str(reply.result.get());
                ServerLine::Reply(reply.id, Ok(result.map_err(|_| unreadable())?))
            }
            Message::Error(ErrorResponse {
                id: Some(id),
                error,
            }) => ServerLine::Reply(id, Err(error)),
            Message::Error(ErrorResponse { id: None, error }) => {
                ServerLine::Other(ServerMessage::Unknown(error.message))
            }
            Message::Notification(it) => match ServerNotification::read(&it.method, it.params) {
                Ok(notification) => {
                    ServerLine::Other(ServerMessage::Notification(Box::new(notification)))
                }
                Err(_) => ServerLine::Other(ServerMessage::Unknown(it.method.into_owned())),
            },
            Message::Request(Request {
                id, method, params, ..
            }) => match ServerRequest::read(&method, params) {
                Ok(question) => ServerLine::Other(ServerMessage::Request(id, Box::new(question))),
                Err(_) => ServerLine::UnknownRequest(id, method.into_owned()),
            },
        },
    )
}
