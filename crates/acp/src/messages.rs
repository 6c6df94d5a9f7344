//! Texts for the user as session updates.

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, MessageId, Notice, NoticeSeverity, SessionUpdate,
};

/// A piece of the text of a message or thought.
pub(crate) fn chunk(text: &str, message: Option<&str>) -> ContentChunk {
    let id = message.map(|id| MessageId::new(id.to_owned()));
    ContentChunk::new(ContentBlock::from(text.to_owned())).message_id(id)
}

/// A piece of an agent message.
pub(crate) fn message_chunk(text: &str, message: Option<&str>) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text, message))
}

/// A notice for the user, outside of the conversation.
pub(crate) fn notice(
    severity: NoticeSeverity,
    title: &str,
    description: Option<&str>,
) -> Vec<SessionUpdate> {
    let notice = Notice::new(severity, title).description(description.map(str::to_owned));
    vec![SessionUpdate::Notice(notice)]
}
