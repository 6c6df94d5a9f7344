//! What ran: inferences, tools, terminals, code cells, compactions.

use serde::Serialize;

use super::ExecutionWindow;
use super::text::Text;
use crate::format::{CellStatus, Summary, ToolKind};
use crate::ids::{
    CallId, CodeCellId, CompactionId, CompactionRequestId, InferenceId, ItemId, McpCallId,
    OperationId, PayloadId, ResponseId, RuntimeCellId, RuntimeToolId, TerminalId, ThreadId,
    ToolCallId, TurnId,
};

/// One attempt at a model request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InferenceCall {
    pub inference_call_id: InferenceId,
    pub thread_id: ThreadId,
    pub codex_turn_id: TurnId,
    pub execution: ExecutionWindow,
    pub model: String,
    pub provider_name: String,
    pub response_id: Option<ResponseId>,
    pub upstream_request_id: Option<String>,
    /// Why it failed or was cancelled. The state file has no place for it.
    #[serde(skip)]
    pub error: Option<String>,
    /// The whole prompt, also where the request named only what was new.
    pub request_item_ids: Vec<ItemId>,
    pub response_item_ids: Vec<ItemId>,
    pub tool_call_ids_started_by_response: Vec<ToolCallId>,
    pub usage: Option<Usage>,
    pub raw_request_payload_id: PayloadId,
    /// The whole prompt, in schema 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepared_prompt_payload_id: Option<PayloadId>,
    pub raw_response_payload_id: Option<PayloadId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    /// Schema 2 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

/// A piece of JavaScript that the model wrote, while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeCell {
    pub code_cell_id: CodeCellId,
    pub model_visible_call_id: CallId,
    pub thread_id: ThreadId,
    pub codex_turn_id: TurnId,
    pub source_item_id: ItemId,
    pub output_item_ids: Vec<ItemId>,
    pub runtime_cell_id: Option<RuntimeCellId>,
    pub execution: ExecutionWindow,
    pub runtime_status: CellStatus,
    pub initial_response_at_unix_ms: Option<i64>,
    pub initial_response_seq: Option<u64>,
    #[serde(flatten)]
    pub answers: Option<CellAnswers>,
    pub yielded_at_unix_ms: Option<i64>,
    pub yielded_seq: Option<u64>,
    pub source_js: String,
    pub nested_tool_call_ids: Vec<ToolCallId>,
    pub wait_tool_call_ids: Vec<ToolCallId>,
}

/// What a code cell answered, in schema 2.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CellAnswers {
    pub initial_response_status: Option<CellStatus>,
    pub raw_initial_response_payload_id: Option<PayloadId>,
    pub raw_result_payload_id: Option<PayloadId>,
}

/// One dispatch of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCall {
    pub tool_call_id: ToolCallId,
    pub mcp_call_id: Option<McpCallId>,
    pub model_visible_call_id: Option<CallId>,
    pub code_mode_runtime_tool_id: Option<RuntimeToolId>,
    /// The code cell that the call is, in schema 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_code_cell_id: Option<CodeCellId>,
    /// The cell that a wait found, in schema 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_wait_runtime_cell_id: Option<RuntimeCellId>,
    pub thread_id: ThreadId,
    pub started_by_codex_turn_id: Option<TurnId>,
    pub execution: ExecutionWindow,
    pub requester: ToolRequester,
    pub kind: ToolKind,
    pub model_visible_call_item_ids: Vec<ItemId>,
    pub model_visible_output_item_ids: Vec<ItemId>,
    pub terminal_operation_id: Option<OperationId>,
    pub summary: Summary,
    pub raw_invocation_payload_id: Option<PayloadId>,
    pub raw_result_payload_id: Option<PayloadId>,
    pub raw_runtime_payload_ids: Vec<PayloadId>,
}

/// The requester of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolRequester {
    Model,
    CodeCell { code_cell_id: CodeCellId },
}

/// A process that operations share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TerminalSession {
    pub terminal_id: TerminalId,
    pub thread_id: ThreadId,
    pub created_by_operation_id: OperationId,
    pub operation_ids: Vec<OperationId>,
    pub execution: ExecutionWindow,
}

/// A command, or input to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TerminalOperation {
    pub operation_id: OperationId,
    pub terminal_id: Option<TerminalId>,
    pub tool_call_id: ToolCallId,
    pub kind: OperationKind,
    pub execution: ExecutionWindow,
    pub request: TerminalRequest,
    pub result: Option<TerminalResult>,
    pub model_observations: Vec<ModelObservation>,
    pub raw_payload_ids: Vec<PayloadId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    ExecCommand,
    WriteStdin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TerminalRequest {
    ExecCommand {
        command: Vec<String>,
        display_command: String,
        cwd: String,
        yield_time_ms: Option<u64>,
        max_output_tokens: Option<u64>,
    },
    WriteStdin {
        stdin: String,
        yield_time_ms: Option<u64>,
        max_output_tokens: Option<u64>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TerminalResult {
    pub exit_code: Option<i32>,
    pub stdout: Text,
    pub stderr: Text,
    pub formatted_output: Option<Text>,
    pub original_token_count: Option<u64>,
    pub chunk_id: Option<String>,
}

/// How the model saw an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelObservation {
    pub call_item_ids: Vec<ItemId>,
    pub output_item_ids: Vec<ItemId>,
    pub source: ObservationSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationSource {
    DirectToolCall,
}

/// A history that replaced another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compaction {
    pub compaction_id: CompactionId,
    pub thread_id: ThreadId,
    pub codex_turn_id: TurnId,
    pub installed_at_unix_ms: i64,
    pub marker_item_id: ItemId,
    pub request_ids: Vec<CompactionRequestId>,
    pub input_item_ids: Vec<ItemId>,
    pub replacement_item_ids: Vec<ItemId>,
}

/// One attempt at a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactionRequest {
    pub compaction_request_id: CompactionRequestId,
    pub compaction_id: CompactionId,
    pub thread_id: ThreadId,
    pub codex_turn_id: TurnId,
    pub execution: ExecutionWindow,
    pub model: String,
    pub provider_name: String,
    pub raw_request_payload_id: PayloadId,
    pub raw_response_payload_id: Option<PayloadId>,
    /// Why it failed. The state file has no place for it.
    #[serde(skip)]
    pub error: Option<String>,
}
