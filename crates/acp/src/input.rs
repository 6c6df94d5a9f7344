//! The input of a turn: a prompt with the files that it links to, as the editor has them.

use agent_client_protocol_schema::v1::Error;
use codex_app_server_protocol::v2::UserInput;

use crate::agent::Agent;
use crate::prompt_input::PromptInput;
use crate::session::AcpSession;
use crate::{buffers, prompt_blocks};

/// The input for a prompt, with the text of linked files that are not saved.
pub(crate) async fn with_unsaved(
    agent: &Agent,
    session: &AcpSession,
    prompt: &PromptInput,
) -> Result<Vec<UserInput>, Error> {
    let unsaved = buffers::unsaved(agent, session, &prompt.blocks).await;
    if unsaved.is_empty() {
        return Ok(prompt.inputs.to_vec());
    }
    prompt_blocks::inputs(&prompt.blocks, &unsaved)
}
