//! Notifications about the items of a running turn: their start and end, and what streams in
//! between. All go to the thread's subscribers.

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::{ResponseItem, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::TimedItem;

/// Payload of `item/started`: an item began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ItemStartedNotification {
    /// The item as far as it is known.
    pub item: TimedItem,
    /// Thread that the item belongs to.
    pub thread_id: String,
    /// Turn that the item belongs to.
    pub turn_id: String,
    /// When, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub started_at_ms: Option<i64>,
}

/// Payload of `item/completed`: an item is final.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ItemCompletedNotification {
    /// The item in full; replaces what was gathered from deltas.
    pub item: TimedItem,
    /// Thread that the item belongs to.
    pub thread_id: String,
    /// Turn in which the item began, even if that turn is over.
    pub turn_id: String,
    /// When, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub completed_at_ms: Option<i64>,
}

/// Payload of `rawResponseItem/completed`, for threads started with `experimentalRawEvents`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RawResponseItemCompletedNotification {
    /// Thread whose history grew.
    pub thread_id: String,
    /// Turn in which it grew.
    pub turn_id: String,
    /// The item as the model gets to see it.
    pub item: ResponseItem,
}

/// Payload of `item/agentMessage/delta`: more text of an agent message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMessageDeltaNotification {
    /// Thread that the message belongs to.
    pub thread_id: String,
    /// Turn that the message belongs to.
    pub turn_id: String,
    /// Id of the `agentMessage` item.
    pub item_id: String,
    /// Text to append.
    pub delta: String,
}

/// Payload of `item/plan/delta`: more text of a proposed plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanDeltaNotification {
    /// Thread that the plan belongs to.
    pub thread_id: String,
    /// Turn that the plan belongs to.
    pub turn_id: String,
    /// Id of the `plan` item.
    pub item_id: String,
    /// Text to append; the completed item may differ from the sum.
    pub delta: String,
}

/// Payload of `item/commandExecution/outputDelta`: more output of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionOutputDeltaNotification {
    /// Thread that the command belongs to.
    pub thread_id: String,
    /// Turn in which the command began.
    pub turn_id: String,
    /// Id of the `commandExecution` item.
    pub item_id: String,
    /// Output to append, from either stream; bytes that are not UTF-8 are replaced.
    pub delta: String,
}

/// Payload of `item/commandExecution/terminalInteraction`: the agent wrote to a terminal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInteractionNotification {
    /// Thread that the terminal belongs to.
    pub thread_id: String,
    /// Turn that the write is reported for.
    pub turn_id: String,
    /// Id of the `commandExecution` item that opened the terminal.
    pub item_id: String,
    /// Terminal written to, as in the item's `processId`.
    pub process_id: String,
    /// What was written; empty when the agent only looked for new output.
    pub stdin: String,
}

/// Payload of `item/fileChange/outputDelta`: what the patch tool reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeOutputDeltaNotification {
    /// Thread that the patch belongs to.
    pub thread_id: String,
    /// Turn that the patch belongs to.
    pub turn_id: String,
    /// Id of the `fileChange` item.
    pub item_id: String,
    /// Report to append, as the model gets it.
    pub delta: String,
}

/// Payload of `item/mcpToolCall/progress`: an MCP tool tells how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallProgressNotification {
    /// Thread that the call belongs to.
    pub thread_id: String,
    /// Turn that the call belongs to.
    pub turn_id: String,
    /// Id of the `mcpToolCall` item.
    pub item_id: String,
    /// Text from the MCP server.
    pub message: String,
}

/// Payload of `item/reasoning/summaryPartAdded`: a section of a summary begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningSummaryPartAddedNotification {
    /// Thread that the reasoning belongs to.
    pub thread_id: String,
    /// Turn that the reasoning belongs to.
    pub turn_id: String,
    /// Id of the `reasoning` item.
    pub item_id: String,
    /// Place of the new section in the item's `summary`, from 0.
    pub summary_index: i64,
}

/// Payload of `item/reasoning/summaryTextDelta`: more text of a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningSummaryTextDeltaNotification {
    /// Thread that the reasoning belongs to.
    pub thread_id: String,
    /// Turn that the reasoning belongs to.
    pub turn_id: String,
    /// Id of the `reasoning` item.
    pub item_id: String,
    /// Text to append to the section.
    pub delta: String,
    /// Place of the section in the item's `summary`, from 0.
    pub summary_index: i64,
}

/// Payload of `item/reasoning/textDelta`: more of the thoughts of a model that discloses them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningTextDeltaNotification {
    /// Thread that the reasoning belongs to.
    pub thread_id: String,
    /// Turn that the reasoning belongs to.
    pub turn_id: String,
    /// Id of the `reasoning` item.
    pub item_id: String,
    /// Text to append to the block.
    pub delta: String,
    /// Place of the block in the item's `content`, from 0.
    pub content_index: i64,
}

/// Payload of `thread/compacted`, deprecated: the `contextCompaction` item tells the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompactedNotification {
    /// Thread whose history was replaced by a summary.
    pub thread_id: String,
    /// Turn in which that happened.
    pub turn_id: String,
}
