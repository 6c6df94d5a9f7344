//! A prompt of the client.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentBlock, Error};
use codex_app_server_protocol::v2::UserInput;

use crate::prompt_blocks;

/// A prompt whose blocks are all supported. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct PromptInput {
    pub(crate) blocks: Arc<[ContentBlock]>,
    pub(crate) inputs: Arc<[UserInput]>,
}

impl PromptInput {
    pub(crate) fn read(blocks: Vec<ContentBlock>) -> Result<Self, Error> {
        let inputs = prompt_blocks::inputs(&blocks, &HashMap::new())?;
        Ok(Self {
            blocks: blocks.into(),
            inputs: inputs.into(),
        })
    }

    /// The text at the beginning.
    pub(crate) fn first_text(&self) -> &str {
        match self.blocks.first() {
            Some(ContentBlock::Text(block)) => &block.text,
            _ => "",
        }
    }
}

pub(crate) fn text(text: String) -> UserInput {
    UserInput::Text {
        text,
        text_elements: Vec::new(),
    }
}
