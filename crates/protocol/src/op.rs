//! The operations that the engine carries out.
//!
//! Two of them are the older way of doing things and still read: `configure_session`, which told a
//! session its settings after the fact, and `user_input`, which starts a turn with the settings in
//! force.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Tagged, sparse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::ReviewDecision;
use crate::configure_session::ConfigureSession;
use crate::event::{DynamicToolContentItem, RealtimeAudioFrame};
use crate::policy::{
    ApprovalsReviewer, AskForApproval, PermissionGrantScope, RequestPermissionProfile,
    SandboxPolicy, WindowsSandboxLevel,
};
use crate::review::ReviewRequest;
use crate::session::RequestId;
use crate::settings::{
    CollaborationMode, Personality, ReasoningEffort, ReasoningSummary, ServiceTier,
};
use crate::tokens::TokenUsageInfo;
use crate::update::Update;
use crate::user_input::UserInput;

/// A submission.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Op {
    // Turns.
    /// Set up the session, as older clients do.
    ConfigureSession(Box<ConfigureSession>),
    /// Start a turn with the settings in force, or add to the one that is running.
    UserInput(UserInputOp),
    /// Store settings, then start a turn or add to the one that is running.
    UserTurn(Box<UserTurn>),
    /// Store settings for later turns.
    OverrideTurnContext(Box<OverrideTurnContext>),
    /// Abort the turn that is running.
    Interrupt,
    /// Run a command of the user, outside the sandbox.
    RunUserShellCommand {
        /// The command, for the user's shell.
        command: String,
        /// After how many milliseconds it is ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// Compact the history.
    Compact,
    /// Review code.
    Review {
        /// Which, and what to call it.
        review_request: ReviewRequest,
    },
    /// Put the files back as they were before the last turn.
    Undo,
    /// Take turns back. Files stay as they are.
    ThreadRollback {
        /// How many, from the end.
        num_turns: u32,
        /// The first of them. If it is absent, the last messages of the user are counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_turn_id: Option<String>,
        /// What was used up to there; absent if it is to be estimated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_usage: Option<Box<TokenUsageInfo>>,
    },

    // Answers.
    /// Answers whether a command may run.
    ExecApproval {
        /// The approval, or else the call.
        id: String,
        /// The turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
        /// The answer.
        decision: ReviewDecision,
    },
    /// Answers whether a patch may be applied.
    PatchApproval {
        /// The call.
        id: String,
        /// The answer.
        decision: ReviewDecision,
    },
    /// Answers the question of an MCP server.
    ResolveElicitation(ResolveElicitation),
    /// Answers a question of the model.
    #[serde(alias = "request_user_input_response")]
    UserInputAnswer {
        /// The turn that asks.
        id: String,
        /// The answers.
        response: RequestUserInputResponse,
    },
    /// Answers which permissions the model may have.
    RequestPermissionsResponse {
        /// The call.
        id: String,
        /// The permissions.
        response: RequestPermissionsResponse,
    },
    /// The result of a tool call that the client carried out.
    DynamicToolResponse {
        /// The call.
        id: String,
        /// The result.
        response: DynamicToolResponse,
    },

    // Thread and session.
    /// Give the thread a name.
    SetThreadName {
        /// The name.
        name: String,
    },
    /// Kill all terminals that run in the background.
    CleanBackgroundTerminals,
    /// Read the user's configuration again.
    ReloadUserConfig,
    /// Start the MCP servers anew at the next turn.
    RefreshMcpServers {
        /// Which, and how to log in to them.
        config: McpServerRefreshConfig,
    },
    /// Forget the memories.
    DropMemories,
    /// Bring the memories up to date.
    UpdateMemories,
    /// End the session.
    Shutdown,

    // Questions.
    /// Add to the message history.
    AddToHistory {
        /// What the user typed.
        text: String,
    },
    /// Read an entry of the message history.
    GetHistoryEntryRequest {
        /// Which, counted from the oldest.
        offset: usize,
        /// The id of the file.
        log_id: u64,
    },
    /// List what the MCP servers offer.
    ListMcpTools,
    /// List the custom prompts.
    ListCustomPrompts,
    /// List the skills.
    ListSkills {
        /// In which folders; none for the working directory.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cwds: Vec<String>,
        /// Whether to look again at what is known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force_reload: bool,
    },
    /// List the models.
    ListModels,

    // Realtime.
    /// Start a realtime conversation.
    RealtimeConversationStart {
        /// Instructions for it.
        prompt: String,
        /// The id to know it by; the thread's where it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
    },
    /// Say something in a realtime conversation.
    RealtimeConversationAudio {
        /// A chunk of audio.
        frame: RealtimeAudioFrame,
    },
    /// Write something in a realtime conversation.
    RealtimeConversationText {
        /// What.
        text: String,
    },
    /// End a realtime conversation.
    RealtimeConversationClose,

    /// An operation of a type that is not known.
    #[tagged(unknown)]
    #[serde(untagged)]
    Unknown(Value),
}

/// Input for a turn with the settings in force.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserInputOp {
    /// What the user says.
    pub items: Vec<UserInput>,
    /// The JSON Schema that the answer should follow.
    pub final_output_json_schema: Option<Value>,
    /// The response to continue from, instead of the last one.
    pub last_response_id: Option<String>,
    /// What the client calls the message; told with it.
    pub client_id: Option<String>,
    /// The class of service of this turn only; that of the thread where it is absent.
    pub service_tier: Option<ServiceTier>,
    /// The turn whose work it is part of, if it is not a work of its own.
    pub root_turn_id: Option<String>,
}

/// Input for a turn, with settings for it and later ones.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserTurn {
    /// What the user says.
    pub items: Vec<UserInput>,
    /// The working directory.
    pub cwd: String,
    /// The approval policy.
    pub approval_policy: AskForApproval,
    /// Who answers approval requests.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// The sandbox policy.
    pub sandbox_policy: SandboxPolicy,
    /// The model.
    pub model: String,
    /// The reasoning effort.
    pub effort: Option<ReasoningEffort>,
    /// Which summary of its reasoning the model should give.
    pub summary: Option<ReasoningSummary>,
    /// The class of service.
    #[serde(default)]
    pub service_tier: Update<ServiceTier>,
    /// The JSON Schema that the answer should follow, in this turn only.
    #[serde(default, skip_serializing_if = "never")]
    pub final_output_json_schema: Option<Value>,
    /// How model and person work together; the default way where it is absent.
    pub collaboration_mode: Option<CollaborationMode>,
    /// The style in which the model writes.
    pub personality: Option<Personality>,
    /// The response to continue from, instead of the last one.
    pub last_response_id: Option<String>,
}

/// Settings for later turns; what is absent stays as it is.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverrideTurnContext {
    /// The working directory.
    pub cwd: Option<String>,
    /// The approval policy.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approval requests.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// The sandbox policy.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// How strongly commands are confined on Windows.
    pub windows_sandbox_level: Option<WindowsSandboxLevel>,
    /// The model.
    pub model: Option<String>,
    /// The reasoning effort.
    #[serde(default)]
    pub effort: Update<ReasoningEffort>,
    /// Which summary of its reasoning the model should give.
    pub summary: Option<ReasoningSummary>,
    /// The class of service.
    #[serde(default)]
    pub service_tier: Update<ServiceTier>,
    /// How model and person work together. It wins over model and effort.
    pub collaboration_mode: Option<CollaborationMode>,
    /// The style in which the model writes.
    pub personality: Option<Personality>,
}

/// The answer to a question of an MCP server.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolveElicitation {
    /// The server.
    pub server_name: String,
    /// The server's request.
    pub request_id: RequestId,
    /// What the user did.
    pub decision: ElicitationAction,
    /// What the user filled in.
    pub content: Option<Value>,
    /// What the client adds.
    pub meta: Option<Value>,
}

/// What a user did with the question of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElicitationAction {
    /// Answered it.
    Accept,
    /// Declined to answer.
    Decline,
    /// Closed it.
    Cancel,
}

/// Answers to questions of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputResponse {
    /// The answers, by the id of the question.
    pub answers: BTreeMap<String, RequestUserInputAnswer>,
}

/// The answer to a question of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInputAnswer {
    /// What was chosen and written.
    pub answers: Vec<String>,
}

/// Permissions that are granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPermissionsResponse {
    /// Which.
    pub permissions: RequestPermissionProfile,
    /// For how long.
    #[serde(default)]
    pub scope: PermissionGrantScope,
}

/// The result of a tool call that the client carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolResponse {
    /// What the tool answered.
    pub content_items: Vec<DynamicToolContentItem>,
    /// Whether it succeeded.
    pub success: bool,
}

/// MCP servers to start anew. What it holds is for the configuration to read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpServerRefreshConfig {
    /// The servers.
    pub mcp_servers: Value,
    /// Where logins are stored.
    pub mcp_oauth_credentials_store_mode: Value,
}

/// For the one field of a sparse operation that is written also when it is null.
fn never<T>(_: &Option<T>) -> bool {
    false
}
