//! The inputs of sessions in a bundle, and what else a replay does not do again.

use codex_core::{HooksRun, PrefixBreak, SessionInput, TakenInput};
use codex_protocol::ResponseItem;
use serde::{Deserialize, Serialize};

/// The name of the protocol events with inputs.
pub const INPUT_EVENT: &str = "session_input";

/// An input of the session of a thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedInput {
    pub thread_id: String,
    pub input: SessionInput,
}

/// The name of the protocol events with inputs that a running turn took.
pub const TAKEN_EVENT: &str = "session_inputs_taken";

/// The inputs that a running turn took for its next request, or at its end, or that an idle thread took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedTaking {
    pub thread_id: String,
    /// Whether no turn ran; then it is one notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_idle: bool,
    pub inputs: Vec<TakenInput>,
}

/// The name of the protocol events with the effects of hooks.
pub const HOOKS_EVENT: &str = "session_hooks";

/// The hooks that ran for an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedHooks {
    pub thread_id: String,
    pub ran: HooksRun,
}

/// The name of the protocol events with requests that do not begin like the one before them.
pub(crate) const PREFIX_EVENT: &str = "prompt_prefix_broken";

/// A request that does not begin like the one before it.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedPrefixBreak {
    pub(crate) thread_id: String,
    pub(crate) turn_id: String,
    /// The sentence for people.
    pub(crate) message: String,
    #[serde(flatten)]
    pub(crate) broken: PrefixBreak,
}

/// The name of the protocol events with records of commands that the user typed.
pub const SHELL_EVENT: &str = "session_shell_output";

/// The record of a command for the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedShellOutput {
    pub thread_id: String,
    pub record: ResponseItem,
}
