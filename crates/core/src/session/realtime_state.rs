//! The realtime conversation of a session, as data.

use std::sync::Arc;

use codex_realtime::ConversationInputs;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The conversation, and what is left of the last one.
#[derive(Debug, Default)]
pub(super) struct RealtimeState {
    /// The number of the last conversation.
    pub(super) number: u64,
    pub(super) active: Option<ActiveRealtime>,
    /// The task of the last conversation, which may not have ended.
    pub(super) task: Option<JoinHandle<()>>,
    pub(super) start_instructions: Option<Arc<str>>,
    pub(super) end_instructions: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct ActiveRealtime {
    pub(super) inputs: ConversationInputs,
    pub(super) stop: CancellationToken,
}
