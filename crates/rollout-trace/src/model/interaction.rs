//! How information went from one thread to another.

use serde::Serialize;

use crate::ids::{EdgeId, ItemId, PayloadId, ThreadId, ToolCallId};

/// One flow of information.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InteractionEdge {
    pub edge_id: EdgeId,
    pub kind: EdgeKind,
    pub source: Anchor,
    pub target: Anchor,
    pub started_at_unix_ms: i64,
    pub ended_at_unix_ms: Option<i64>,
    pub carried_item_ids: Vec<ItemId>,
    pub carried_raw_payload_ids: Vec<PayloadId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    SpawnAgent,
    AssignAgentTask,
    SendMessage,
    AgentResult,
    CloseAgent,
}

/// An end of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Anchor {
    ConversationItem { item_id: ItemId },
    ToolCall { tool_call_id: ToolCallId },
    Thread { thread_id: ThreadId },
}
