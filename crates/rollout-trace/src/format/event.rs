//! The lines of the log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CellStatus, ExecutionStatus, PayloadRef, RolloutStatus, Schema};
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
#[expect(clippy::large_enum_variant, reason = "one event is at hand at a time")]
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
        /// Schema 3: the whole prompt, of items that were sent before and new ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prepared_prompt_payload: Option<PayloadRef>,
        /// Schema 3: what the connection was told before its first request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warmup_context_payload: Option<PayloadRef>,
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
        /// Schema 3: the item, if it is the output of a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_output_payload: Option<PayloadRef>,
    },
    /// Schema 3: a call of `wait` found its cell.
    CodeCellWaitTargetResolved {
        tool_call_id: ToolCallId,
        runtime_cell_id: RuntimeCellId,
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

/// The payloads of an event, by reference: up to three that it names, and a list.
macro_rules! event_payloads {
    ($event:expr, $by:ident) => {
        match $event {
            Event::ThreadStarted {
                metadata_payload: payload,
                ..
            }
            | Event::InferenceFailed {
                partial_response_payload: payload,
                ..
            }
            | Event::InferenceCancelled {
                partial_response_payload: payload,
                ..
            }
            | Event::ToolCallStarted {
                invocation_payload: payload,
                ..
            }
            | Event::ToolCallEnded {
                result_payload: payload,
                ..
            }
            | Event::CodeCellInitialResponse {
                response_payload: payload,
                ..
            }
            | Event::CodeCellEnded {
                response_payload: payload,
                ..
            }
            | Event::AgentResultObserved {
                carried_payload: payload,
                ..
            } => ([payload.$by(), None, None], Default::default()),
            Event::HistoryItemAccepted {
                agent_message_payload,
                tool_output_payload,
                ..
            } => (
                [agent_message_payload.$by(), tool_output_payload.$by(), None],
                Default::default(),
            ),
            Event::InferenceStarted {
                request_payload,
                prepared_prompt_payload,
                warmup_context_payload,
                ..
            } => (
                [
                    Some(request_payload),
                    prepared_prompt_payload.$by(),
                    warmup_context_payload.$by(),
                ],
                Default::default(),
            ),
            Event::InferenceCompleted {
                response_payload: payload,
                ..
            }
            | Event::ToolCallRuntimeStarted {
                runtime_payload: payload,
                ..
            }
            | Event::ToolCallRuntimeEnded {
                runtime_payload: payload,
                ..
            }
            | Event::CompactionRequestStarted {
                request_payload: payload,
                ..
            }
            | Event::CompactionRequestCompleted {
                response_payload: payload,
                ..
            }
            | Event::CompactionInstalled {
                checkpoint_payload: payload,
                ..
            }
            | Event::ProtocolEventObserved {
                event_payload: payload,
                ..
            } => ([Some(payload), None, None], Default::default()),
            Event::Other { payloads, .. } => ([None, None, None], payloads),
            Event::RolloutStarted { .. }
            | Event::RolloutEnded { .. }
            | Event::ThreadEnded { .. }
            | Event::CodexTurnStarted { .. }
            | Event::CodexTurnEnded { .. }
            | Event::McpToolCallCorrelationAssigned { .. }
            | Event::CodeCellStarted { .. }
            | Event::CodeCellWaitTargetResolved { .. }
            | Event::CompactionRequestFailed { .. }
            | Event::StdinTargetResolved { .. }
            | Event::ThreadResumed { .. }
            | Event::RecordingCompleted => ([None, None, None], Default::default()),
        }
    };
}

impl Event {
    /// Every payload that the event refers to, parts before what they are part of.
    pub fn payloads(&self) -> impl Iterator<Item = &PayloadRef> {
        let mut all = Vec::new();
        for payload in self.direct_payloads() {
            payload.visit(&mut |payload| all.push(payload));
        }
        all.into_iter()
    }

    /// The payloads that the event names itself.
    pub fn direct_payloads(&self) -> impl Iterator<Item = &PayloadRef> {
        let (some, many): ([Option<&PayloadRef>; 3], &[PayloadRef]) = event_payloads!(self, as_ref);
        some.into_iter().flatten().chain(many)
    }

    /// The same, to be changed.
    pub(crate) fn direct_payloads_mut(&mut self) -> impl Iterator<Item = &mut PayloadRef> {
        let (some, many): ([Option<&mut PayloadRef>; 3], &mut [PayloadRef]) =
            event_payloads!(self, as_mut);
        some.into_iter().flatten().chain(many)
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
            | Self::RecordingCompleted => schema.has_ids(),
            Self::CodeCellWaitTargetResolved { .. } => schema == Schema::Three,
            Self::InferenceStarted {
                prepared_prompt_payload,
                ..
            } if schema == Schema::Three => prepared_prompt_payload.is_some(),
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
