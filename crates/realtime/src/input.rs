//! What is put into a conversation.

/// Who says a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    User,
    /// The client.
    Developer,
    /// The model.
    Assistant,
}

/// A message of the agent about delegated work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentResult {
    /// The id of the delegation.
    pub handoff: String,
    pub text: String,
    /// Whether the work has ended and this repeats its last message.
    pub is_last: bool,
}
