//! Content of tool calls.

use agent_client_protocol_schema::v1::{Content, ContentBlock, ToolCallContent};

pub(crate) fn shown(block: ContentBlock) -> ToolCallContent {
    ToolCallContent::Content(Content::new(block))
}

/// Text as content of a tool call.
pub(crate) fn text(text: impl Into<String>) -> ToolCallContent {
    shown(ContentBlock::from(text.into()))
}
