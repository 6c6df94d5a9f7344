//! Checks a recorded conversation of a client with a server: what did the client do wrong? Pure.
//!
//! The messages of the server are trusted. Which params and results are valid is up to a [`MessageSchema`], so that
//! the same checks serve every protocol on JSON-RPC.

use std::collections::{HashMap, HashSet};

use codex_app_server_protocol::rpc::RequestId as EngineRequestId;
use codex_app_server_protocol::{
    ClientNotification, ClientRequest, MessageReadError, ServerResponse,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LineSource {
    /// The client under test.
    Client,
    /// The server.
    Server,
}

/// A line of a recorded conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLine {
    /// Who wrote it.
    pub from: LineSource,
    /// The line, without its end.
    pub line: String,
}

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MistakeKind {
    /// A line is not JSON.
    InvalidJson,
    /// A line is not a JSON-RPC message.
    InvalidMessage,
    /// A message was sent before `initialize`.
    BeforeInitialize,
    /// A method does not exist.
    UnknownMethod,
    /// Params do not match the schema of the method.
    InvalidParams,
    /// A request has the id of a request that has no reply yet.
    DuplicateId,
    /// A reply belongs to no request of the server.
    UnexpectedReply,
    /// A reply does not match the schema of the method.
    InvalidResult,
    /// A request of the server has no reply.
    Unanswered,
    /// The client did not start the server.
    NoServer,
    /// The client exited with an error.
    Failed,
    /// The client did not exit in time.
    TimedOut,
}

/// One mistake of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientMistake {
    /// The kind.
    pub kind: MistakeKind,
    /// What was wrong, for people.
    pub message: String,
}

impl ClientMistake {
    /// A mistake with its description.
    pub fn new(kind: MistakeKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }
}

/// Why a schema refuses a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaViolation {
    /// The method does not exist.
    UnknownMethod,
    /// The params or the result have the wrong shape.
    WrongShape(String),
}

impl From<MessageReadError> for SchemaViolation {
    fn from(error: MessageReadError) -> Self {
        match error {
            MessageReadError::UnknownMethod { .. } => Self::UnknownMethod,
            error => Self::WrongShape(error.to_string()),
        }
    }
}

/// A check of the params or the result of a method.
pub type ShapeCheck = fn(method: &str, value: Option<&RawValue>) -> Result<(), SchemaViolation>;

/// The messages that clients of a protocol may send.
#[derive(Clone, Copy, Debug)]
pub struct MessageSchema {
    /// Checks the params of a request.
    pub request: ShapeCheck,
    /// Checks the params of a notification.
    pub notification: ShapeCheck,
    /// Checks the result of a request of the server.
    pub result: ShapeCheck,
}

/// The messages of clients of the app-server.
pub const APP_SERVER_SCHEMA: MessageSchema = MessageSchema {
    request: |method, params| Ok(ClientRequest::read(method, params).map(drop)?),
    notification: |method, params| Ok(ClientNotification::read(method, params).map(drop)?),
    result: |method, result| Ok(ServerResponse::read(method, result).map(drop)?),
};

/// Returns the mistakes of the client in a conversation, in their order.
#[must_use]
pub fn check_conversation(lines: &[RecordedLine], schema: &MessageSchema) -> Vec<ClientMistake> {
    let mut check = ConversationCheck {
        schema,
        is_initialized: false,
        client_requests: HashSet::new(),
        server_requests: HashMap::new(),
        withdrawn: HashSet::new(),
        mistakes: Vec::new(),
    };
    for line in lines {
        match line.from {
            LineSource::Client => check.client_line(&line.line),
            LineSource::Server => check.server_line(&line.line),
        }
    }
    check.finish()
}

struct ConversationCheck<'a> {
    schema: &'a MessageSchema,
    is_initialized: bool,
    /// Ids of requests without a reply.
    client_requests: HashSet<EngineRequestId>,
    /// Methods of requests without a reply.
    server_requests: HashMap<EngineRequestId, String>,
    /// Requests that the server withdrew; a late reply is not a mistake.
    withdrawn: HashSet<EngineRequestId>,
    mistakes: Vec<ClientMistake>,
}

#[derive(Deserialize)]
struct AnyMessage<'a> {
    id: Option<EngineRequestId>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Value>,
}

impl ConversationCheck<'_> {
    fn mistake(&mut self, kind: MistakeKind, message: impl Into<String>) {
        self.mistakes.push(ClientMistake::new(kind, message));
    }

    fn client_line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let message: AnyMessage<'_> = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => {
                let kind = match serde_json::from_str::<serde::de::IgnoredAny>(line) {
                    Ok(_) => MistakeKind::InvalidMessage,
                    Err(_) => MistakeKind::InvalidJson,
                };
                return self.mistake(kind, format!("{error}: {}", beginning(line)));
            }
        };
        match (message.id, message.method) {
            (Some(id), Some(method)) => self.client_request(id, &method, message.params),
            (None, Some(method)) => self.client_notification(&method, message.params),
            (Some(id), None) => self.client_reply(&id, message.result, message.error.as_ref()),
            (None, None) => {
                let text = format!("neither `method` nor `id`: {}", beginning(line));
                self.mistake(MistakeKind::InvalidMessage, text);
            }
        }
    }

    fn client_request(&mut self, id: EngineRequestId, method: &str, params: Option<&RawValue>) {
        if method == "initialize" {
            self.is_initialized = true;
        } else if !self.is_initialized {
            self.mistake(MistakeKind::BeforeInitialize, method);
        }
        let checked = (self.schema.request)(method, params);
        self.shape(method, checked, MistakeKind::InvalidParams);
        if !self.client_requests.insert(id.clone()) {
            let text = format!("{method} has the id {id} of a request without a reply");
            self.mistake(MistakeKind::DuplicateId, text);
        }
    }

    fn client_notification(&mut self, method: &str, params: Option<&RawValue>) {
        if !self.is_initialized {
            self.mistake(MistakeKind::BeforeInitialize, method);
        }
        let checked = (self.schema.notification)(method, params);
        self.shape(method, checked, MistakeKind::InvalidParams);
    }

    fn client_reply(
        &mut self,
        id: &EngineRequestId,
        result: Option<&RawValue>,
        error: Option<&Value>,
    ) {
        let Some(method) = self.server_requests.remove(id) else {
            if !self.withdrawn.contains(id) {
                let text = format!("a reply has the id {id}, which no request of the server has");
                self.mistake(MistakeKind::UnexpectedReply, text);
            }
            return;
        };
        let checked = match error {
            Some(error) if error["code"].is_i64() && error["message"].is_string() => Ok(()),
            Some(_) => Err(SchemaViolation::WrongShape(
                "`error` needs `code` and `message`".to_owned(),
            )),
            None => (self.schema.result)(&method, result),
        };
        self.shape(&method, checked, MistakeKind::InvalidResult);
    }

    fn shape(&mut self, method: &str, checked: Result<(), SchemaViolation>, kind: MistakeKind) {
        match checked {
            Ok(()) => {}
            Err(SchemaViolation::UnknownMethod) => {
                self.mistake(MistakeKind::UnknownMethod, method);
            }
            Err(SchemaViolation::WrongShape(why)) => {
                self.mistake(kind, format!("{method}: {why}"));
            }
        }
    }

    fn server_line(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<AnyMessage<'_>>(line) else {
            return;
        };
        match (message.id, message.method.as_deref()) {
            (Some(id), Some(method)) => {
                self.server_requests.insert(id, method.to_owned());
            }
            (Some(id), None) => {
                self.client_requests.remove(&id);
            }
            (None, Some("serverRequest/resolved" | "$/cancel_request")) => {
                self.withdraw(message.params);
            }
            (None, _) => {}
        }
    }

    fn withdraw(&mut self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Withdrawn {
            request_id: EngineRequestId,
        }
        let read = params.and_then(|params| serde_json::from_str::<Withdrawn>(params.get()).ok());
        if let Some(Withdrawn { request_id }) = read
            && self.server_requests.remove(&request_id).is_some()
        {
            self.withdrawn.insert(request_id);
        }
    }

    fn finish(mut self) -> Vec<ClientMistake> {
        let mut unanswered: Vec<_> = std::mem::take(&mut self.server_requests)
            .into_iter()
            .collect();
        unanswered.sort_by_key(|(id, _)| id.to_string());
        for (id, method) in unanswered {
            self.mistake(MistakeKind::Unanswered, format!("{method} (id {id})"));
        }
        self.mistakes
    }
}

/// As much of a line as a report shows.
fn beginning(line: &str) -> String {
    let beginning: String = line.chars().take(120).collect();
    crate::text::harmless(&beginning)
}

#[cfg(test)]
#[path = "conversation_check_tests.rs"]
mod tests;
