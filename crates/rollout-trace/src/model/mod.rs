//! The reduced graph: what `state.json` holds.
//!
//! Fields are declared in the order in which they are written, and every map is ordered by the text of its key, so
//! that equal graphs make equal files. A field is null or empty when it has no value; `agent_message` is left
//! out then, and what only schema 2 has. These are data: nothing here knows how a graph is made. Long texts are not held
//! ([`Text`]).

mod conversation;
mod interaction;
mod objects;
mod runtime;
mod text;

use serde::Serialize;

pub use conversation::{
    AgentMessage, Body, Channel, ConversationItem, ItemKind, Part, Producer, Role,
};
pub use interaction::{Anchor, EdgeKind, InteractionEdge};
pub use objects::Objects;
pub use runtime::{
    CellAnswers, CodeCell, Compaction, CompactionRequest, InferenceCall, ModelObservation,
    ObservationSource, OperationKind, TerminalOperation, TerminalRequest, TerminalResult,
    TerminalSession, ToolCall, ToolRequester, Usage,
};

pub use text::Text;

pub(crate) use text::text_key;

use crate::format::{ExecutionStatus, Manifest, PayloadRef, RolloutStatus, Schema};
use crate::ids::{
    CodeCellId, CompactionId, CompactionRequestId, EdgeId, InferenceId, ItemId, OperationId,
    PayloadId, RolloutId, TerminalId, ThreadId, ToolCallId, TraceId, TurnId,
};

/// A whole rollout: its threads, what the model saw, and what ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RolloutTrace {
    pub schema_version: u32,
    pub trace_id: TraceId,
    pub rollout_id: RolloutId,
    pub started_at_unix_ms: i64,
    pub ended_at_unix_ms: Option<i64>,
    pub status: RolloutStatus,
    /// Whether the log has its last line, in schema 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_complete: Option<bool>,
    /// The same in schema 3, and whether payloads were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_status: Option<RecordingStatus>,
    pub root_thread_id: ThreadId,
    pub threads: Objects<ThreadId, Thread>,
    pub codex_turns: Objects<TurnId, Turn>,
    pub conversation_items: Objects<ItemId, ConversationItem>,
    pub inference_calls: Objects<InferenceId, InferenceCall>,
    pub code_cells: Objects<CodeCellId, CodeCell>,
    pub tool_calls: Objects<ToolCallId, ToolCall>,
    pub terminal_sessions: Objects<TerminalId, TerminalSession>,
    pub terminal_operations: Objects<OperationId, TerminalOperation>,
    pub compactions: Objects<CompactionId, Compaction>,
    pub compaction_requests: Objects<CompactionRequestId, CompactionRequest>,
    pub interaction_edges: Objects<EdgeId, InteractionEdge>,
    pub raw_payloads: Objects<PayloadId, PayloadRef>,
}

impl RolloutTrace {
    /// The graph before the first event.
    pub(crate) fn new(manifest: Manifest, schema: Schema) -> Self {
        Self {
            schema_version: schema.number(),
            trace_id: manifest.trace_id,
            rollout_id: manifest.rollout_id,
            started_at_unix_ms: manifest.started_at_unix_ms,
            ended_at_unix_ms: None,
            status: RolloutStatus::Running,
            recording_complete: schema.has_ids().then_some(false),
            recording_status: (schema == Schema::Three).then_some(RecordingStatus::Unclosed),
            root_thread_id: manifest.root_thread_id,
            threads: Objects::default(),
            codex_turns: Objects::default(),
            conversation_items: Objects::default(),
            inference_calls: Objects::default(),
            code_cells: Objects::default(),
            tool_calls: Objects::default(),
            terminal_sessions: Objects::default(),
            terminal_operations: Objects::default(),
            compactions: Objects::default(),
            compaction_requests: Objects::default(),
            interaction_edges: Objects::default(),
            raw_payloads: Objects::default(),
        }
    }
}

/// How complete a recording is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordingStatus {
    Complete,
    /// The log has no last line.
    Unclosed,
    /// The log has its last line; payloads were left out or cut because of a limit.
    ClosedWithPartialPayloads,
}

/// From when to when a thing ran, and how far it got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExecutionWindow {
    pub started_at_unix_ms: i64,
    pub started_seq: u64,
    pub ended_at_unix_ms: Option<i64>,
    pub ended_seq: Option<u64>,
    pub status: ExecutionStatus,
}

/// One agent's thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thread {
    pub thread_id: ThreadId,
    pub agent_path: String,
    pub nickname: Option<String>,
    pub origin: ThreadOrigin,
    pub execution: ExecutionWindow,
    pub default_model: Option<String>,
    /// In the order of first appearance; the prompt of a request is its own `request_item_ids`.
    pub conversation_item_ids: Vec<ItemId>,
}

/// Where a thread comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ThreadOrigin {
    Root,
    Spawned {
        parent_thread_id: ThreadId,
        /// The edge that the spawn would make, whether or not it was seen.
        spawn_edge_id: EdgeId,
        task_name: String,
        agent_role: String,
    },
}

/// One turn of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    pub codex_turn_id: TurnId,
    pub thread_id: ThreadId,
    pub execution: ExecutionWindow,
    /// Kept empty: the format has no event that fills it.
    pub input_item_ids: Vec<ItemId>,
}
