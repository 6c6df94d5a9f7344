//! The lines of the log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CellStatus, Checksum, ExecutionStatus, PayloadRef, RolloutStatus, Schema};
use crate::ids::{
    CallId, CompactionId, CompactionRequestId, EdgeId, InferenceId, McpCallId, OperationId,
    ResponseId, ResponseItemId, RolloutId, RuntimeCellId, RuntimeToolId, ThreadId, ToolCallId,
    TraceId, TurnId,
};

/// One line of `trace.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    pub schema_version: u32,
    /// 1, 2, 3 ... in the order of writing; a gap is an event that was lost.
    pub seq: u64,
    pub wall_time_unix_ms: i64,
    pub rollout_id: RolloutId,
    pub thread_id: Option<ThreadId>,
    pub codex_turn_id: Option<TurnId>,
    pub payload: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    RolloutStarted {
        trace_id: TraceId,
        root_thread_id: ThreadId,
    },
    RolloutEnded {
        status: RolloutStatus,
    },
    ThreadStarted {
        thread_id: ThreadId,
        agent_path: String,
        metadata_payload: Option<PayloadRef>,
    },
    ThreadEnded {
        thread_id: ThreadId,
        status: RolloutStatus,
    },
    CodexTurnStarted {
        codex_turn_id: TurnId,
        thread_id: ThreadId,
    },
    CodexTurnEnded {
        codex_turn_id: TurnId,
        status: ExecutionStatus,
    },
    InferenceStarted {
        inference_call_id: InferenceId,
        thread_id: ThreadId,
        codex_turn_id: TurnId,
        model: String,
        provider_name: String,
        request_payload: PayloadRef,
    },
    InferenceCompleted {
        inference_call_id: InferenceId,
        response_id: Option<ResponseId>,
        upstream_request_id: Option<String>,
        response_payload: PayloadRef,
    },
    InferenceFailed {
        inference_call_id: InferenceId,
        upstream_request_id: Option<String>,
        error: String,
        partial_response_payload: Option<PayloadRef>,
    },
    InferenceCancelled {
        inference_call_id: InferenceId,
        upstream_request_id: Option<String>,
        reason: String,
        partial_response_payload: Option<PayloadRef>,
    },
    ToolCallStarted {
        tool_call_id: ToolCallId,
        model_visible_call_id: Option<CallId>,
        code_mode_runtime_tool_id: Option<RuntimeToolId>,
        requester: Requester,
        kind: ToolKind,
        summary: Summary,
        invocation_payload: Option<PayloadRef>,
    },
    McpToolCallCorrelationAssigned {
        tool_call_id: ToolCallId,
        mcp_call_id: McpCallId,
    },
    ToolCallRuntimeStarted {
        tool_call_id: ToolCallId,
        /// What the call turned out to be; schema 2 only, and required there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ToolKind>,
        runtime_payload: PayloadRef,
    },
    ToolCallRuntimeEnded {
        tool_call_id: ToolCallId,
        status: ExecutionStatus,
        runtime_payload: PayloadRef,
    },
    ToolCallEnded {
        tool_call_id: ToolCallId,
        status: ExecutionStatus,
        result_payload: Option<PayloadRef>,
    },
    CodeCellStarted {
        runtime_cell_id: RuntimeCellId,
        model_visible_call_id: CallId,
        source_js: String,
    },
    CodeCellInitialResponse {
        runtime_cell_id: RuntimeCellId,
        status: CellStatus,
        response_payload: Option<PayloadRef>,
    },
    CodeCellEnded {
        runtime_cell_id: RuntimeCellId,
        status: CellStatus,
        response_payload: Option<PayloadRef>,
    },
    CompactionRequestStarted {
        compaction_id: CompactionId,
        compaction_request_id: CompactionRequestId,
        thread_id: ThreadId,
        codex_turn_id: TurnId,
        model: String,
        provider_name: String,
        request_payload: PayloadRef,
    },
    CompactionRequestCompleted {
        compaction_id: CompactionId,
        compaction_request_id: CompactionRequestId,
        response_payload: PayloadRef,
    },
    CompactionRequestFailed {
        compaction_id: CompactionId,
        compaction_request_id: CompactionRequestId,
        error: String,
    },
    CompactionInstalled {
        compaction_id: CompactionId,
        checkpoint_payload: PayloadRef,
    },
    AgentResultObserved {
        edge_id: EdgeId,
        child_thread_id: ThreadId,
        child_codex_turn_id: TurnId,
        parent_thread_id: ThreadId,
        message: String,
        carried_payload: Option<PayloadRef>,
    },
    ProtocolEventObserved {
        event_type: String,
        event_payload: PayloadRef,
    },
    /// Schema 2: the item with this id is part of the thread's history now.
    HistoryItemAccepted {
        item_id: ResponseItemId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_message_payload: Option<PayloadRef>,
    },
    /// Schema 2: a call of `write_stdin` found the process that the other call started.
    StdinTargetResolved {
        tool_call_id: ToolCallId,
        exec_tool_call_id: ToolCallId,
    },
    /// Schema 2: an agent that had ended was loaded again.
    ThreadResumed {
        thread_id: ThreadId,
    },
    /// Schema 2: the last line of a log that is whole.
    RecordingCompleted,
    /// In the format, but no reducer takes it.
    Other {
        kind: String,
        summary: String,
        payloads: Vec<PayloadRef>,
        metadata: Value,
    },
}

/// The requester of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Requester {
    Model,
    CodeCell { runtime_cell_id: RuntimeCellId },
}

/// What sort of tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolKind {
    ExecCommand,
    WriteStdin,
    ApplyPatch,
    Mcp { server: String, tool: String },
    Web,
    ImageGeneration,
    SpawnAgent,
    AssignAgentTask,
    SendMessage,
    WaitAgent,
    CloseAgent,
    Other { name: String },
}

impl ToolKind {
    /// The kind of a tool by its bare name.
    pub fn of_tool(name: &str) -> Self {
        match name {
            "exec_command" | "local_shell" | "shell" | "shell_command" => Self::ExecCommand,
            "write_stdin" => Self::WriteStdin,
            "apply_patch" => Self::ApplyPatch,
            "web_search" | "web_search_preview" => Self::Web,
            "image_generation" | "image_query" => Self::ImageGeneration,
            "spawn_agent" => Self::SpawnAgent,
            "send_message" => Self::SendMessage,
            "followup_task" | "assign_task" => Self::AssignAgentTask,
            "wait_agent" => Self::WaitAgent,
            "close_agent" | "interrupt_agent" => Self::CloseAgent,
            _ => Self::Other { name: name.into() },
        }
    }
}

/// A tool call in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Summary {
    Terminal {
        operation_id: String,
    },
    Generic {
        label: String,
        input_preview: Option<String>,
        output_preview: Option<String>,
    },
    Agent {
        target_agent_path: String,
        task_name: Option<String>,
        message_preview: String,
    },
    WaitAgent {
        target_agent_path: Option<String>,
        timeout_ms: Option<i64>,
    },
}

/// An input preview holds this many characters.
const PREVIEW_CHARS: usize = 160;

impl Summary {
    /// The summary of a call that has just been made.
    pub fn of_call(namespace: Option<&str>, name: &str, input: &str) -> Self {
        let label = match namespace {
            Some(namespace) => format!("{namespace}.{name}"),
            None => name.to_owned(),
        };
        let input_preview = match input.char_indices().nth(PREVIEW_CHARS) {
            Some((end, _)) => format!("{}...", &input[..end]),
            None => input.to_owned(),
        };
        Self::Generic {
            label,
            input_preview: Some(input_preview),
            output_preview: None,
        }
    }

    pub(crate) fn terminal(operation: OperationId) -> Self {
        Self::Terminal {
            operation_id: operation.to_string(),
        }
    }
}

impl Event {
    /// Every payload that the event refers to.
    pub fn payloads(&self) -> impl Iterator<Item = &PayloadRef> {
        let (one, many): (Option<&PayloadRef>, &[PayloadRef]) = match self {
            Self::ThreadStarted {
                metadata_payload: payload,
                ..
            }
            | Self::InferenceFailed {
                partial_response_payload: payload,
                ..
            }
            | Self::InferenceCancelled {
                partial_response_payload: payload,
                ..
            }
            | Self::ToolCallStarted {
                invocation_payload: payload,
                ..
            }
            | Self::ToolCallEnded {
                result_payload: payload,
                ..
            }
            | Self::CodeCellInitialResponse {
                response_payload: payload,
                ..
            }
            | Self::CodeCellEnded {
                response_payload: payload,
                ..
            }
            | Self::AgentResultObserved {
                carried_payload: payload,
                ..
            }
            | Self::HistoryItemAccepted {
                agent_message_payload: payload,
                ..
            } => (payload.as_ref(), &[]),
            Self::InferenceStarted {
                request_payload: payload,
                ..
            }
            | Self::InferenceCompleted {
                response_payload: payload,
                ..
            }
            | Self::ToolCallRuntimeStarted {
                runtime_payload: payload,
                ..
            }
            | Self::ToolCallRuntimeEnded {
                runtime_payload: payload,
                ..
            }
            | Self::CompactionRequestStarted {
                request_payload: payload,
                ..
            }
            | Self::CompactionRequestCompleted {
                response_payload: payload,
                ..
            }
            | Self::CompactionInstalled {
                checkpoint_payload: payload,
                ..
            }
            | Self::ProtocolEventObserved {
                event_payload: payload,
                ..
            } => (Some(payload), &[]),
            Self::Other { payloads, .. } => (None, payloads),
            Self::RolloutStarted { .. }
            | Self::RolloutEnded { .. }
            | Self::ThreadEnded { .. }
            | Self::CodexTurnStarted { .. }
            | Self::CodexTurnEnded { .. }
            | Self::McpToolCallCorrelationAssigned { .. }
            | Self::CodeCellStarted { .. }
            | Self::CompactionRequestFailed { .. }
            | Self::StdinTargetResolved { .. }
            | Self::ThreadResumed { .. }
            | Self::RecordingCompleted => (None, &[]),
        };
        one.into_iter().chain(many)
    }

    /// The same, to be changed.
    fn payloads_mut(&mut self) -> impl Iterator<Item = &mut PayloadRef> {
        let (one, many): (Option<&mut PayloadRef>, &mut [PayloadRef]) = match self {
            Self::ThreadStarted {
                metadata_payload: payload,
                ..
            }
            | Self::InferenceFailed {
                partial_response_payload: payload,
                ..
            }
            | Self::InferenceCancelled {
                partial_response_payload: payload,
                ..
            }
            | Self::ToolCallStarted {
                invocation_payload: payload,
                ..
            }
            | Self::ToolCallEnded {
                result_payload: payload,
                ..
            }
            | Self::CodeCellInitialResponse {
                response_payload: payload,
                ..
            }
            | Self::CodeCellEnded {
                response_payload: payload,
                ..
            }
            | Self::AgentResultObserved {
                carried_payload: payload,
                ..
            }
            | Self::HistoryItemAccepted {
                agent_message_payload: payload,
                ..
            } => (payload.as_mut(), &mut []),
            Self::InferenceStarted {
                request_payload: payload,
                ..
            }
            | Self::InferenceCompleted {
                response_payload: payload,
                ..
            }
            | Self::ToolCallRuntimeStarted {
                runtime_payload: payload,
                ..
            }
            | Self::ToolCallRuntimeEnded {
                runtime_payload: payload,
                ..
            }
            | Self::CompactionRequestStarted {
                request_payload: payload,
                ..
            }
            | Self::CompactionRequestCompleted {
                response_payload: payload,
                ..
            }
            | Self::CompactionInstalled {
                checkpoint_payload: payload,
                ..
            }
            | Self::ProtocolEventObserved {
                event_payload: payload,
                ..
            } => (Some(payload), &mut []),
            Self::Other { payloads, .. } => (None, payloads),
            Self::RolloutStarted { .. }
            | Self::RolloutEnded { .. }
            | Self::ThreadEnded { .. }
            | Self::CodexTurnStarted { .. }
            | Self::CodexTurnEnded { .. }
            | Self::McpToolCallCorrelationAssigned { .. }
            | Self::CodeCellStarted { .. }
            | Self::CompactionRequestFailed { .. }
            | Self::StdinTargetResolved { .. }
            | Self::ThreadResumed { .. }
            | Self::RecordingCompleted => (None, &mut []),
        };
        one.into_iter().chain(many)
    }

    /// Notes the checksum of the payload in a file.
    pub(crate) fn set_checksum(&mut self, path: &str, checksum: Checksum) {
        let is_in_it = |payload: &&mut PayloadRef| payload.path == path;
        for payload in self.payloads_mut().filter(is_in_it) {
            payload.xxh3 = Some(checksum);
        }
    }

    /// The event without a payload that could not be written; none when it means nothing without it.
    pub(crate) fn without_payload(mut self) -> Option<Self> {
        match &mut self {
            Self::ThreadStarted {
                metadata_payload: payload,
                ..
            }
            | Self::InferenceFailed {
                partial_response_payload: payload,
                ..
            }
            | Self::InferenceCancelled {
                partial_response_payload: payload,
                ..
            }
            | Self::ToolCallStarted {
                invocation_payload: payload,
                ..
            }
            | Self::ToolCallEnded {
                result_payload: payload,
                ..
            }
            | Self::CodeCellInitialResponse {
                response_payload: payload,
                ..
            }
            | Self::CodeCellEnded {
                response_payload: payload,
                ..
            }
            | Self::AgentResultObserved {
                carried_payload: payload,
                ..
            } => *payload = None,
            _ => return None,
        }
        Some(self)
    }

    /// Whether events of a schema are like this one.
    pub(crate) fn belongs_to(&self, schema: Schema) -> bool {
        match self {
            Self::HistoryItemAccepted { .. }
            | Self::StdinTargetResolved { .. }
            | Self::ThreadResumed { .. }
            | Self::RecordingCompleted => schema == Schema::Two,
            Self::ToolCallRuntimeStarted { kind, .. } => schema == Schema::One || kind.is_some(),
            _ => true,
        }
    }

    /// Whether the line names the recording thread and turn; the others name their own.
    pub(crate) fn has_context(&self) -> bool {
        !matches!(
            self,
            Self::RolloutStarted { .. }
                | Self::RolloutEnded { .. }
                | Self::ThreadStarted { .. }
                | Self::ThreadEnded { .. }
                | Self::ProtocolEventObserved { .. }
                | Self::McpToolCallCorrelationAssigned { .. }
                | Self::ThreadResumed { .. }
                | Self::RecordingCompleted
        )
    }
}
