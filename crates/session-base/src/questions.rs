//! Questions of tools to the client: asked with an event, answered with an operation.

use codex_mcp_client::ElicitationReply;
use codex_protocol::{DynamicToolResponse, EventMsg, RequestId, RequestUserInputResponse};
use tokio::sync::oneshot;

/// A question to the client.
#[derive(Debug)]
pub struct Question {
    pub key: QuestionKey,
    /// The turn that asks.
    pub turn: String,
    /// The event that asks.
    pub event: EventMsg,
}

/// What an answer refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKey {
    /// An approval, by its id.
    Approval(String),
    /// Questions to the user, by turn.
    UserInput(String),
    /// A request for permissions, by call.
    Permissions(String),
    /// A call of a tool of the client, by call.
    DynamicTool(String),
    /// A question of an MCP server, by server and its id.
    Elicitation(String, RequestId),
}

/// An answer of the client.
#[derive(Debug)]
pub enum QuestionAnswer {
    UserInput(RequestUserInputResponse),
    DynamicTool(DynamicToolResponse),
    Elicitation(ElicitationReply),
}

/// A request to ask the client a question.
#[derive(Debug)]
pub struct QuestionRequest {
    pub question: Box<Question>,
    pub reply: oneshot::Sender<QuestionAnswer>,
}
