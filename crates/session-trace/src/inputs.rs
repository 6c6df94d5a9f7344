//! The inputs of sessions in a bundle.

use codex_core::SessionInput;
use serde::{Deserialize, Serialize};

/// The name of the protocol events with inputs.
pub const INPUT_EVENT: &str = "session_input";

/// An input of the session of a thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedInput {
    pub thread_id: String,
    pub input: SessionInput,
}
