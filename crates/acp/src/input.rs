//! The input of a turn: a prompt of the client, with the files that it links to as the editor has them.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentBlock, Error};
use codex_app_server_protocol::v2::UserInput;

use crate::agent::Agent;
use crate::session::AcpSession;
use crate::{buffers, prompt_blocks};

/// A prompt whose blocks are all supported. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    blocks: Arc<[ContentBlock]>,
    inputs: Arc<[UserInput]>,
}

impl Prompt {
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

/// The input for a prompt, with the text of linked files that are not saved.
pub(crate) async fn with_unsaved(
    agent: &Agent,
    session: &AcpSession,
    prompt: &Prompt,
) -> Result<Vec<UserInput>, Error> {
    let unsaved = buffers::unsaved(agent, session, &prompt.blocks).await;
    if unsaved.is_empty() {
        return Ok(prompt.inputs.to_vec());
    }
    prompt_blocks::inputs(&prompt.blocks, &unsaved)
}

pub(crate) fn text(text: String) -> UserInput {
    UserInput::Text {
        text,
        text_elements: Vec::new(),
    }
}
