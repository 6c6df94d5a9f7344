//! Layer: engine. Threads: their sessions, turns, reviews and approvals.
//!
//! [`ThreadManager`] starts, resumes and forks threads. A [`Thread`] takes operations, and its [`EventReceiver`] reports
//! what happens. Everything outside is reached through [`Ports`]: the engine uses no network, terminal or
//! environment variable but through them.
//!
//! The modules form layers; each uses only modules that are listed before it here: `git`, `standalone`, `thread_origin` and
//! `approval_review`; `turn` and `review`; `session` (the actor behind a thread, and its handle); `launch` (starting threads). A test
//! holds them to it, see docs/architecture.md. Below them are the crates `codex-tools`, `codex-session-base` and `codex-gate`.

mod approval_review;
mod git;
mod launch;
mod review;
mod session;
mod standalone;
mod thread_origin;
mod turn;

pub use codex_gate::ToolApproval;
pub use codex_session_base::config::{
    AdministratorLimits, AgentJobs, AgentRole, AgentSettings, AllowedValues, ApprovalNotStored,
    AppsServer, CheckpointOptions, ClientHook, ClientHookCall, ClientHookError, ClientHooks,
    CodeMode, CompactionRules, ContextSections, EndedTurn, Features, FinishedHook,
    HookDecisionSource, HooksRun, HostCall, HostToolError, HostTools, InstructionFiles, JsRepl,
    McpApprovals, McpServer, MessageHistory, NotAllowed, OtherMachines, PreparedRealtime,
    RealtimeService, RealtimeStart, RealtimeThread, RealtimeUnavailable, RecordedAnswer,
    RecordedFailure, ReplaySource, RoleSettings, RoleUnavailable, SandboxKind, SessionConfig,
    SessionHooks, SessionIdentity, SessionOptions, SessionServices, SuggestionKind, TakenInput,
    TeamSettings, ToolSuggestion, ToolSuggestions, TurnEnded, WebSearch, WritableFiles,
    is_sandboxed,
};
pub use codex_session_base::context::{
    default_mode_instructions, image_data_url, plan_mode_instructions,
};
pub use codex_session_base::derived_sessions::{MemoryAgent, ReplayServices};
pub use codex_session_base::events::{EventReceiver, older_delta};
pub use codex_session_base::history::{
    ContextPartKind, ContextSnapshot, ContextUse, DroppedItem, PartUse, RestoreItemsError,
    StoredCompaction, UnfinishedCall, UnfinishedTurn, first_user_text, folder_instructions_in,
    instructions_in, is_context_text,
};
pub use codex_session_base::input::{SavedInput, ToolOutput, TurnInput};
pub use codex_session_base::mcp::{McpServerUnavailable, RequiredServersFailed};
pub use codex_session_base::ports::*;
pub use codex_session_base::stored_thread::{NeededLines, StoredThread, read_compaction};
pub use codex_session_base::thread::{
    BackgroundTerminal, NewTurn, OperationError, OperationResult, PinError, Sample, SampleError,
    SampleRequest, SettingsError, StartTurnError, SteerError, TaskKind, ThreadClosed, TurnPlace,
    TurnSettingsError, TurnSettingsPatch,
};
pub use codex_session_base::timeout_pauses::TimeoutPauses;
pub use launch::{
    ForkAt, Ports, SpawnedAgent, StartError, StartedThread, ThreadManager, write_left_inputs,
};
pub use review::{review_hint, review_text};
pub use session::{
    AddPin, AllowDenied, CallReply, Compact, ContinueTurn, InjectItems, ListPins, ListTerminals,
    ReadContext, ReadRealtimeInputs, RemovePin, ReplaceMcpServers, RollBack, SetPins,
    StartRealtime, StartReview, StartTurn, Steer, StopRealtime, StopTerminal, Thread, ThreadCall,
    Undo, UpdateSettings, unreadable_submission,
};
pub use standalone::{StandaloneCommand, StandaloneCommands, StandaloneError};
