//! The formats of payload files that are not types of the engine.

use std::time::Duration;

use codex_core::StartingThread;
use codex_model_client::Prompt;
use codex_protocol::{
    AgentMessagePart, AgentStatus, AskForApproval, CommandConnections, ContentItem,
    ExecCommandBeginEvent, ExecCommandEndEvent, ExecCommandSource, ExecCommandStatus,
    FunctionCallOutputBody, ParsedCommand, RawText, ResponseItem, SessionSource, SubAgentSource,
    TokenUsage,
};
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize)]
pub(crate) struct SessionMetadata {
    pub(crate) thread_id: String,
    pub(crate) agent_path: String,
    task_name: Option<String>,
    nickname: Option<String>,
    agent_role: Option<String>,
    session_source: SessionSource,
    cwd: String,
    rollout_path: Option<String>,
    model: String,
    provider_name: String,
    approval_policy: AskForApproval,
    sandbox_policy: String,
}

const ROOT: &str = "/root";

impl SessionMetadata {
    pub(crate) fn for_thread(thread: &StartingThread<'_>) -> Self {
        let config = thread.config;
        let (path, nickname, agent_role) = match &config.identity.source {
            SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
                agent_path,
                agent_nickname,
                agent_role,
                ..
            }) => (
                agent_path.as_ref().map(|path| path.0.clone()),
                agent_nickname.clone(),
                agent_role.clone(),
            ),
            _ => (None, None, None),
        };
        let agent_path = path.unwrap_or_else(|| ROOT.to_owned());
        let own_name = agent_path.rsplit('/').next().filter(|_| agent_path != ROOT);
        Self {
            thread_id: thread.thread.to_string(),
            task_name: own_name.map(str::to_owned),
            agent_path,
            nickname,
            agent_role,
            session_source: config.identity.source.clone(),
            cwd: config.options.settings.cwd.display().to_string(),
            rollout_path: thread.rollout_path.map(|path| path.display().to_string()),
            model: config.options.settings.model.clone(),
            provider_name: config.options.settings.provider.clone(),
            approval_policy: config.options.settings.approval_policy,
            sandbox_policy: format!("{:?}", config.options.settings.sandbox_policy),
        }
    }
}

/// `inference_response`, complete or partial.
#[derive(Debug, Serialize)]
pub(crate) struct InferenceResponse {
    pub(crate) response_id: Option<String>,
    pub(crate) upstream_request_id: Option<String>,
    pub(crate) token_usage: Option<TokenUsage>,
    /// Why the server cut the answer, in its word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut: Option<String>,
    pub(crate) output_items: Vec<ResponseItem>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CompactionResponse {
    pub(crate) output_items: Vec<ResponseItem>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CompactionCheckpoint {
    pub(crate) input_history: Prompt,
    pub(crate) replacement_history: Vec<ResponseItem>,
}

/// `agent_result`: the result of a turn of an agent.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedResult {
    pub(crate) child_agent_path: String,
    pub(crate) message: String,
    pub(crate) status: AgentStatus,
}

/// `tool_invocation`: the call as the model sent it.
#[derive(Debug, Serialize)]
pub(crate) struct ToolInvocation {
    pub(crate) tool_name: String,
    pub(crate) tool_namespace: Option<String>,
    pub(crate) payload: ToolInput,
}

/// The arguments of a tool call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToolInput {
    Function {
        arguments: String,
    },
    Custom {
        input: String,
    },
    ToolSearch {
        arguments: Value,
    },
    LocalShell {
        command: Vec<String>,
        workdir: Option<String>,
        timeout_ms: Option<u64>,
    },
}

/// `tool_result` of a call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToolResult {
    DirectResponse { response_item: ResponseItem },
    CodeModeResponse { value: Value },
    Error { error: String },
}

/// The start of a command, in the form of the event that has a time.
#[derive(Debug, Serialize)]
pub(crate) struct CommandBegan {
    call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    process_id: Option<String>,
    turn_id: String,
    started_at_ms: i64,
    command: Vec<String>,
    cwd: String,
    parsed_cmd: Vec<ParsedCommand>,
    source: ExecCommandSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    interaction_input: Option<String>,
    /// The other machine that it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
}

impl CommandBegan {
    pub(crate) fn from_event(event: &ExecCommandBeginEvent, started_at_ms: i64) -> Self {
        let event = event.clone();
        Self {
            call_id: event.call_id,
            process_id: event.process_id,
            turn_id: event.turn_id,
            started_at_ms,
            command: event.command,
            cwd: event.cwd,
            parsed_cmd: event.parsed_cmd,
            source: event.source,
            interaction_input: event.interaction_input,
            environment: event.environment,
        }
    }
}

/// The end of a command, in the form of the event that has a time.
#[derive(Debug, Serialize)]
pub(crate) struct CommandEnded {
    call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    process_id: Option<String>,
    turn_id: String,
    completed_at_ms: i64,
    command: Vec<String>,
    cwd: String,
    parsed_cmd: Vec<ParsedCommand>,
    source: ExecCommandSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    interaction_input: Option<String>,
    stdout: String,
    stderr: String,
    aggregated_output: RawText,
    exit_code: i32,
    duration: Duration,
    formatted_output: String,
    status: ExecCommandStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    network: Vec<CommandConnections>,
}

impl CommandEnded {
    pub(crate) fn from_event(event: &ExecCommandEndEvent, completed_at_ms: i64) -> Self {
        let event = event.clone();
        Self {
            call_id: event.call_id,
            process_id: event.process_id,
            turn_id: event.turn_id,
            completed_at_ms,
            command: event.command,
            cwd: event.cwd,
            parsed_cmd: event.parsed_cmd,
            source: event.source,
            interaction_input: event.interaction_input,
            stdout: event.stdout,
            stderr: event.stderr,
            aggregated_output: event.aggregated_output,
            exit_code: event.exit_code,
            duration: event.duration,
            formatted_output: event.formatted_output,
            status: event.status,
            network: event.network,
        }
    }
}

/// The approximate memory size of an item.
pub(crate) fn weight_of(item: &ResponseItem) -> usize {
    /// The size without the text.
    const FRAME: usize = 256;
    /// Several parts, some of which are images.
    const PARTS: usize = 1 << 20;
    let text = match item {
        ResponseItem::Message { content, .. } => content.iter().map(length_of).sum(),
        ResponseItem::Reasoning {
            encrypted_content, ..
        } => encrypted_content.as_ref().map_or(0, String::len),
        ResponseItem::AgentMessage { content, .. } => content.iter().map(length_of_part).sum(),
        ResponseItem::FunctionCall { arguments, .. } => arguments.len(),
        ResponseItem::CustomToolCall { input, .. } => input.len(),
        ResponseItem::ImageGenerationCall { result, .. } => result.len(),
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => match output {
            FunctionCallOutputBody::Text(text) => text.size(),
            FunctionCallOutputBody::Content(_) => PARTS,
        },
        _ => 0,
    };
    FRAME + text
}

fn length_of_part(part: &AgentMessagePart) -> usize {
    let (AgentMessagePart::InputText { text }
    | AgentMessagePart::EncryptedContent {
        encrypted_content: text,
    }) = part;
    text.len()
}

fn length_of(part: &ContentItem) -> usize {
    let (ContentItem::InputText { text }
    | ContentItem::OutputText { text }
    | ContentItem::InputImage {
        image_url: text, ..
    }) = part;
    text.len()
}
