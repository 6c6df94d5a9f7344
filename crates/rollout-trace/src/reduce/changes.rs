//! Which objects of a graph changed, for readers that follow a bundle.

use std::collections::BTreeSet;

use crate::format::PayloadRef;
use crate::ids::{
    CodeCellId, CompactionRequestId, EdgeId, InferenceId, ItemId, OperationId, PayloadId,
    TerminalId, ThreadId, ToolCallId, TurnId,
};

/// The objects that changed since the last time, and the protocol events that came.
#[derive(Debug, Default)]
pub struct Changes {
    pub threads: BTreeSet<ThreadId>,
    pub turns: BTreeSet<TurnId>,
    pub items: BTreeSet<ItemId>,
    pub inferences: BTreeSet<InferenceId>,
    pub cells: BTreeSet<CodeCellId>,
    pub tools: BTreeSet<ToolCallId>,
    pub terminals: BTreeSet<TerminalId>,
    pub operations: BTreeSet<OperationId>,
    pub compactions: BTreeSet<CompactionRequestId>,
    pub edges: BTreeSet<EdgeId>,
    pub payloads: BTreeSet<PayloadId>,
    pub events: Vec<ProtocolEvent>,
}

/// An event of the engine that the graph does not contain.
#[derive(Debug)]
pub struct ProtocolEvent {
    pub at_unix_ms: i64,
    pub turn: Option<TurnId>,
    pub event_type: String,
    pub payload: PayloadRef,
}
