//! The events of the engine.
//!
//! An event carries the id of the submission that caused it, which is also the id of the turn that
//! the submission started. [`EventMsg`] is its content; each group of events has a file. An
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

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The id of the submission that caused the event; empty at the start of a session.
    pub id: String,
    /// The content of an event.
    pub msg: EventMsg,
}

/// The content of an event.
///
/// `TurnStarted` and `TurnComplete` are written under their older names, `task_started` and
/// `task_complete`, and read under both.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventMsg {
    // Session.
    /// The session is configured. Always the first event.
    SessionConfigured(Box<SessionConfiguredEvent>),
    /// The name of the thread changed.
    ThreadNameUpdated(ThreadNameUpdatedEvent),
    /// The session has ended. Always the last event.
    ShutdownComplete,
    /// A requested entry of the message history.
    GetHistoryEntryResponse(GetHistoryEntryResponseEvent),
    /// The requested custom prompts.
    ListCustomPromptsResponse(ListCustomPromptsResponseEvent),
    /// The requested skills.
    ListSkillsResponse(ListSkillsResponseEvent),
    /// The skills changed. Clients should list them again.
    SkillsUpdateAvailable,
    /// A notice that a setting is deprecated.
    DeprecationNotice(DeprecationNoticeEvent),
    /// A message about background work.
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
    /// An error. It ends a running turn.
    Error(ErrorEvent),
    /// A warning. It ends nothing.
    Warning(WarningEvent),
    /// A request to the model failed and is about to be repeated.
    StreamError(StreamErrorEvent),
    /// The server used a model other than the requested one.
    ModelReroute(ModelRerouteEvent),
    /// A response of the model and its calls ended. Only for clients of the queue protocol.
    ResponseCompleted(ResponseCompletedEvent),
    /// The token usage or the rate limits changed.
    TokenCount(TokenCountEvent),
    /// The history was compacted.
    ContextCompacted,
    /// Turns were removed from the end of the thread.
    ThreadRolledBack(ThreadRolledBackEvent),
    /// An undo started.
    UndoStarted(UndoStartedEvent),
    /// An undo ended.
    UndoCompleted(UndoCompletedEvent),
    /// A checkpoint of the files that this turn changes was created.
    CheckpointCreated(CheckpointCreatedEvent),
    /// A call waits for the answer of a person.
    QuestionAsked(QuestionAskedEvent),
    /// A call has its answer.
    QuestionAnswered(QuestionAnsweredEvent),
    /// The changes of all patches of this turn so far.
    TurnDiff(TurnDiffEvent),
    /// The model changed its checklist.
    PlanUpdate(UpdatePlan),
    /// A review started.
    EnteredReviewMode(ReviewRequest),
    /// A review ended.
    ExitedReviewMode(ExitedReviewModeEvent),

    // Messages, reasoning and other items.
    /// A message of the user.
    UserMessage(UserMessageEvent),
    /// A message of the model.
    AgentMessage(AgentMessageEvent),
    /// A delta of a message of the model.
    AgentMessageDelta(DeltaEvent),
    /// Reasoning of the model.
    AgentReasoning(AgentReasoningEvent),
    /// A delta of a reasoning summary.
    AgentReasoningDelta(DeltaEvent),
    /// Unabridged reasoning of the model.
    AgentReasoningRawContent(AgentReasoningEvent),
    /// A delta of unabridged reasoning.
    AgentReasoningRawContentDelta(DeltaEvent),
    /// A new part of the reasoning summary starts.
    AgentReasoningSectionBreak(AgentReasoningSectionBreakEvent),
    /// A delta of an agent message.
    AgentMessageContentDelta(ItemDeltaEvent),
    /// A delta of a plan.
    PlanDelta(ItemDeltaEvent),
    /// A delta of a reasoning summary.
    ReasoningContentDelta(ReasoningContentDeltaEvent),
    /// A delta of the unabridged reasoning.
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
    /// Output of a command.
    ExecCommandOutputDelta(ExecCommandOutputDeltaEvent),
    /// Input was written to a terminal.
    TerminalInteraction(TerminalInteractionEvent),
    /// A command ended.
    ExecCommandEnd(Box<ExecCommandEndEvent>),
    /// The model has written more of a patch.
    PatchApplyUpdated(PatchApplyUpdatedEvent),
    /// The application of a patch started.
    PatchApplyBegin(PatchApplyBeginEvent),
    /// The application of a patch ended.
    PatchApplyEnd(PatchApplyEndEvent),

    // Questions.
    /// A request for approval of a command.
    ExecApprovalRequest(Box<ExecApprovalRequestEvent>),
    /// A request for approval needs no answer any more.
    ExecApprovalWithdrawn(ExecApprovalWithdrawnEvent),
    /// A request for approval of a patch.
    ApplyPatchApprovalRequest(ApplyPatchApprovalRequestEvent),
    /// A request of the model for permissions.
    RequestPermissions(RequestPermissionsEvent),
    /// The model asks the user questions.
    RequestUserInput(RequestUserInputEvent),
    /// An elicitation request of an MCP server.
    ElicitationRequest(ElicitationRequestEvent),
    /// Progress of the automatic review of an approval request.
    GuardianAssessment(GuardianAssessmentEvent),

    // Tools.
    /// The startup status of an MCP server.
    McpStartupUpdate(McpStartupUpdateEvent),
    /// The startup of all MCP servers has ended.
    McpStartupComplete(McpStartupCompleteEvent),
    /// A call of an MCP tool started.
    McpToolCallBegin(McpToolCallBeginEvent),
    /// A call of an MCP tool ended.
    McpToolCallEnd(McpToolCallEndEvent),
    /// The requested tools and resources of all MCP servers.
    McpListToolsResponse(McpListToolsResponseEvent),
    /// A call of a tool that the client runs.
    DynamicToolCallRequest(DynamicToolCallRequestEvent),
    /// The result of a tool that the client ran.
    DynamicToolCallResponse(DynamicToolCallResponseEvent),
    /// A web search started.
    WebSearchBegin(WebSearchBeginEvent),
    /// A web search ended.
    WebSearchEnd(WebSearchEndEvent),
    /// The generation of an image started.
    ImageGenerationBegin(ImageGenerationBeginEvent),
    /// The generation of an image ended.
    ImageGenerationEnd(ImageGenerationEndEvent),
    /// The model views an image file.
    ViewImageToolCall(ViewImageToolCallEvent),
    /// A hook started.
    HookStarted(HookEvent),
    /// A hook ended.
    HookCompleted(HookEvent),

    // Agents.
    /// The spawn of an agent started.
    CollabAgentSpawnBegin(CollabAgentSpawnBeginEvent),
    /// The spawn of an agent ended.
    CollabAgentSpawnEnd(CollabAgentSpawnEndEvent),
    /// A message to an agent started.
    CollabAgentInteractionBegin(CollabAgentInteractionBeginEvent),
    /// A message to an agent was delivered, or could not be.
    CollabAgentInteractionEnd(CollabAgentInteractionEndEvent),
    /// A wait for agents started.
    CollabWaitingBegin(CollabWaitingBeginEvent),
    /// A wait for agents ended.
    CollabWaitingEnd(CollabWaitingEndEvent),
    /// The closing of an agent started.
    CollabCloseBegin(CollabCloseBeginEvent),
    /// The closing of an agent ended.
    CollabCloseEnd(CollabCloseEndEvent),
    /// The resumption of an agent started.
    CollabResumeBegin(CollabResumeBeginEvent),
    /// The resumption of an agent ended.
    CollabResumeEnd(CollabResumeEndEvent),
    /// Something happened with an agent that has a path.
    SubAgentActivity(SubAgentActivityEvent),

    // Realtime.
    /// A realtime conversation started.
    RealtimeConversationStarted(RealtimeConversationStartedEvent),
    /// An event of a realtime conversation.
    RealtimeConversationRealtime(RealtimeConversationRealtimeEvent),
    /// A realtime conversation ended.
    RealtimeConversationClosed(RealtimeConversationClosedEvent),

    /// What a side thread or an agent took over ends here. It is for the model and not part of the thread's turns.
    InheritedHistoryEnds,

    /// An event of an unknown type.
    #[tagged(unknown)]
    #[serde(untagged)]
    Unknown(Value),
}
