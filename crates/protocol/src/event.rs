//! What the engine tells: the event queue.
//!
//! An event carries the id of the submission that caused it, which is also the id of the turn that
//! the submission started. What happened is told by [`EventMsg`], whose families have a file each. An
//! event of a type that is not known is kept whole and written back as it was.

mod approval;
mod collab;
mod exec;
mod hook;
mod mcp;
mod message;
mod patch;
mod realtime;
mod session;
mod tool;
mod turn;

use codex_app_server_protocol_macros::Tagged;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::UpdatePlan;
use crate::review::ReviewRequest;

pub use approval::*;
pub use collab::*;
pub use exec::*;
pub use hook::*;
pub use mcp::*;
pub use message::*;
pub use patch::*;
pub use realtime::*;
pub use session::*;
pub use tool::*;
pub use turn::*;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The submission that caused it; empty for what happens at the start of a session.
    pub id: String,
    /// What happened.
    pub msg: EventMsg,
}

/// What happened.
///
/// `TurnStarted` and `TurnComplete` are written under their older names, `task_started` and
/// `task_complete`, and read under both.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventMsg {
    // Session.
    /// The session is there; always the first event.
    SessionConfigured(Box<SessionConfiguredEvent>),
    /// The thread has another name.
    ThreadNameUpdated(ThreadNameUpdatedEvent),
    /// The session is over; always the last event.
    ShutdownComplete,
    /// An entry of the message history that was asked for.
    GetHistoryEntryResponse(GetHistoryEntryResponseEvent),
    /// The custom prompts that were asked for.
    ListCustomPromptsResponse(ListCustomPromptsResponseEvent),
    /// The skills that were asked for.
    ListSkillsResponse(ListSkillsResponseEvent),
    /// The skills have changed; ask again.
    SkillsUpdateAvailable,
    /// Something in the configuration will go away.
    DeprecationNotice(DeprecationNoticeEvent),
    /// Something happened in the background.
    BackgroundEvent(BackgroundEventEvent),

    // Turn.
    /// A turn started.
    #[serde(rename = "task_started", alias = "turn_started")]
    TurnStarted(TurnStartedEvent),
    /// A turn ended without being aborted.
    #[serde(rename = "task_complete", alias = "turn_complete")]
    TurnComplete(TurnCompleteEvent),
    /// A turn was aborted.
    TurnAborted(TurnAbortedEvent),
    /// Something failed; a turn that was running ends.
    Error(ErrorEvent),
    /// Something that people should know; nothing ends.
    Warning(WarningEvent),
    /// A request to the model failed and is about to be repeated.
    StreamError(StreamErrorEvent),
    /// The server used another model than the one asked for.
    ModelReroute(ModelRerouteEvent),
    /// Tokens were used, or limits have changed.
    TokenCount(TokenCountEvent),
    /// The history was compacted.
    ContextCompacted,
    /// Turns were taken back.
    ThreadRolledBack(ThreadRolledBackEvent),
    /// An undo started.
    UndoStarted(UndoStartedEvent),
    /// An undo ended.
    UndoCompleted(UndoCompletedEvent),
    /// What files were before this turn changed them is kept.
    CheckpointCreated(CheckpointCreatedEvent),
    /// What the patches of this turn have changed so far.
    TurnDiff(TurnDiffEvent),
    /// The model changed its checklist.
    PlanUpdate(UpdatePlan),
    /// A review started.
    EnteredReviewMode(ReviewRequest),
    /// A review ended.
    ExitedReviewMode(ExitedReviewModeEvent),

    // Messages, reasoning and other items.
    /// The user said something.
    UserMessage(UserMessageEvent),
    /// The model said something.
    AgentMessage(AgentMessageEvent),
    /// The model is saying something.
    AgentMessageDelta(DeltaEvent),
    /// The model thought something.
    AgentReasoning(AgentReasoningEvent),
    /// The model is summarising its reasoning.
    AgentReasoningDelta(DeltaEvent),
    /// What the model thought, unabridged.
    AgentReasoningRawContent(AgentReasoningEvent),
    /// What the model is thinking, unabridged.
    AgentReasoningRawContentDelta(DeltaEvent),
    /// A new part of the summary starts.
    AgentReasoningSectionBreak(AgentReasoningSectionBreakEvent),
    /// Text of an agent message.
    AgentMessageContentDelta(ItemDeltaEvent),
    /// Text of a plan.
    PlanDelta(ItemDeltaEvent),
    /// Text of a summary of reasoning.
    ReasoningContentDelta(ReasoningContentDeltaEvent),
    /// Text of the reasoning itself.
    ReasoningRawContentDelta(ReasoningRawContentDeltaEvent),
    /// An item of the turn started.
    ItemStarted(ItemEvent),
    /// An item of the turn is complete.
    ItemCompleted(ItemEvent),
    /// An item was recorded in the history.
    RawResponseItem(RawResponseItemEvent),

    // Commands and patches.
    /// A command started.
    ExecCommandBegin(ExecCommandBeginEvent),
    /// A command printed something.
    ExecCommandOutputDelta(ExecCommandOutputDeltaEvent),
    /// Something was typed into a terminal.
    TerminalInteraction(TerminalInteractionEvent),
    /// A command ended.
    ExecCommandEnd(Box<ExecCommandEndEvent>),
    /// A patch is being applied.
    PatchApplyBegin(PatchApplyBeginEvent),
    /// A patch was applied, or not.
    PatchApplyEnd(PatchApplyEndEvent),

    // Questions.
    /// May this command run?
    ExecApprovalRequest(Box<ExecApprovalRequestEvent>),
    /// May this patch be applied?
    ApplyPatchApprovalRequest(ApplyPatchApprovalRequestEvent),
    /// May the model have these permissions?
    RequestPermissions(RequestPermissionsEvent),
    /// The model asks the user.
    RequestUserInput(RequestUserInputEvent),
    /// An MCP server asks the user.
    ElicitationRequest(ElicitationRequestEvent),
    /// How the automatic review of an approval request goes.
    GuardianAssessment(GuardianAssessmentEvent),

    // Tools.
    /// How far an MCP server has come with starting.
    McpStartupUpdate(McpStartupUpdateEvent),
    /// Every MCP server has started, or failed to.
    McpStartupComplete(McpStartupCompleteEvent),
    /// A call of an MCP tool started.
    McpToolCallBegin(McpToolCallBeginEvent),
    /// A call of an MCP tool ended.
    McpToolCallEnd(McpToolCallEndEvent),
    /// What the MCP servers offer, as was asked for.
    McpListToolsResponse(McpListToolsResponseEvent),
    /// The client is to carry out a tool call.
    DynamicToolCallRequest(DynamicToolCallRequestEvent),
    /// A tool call that the client carried out is over.
    DynamicToolCallResponse(DynamicToolCallResponseEvent),
    /// A search of the web started.
    WebSearchBegin(WebSearchBeginEvent),
    /// A search of the web ended.
    WebSearchEnd(WebSearchEndEvent),
    /// An image is being made.
    ImageGenerationBegin(ImageGenerationBeginEvent),
    /// An image was made.
    ImageGenerationEnd(ImageGenerationEndEvent),
    /// The model looks at an image file.
    ViewImageToolCall(ViewImageToolCallEvent),
    /// A hook started.
    HookStarted(HookEvent),
    /// A hook ended.
    HookCompleted(HookEvent),

    // Agents.
    /// An agent is being spawned.
    CollabAgentSpawnBegin(CollabAgentSpawnBeginEvent),
    /// An agent was spawned, or not.
    CollabAgentSpawnEnd(CollabAgentSpawnEndEvent),
    /// Something is being said to an agent.
    CollabAgentInteractionBegin(CollabAgentInteractionBeginEvent),
    /// Something was said to an agent.
    CollabAgentInteractionEnd(CollabAgentInteractionEndEvent),
    /// The model waits for agents.
    CollabWaitingBegin(CollabWaitingBeginEvent),
    /// The model waits for agents no more.
    CollabWaitingEnd(CollabWaitingEndEvent),
    /// An agent is being closed.
    CollabCloseBegin(CollabCloseBeginEvent),
    /// An agent was closed.
    CollabCloseEnd(CollabCloseEndEvent),
    /// An agent is being resumed.
    CollabResumeBegin(CollabResumeBeginEvent),
    /// An agent was resumed.
    CollabResumeEnd(CollabResumeEndEvent),

    // Realtime.
    /// A realtime conversation started.
    RealtimeConversationStarted(RealtimeConversationStartedEvent),
    /// Something happened in a realtime conversation.
    RealtimeConversationRealtime(RealtimeConversationRealtimeEvent),
    /// A realtime conversation ended.
    RealtimeConversationClosed(RealtimeConversationClosedEvent),

    /// An event of a type that is not known.
    #[tagged(unknown)]
    #[serde(untagged)]
    Unknown(Value),
}
