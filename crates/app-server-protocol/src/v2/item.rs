//! `ThreadItem`, the union of everything a turn can consist of, with the parts of its messages. The
//! parts of commands and file changes are in `item_command`, those of tool calls in `item_tool`.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged};
use codex_protocol::{
    FunctionCallOutputBody, HookPromptFragment, MemoryCitationEntry, MessagePhase, RawText,
    ReasoningEffort, mark_members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::v2::{
    CollabAgentState, CollabAgentTool, CollabAgentToolCallStatus, CommandAction,
    CommandExecutionSource, CommandExecutionStatus, DynamicToolCallOutputContentItem,
    DynamicToolCallStatus, FileUpdateChange, McpToolCallError, McpToolCallResult,
    McpToolCallStatus, PatchApplyStatus, SubAgentActivityKind, UserInput, WebSearchAction,
};

/// One thing that happened in a turn. Ids in rebuilt histories can differ from live ones.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum ThreadItem {
    /// Input of the user, as handed to the model.
    UserMessage {
        /// Id of the message.
        id: String,
        /// The `clientUserMessageId` that it came with; absent if it had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.140")]
        client_id: Option<String>,
        /// Parts of the input, in order.
        content: Vec<UserInput>,
    },
    /// Text that hooks sent back to the agent in place of letting the turn end.
    HookPrompt {
        /// Id of the message that carried the text.
        id: String,
        /// One text for each hook that asked the agent to go on.
        fragments: Vec<HookPromptFragment>,
    },
    /// A message that the agent wrote.
    AgentMessage {
        /// Id that its text deltas carry as `itemId`.
        id: String,
        /// Text up to now; whole once the item is completed.
        text: RawText,
        /// Whether this is commentary or the final answer; null if the model does not say.
        phase: Option<MessagePhase>,
        /// Memories the message draws on, cut out of the text; null without any.
        memory_citation: Option<MemoryCitation>,
    },
    /// A plan that the agent proposes in plan mode.
    Plan {
        /// Id that its text deltas carry as `itemId`.
        id: String,
        /// Text of the proposal; empty when it starts.
        text: String,
    },
    /// Thoughts of the model ahead of its answer.
    Reasoning {
        /// Id that its deltas carry as `itemId`.
        id: String,
        /// Summaries of the thoughts, one entry for each section; empty if the model gives none.
        #[serde(default)]
        summary: Vec<String>,
        /// The thoughts themselves, from models that disclose them; else empty.
        #[serde(default)]
        content: Vec<String>,
    },
    /// A command, run by the agent or by the user.
    CommandExecution {
        /// Id of the call, which approvals and output deltas carry as `itemId`.
        id: String,
        /// The whole command line, quoted for a shell.
        command: String,
        /// Directory that the command runs in.
        cwd: String,
        /// Terminal that the command runs in; null for a command without one.
        process_id: Option<String>,
        /// Who ran the command and how; the agent by default.
        #[serde(default)]
        source: CommandExecutionSource,
        /// Whether the command runs, ran or was refused.
        status: CommandExecutionStatus,
        /// What the command reads, lists or searches, as far as that can be told.
        command_actions: Vec<CommandAction>,
        /// Standard output and error together; null before the end and if empty.
        aggregated_output: Option<RawText>,
        /// Exit code of the command, -1 if refused; null before the end.
        exit_code: Option<i32>,
        /// How long the command ran, in milliseconds; null before the end.
        duration_ms: Option<i64>,
    },
    /// A patch to files.
    FileChange {
        /// Id of the call, which its approval and deltas carry as `itemId`.
        id: String,
        /// Changed files, sorted by path.
        changes: Vec<FileUpdateChange>,
        /// Whether the patch is waiting, done or refused.
        status: PatchApplyStatus,
    },
    /// A call of a tool of an MCP server.
    McpToolCall {
        /// Id of the call.
        id: String,
        /// Configured name of the MCP server.
        server: String,
        /// Name of the tool on that server.
        tool: String,
        /// Whether the call runs, or how it ended.
        status: McpToolCallStatus,
        /// Arguments that the model gave; null if it gave none.
        arguments: Value,
        /// Whether the server says that the tool changes nothing; absent if it does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.169")]
        read_only_hint: Option<bool>,
        /// Machine that the server belongs to; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        environment_id: Option<String>,
        /// What the tool returned, also when it reports a failure; null if no answer came.
        result: Option<McpToolCallResult>,
        /// Why no answer came; null otherwise.
        error: Option<McpToolCallError>,
        /// How long the call took, in milliseconds; null before the end.
        duration_ms: Option<i64>,
    },
    /// A call of a tool that a client provides.
    DynamicToolCall {
        /// Id of the call, as in `item/tool/call`.
        id: String,
        /// Namespace of the tool; absent if it is in none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.140")]
        namespace: Option<String>,
        /// Name of the tool, as registered at `thread/start`.
        tool: String,
        /// Arguments that the model gave.
        arguments: Value,
        /// Whether the call runs, or how it ended.
        status: DynamicToolCallStatus,
        /// What the client returned; null before the end.
        content_items: Option<Vec<DynamicToolCallOutputContentItem>>,
        /// Whether the client reported success; null before the end.
        success: Option<bool>,
        /// How long the call took, in milliseconds; null before the end.
        duration_ms: Option<i64>,
    },
    /// A call by which an agent directs other agents.
    CollabAgentToolCall {
        /// Id of the call.
        id: String,
        /// What the agent does with the others.
        tool: CollabAgentTool,
        /// Whether the call runs, or how it ended.
        status: CollabAgentToolCallStatus,
        /// Thread of the agent that makes the call.
        sender_thread_id: String,
        /// Threads of the agents it concerns; empty while a spawn has yet to make one.
        receiver_thread_ids: Vec<String>,
        /// Text sent along, with other parts as markers; null for calls that send none.
        prompt: Option<String>,
        /// Slug of the model of a spawned agent, empty until decided; null for other calls.
        model: Option<String>,
        /// Effort of a spawned agent; null for other calls.
        reasoning_effort: Option<ReasoningEffort>,
        /// Last known state of the agents concerned, by thread id.
        agents_states: BTreeMap<String, CollabAgentState>,
    },
    /// Something that happened with an agent that has a path.
    #[since("0.140")]
    SubAgentActivity {
        /// Id of the call that caused it, or one of its own.
        id: String,
        /// What happened.
        kind: SubAgentActivityKind,
        /// Thread of the agent.
        agent_thread_id: String,
        /// Path of the agent.
        agent_path: String,
        /// Slug of the model of an agent that was started; null for other kinds.
        #[serde(default)]
        #[since("0.169")]
        model: Option<String>,
        /// Effort of an agent that was started; null for other kinds.
        #[serde(default)]
        #[since("0.169")]
        reasoning_effort: Option<ReasoningEffort>,
    },
    /// A web search, carried out by the model provider.
    WebSearch {
        /// Id that the model gave the search.
        id: String,
        /// What was searched for; empty when the item starts.
        query: String,
        /// What exactly was done; `other` while it runs, null if the provider does not tell.
        action: Option<WebSearchAction>,
    },
    /// An image file that the agent looked at.
    ImageView {
        /// Id of the call.
        id: String,
        /// Absolute path of the image.
        path: String,
    },
    /// An image that the model provider generated.
    #[until("0.140")]
    ImageGeneration {
        /// Id that the model gave the image.
        id: String,
        /// State in the provider's own words.
        status: String,
        /// Prompt as the provider rewrote it; null if it did not.
        revised_prompt: Option<String>,
        /// The image, in base64.
        result: String,
        /// File that the image was saved to; absent if it was not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved_path: Option<String>,
    },
    /// A review began.
    EnteredReviewMode {
        /// Id of the review's turn, shared with the item that ends it.
        id: String,
        /// Short label of what is reviewed.
        review: String,
    },
    /// A review ended.
    ExitedReviewMode {
        /// Id of the review's turn, shared with the item that began it.
        id: String,
        /// The whole review as plain text, findings included.
        review: String,
    },
    /// What a tool of the client answered without having been called, as a turn began with it.
    #[since("0.169")]
    FunctionCallOutput {
        /// Id of the item.
        id: String,
        /// Name of the tool.
        name: String,
        /// Namespace of the tool; null if it is in none.
        #[serde(default)]
        namespace: Option<String>,
        /// The answer.
        output: FunctionCallOutputBody,
    },
    /// The history was replaced by a summary, on request or to save room.
    ContextCompaction {
        /// Id of the compaction.
        id: String,
        /// `failed` if the history was not replaced: the compaction failed, or was interrupted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("own")]
        status: Option<ContextCompactionStatus>,
    },
}

/// How a compaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextCompactionStatus {
    /// The history is as it was.
    Failed,
}

/// Memories that an agent message rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryCitation {
    /// Passages of memory files.
    pub entries: Vec<MemoryCitationEntry>,
    /// Earlier threads that the memories stem from.
    pub thread_ids: Vec<String>,
}
