//! Layer: engine. Sessions, turns, tools, approvals and context.
//!
//! [`ThreadManager`] starts, resumes and forks threads. A [`Thread`] takes operations, and its [`EventReceiver`] reports
//! what happens. Everything outside is reached through [`Ports`]: the engine uses no network, terminal or
//! environment variable but through them.
//!
//! The modules form layers; each uses only modules that are listed before it here:
//! `config` and `ports`; `input`, `events`, `history`, `context` (data and conversations); `derived_sessions`; `gate` and `mcp`;
//! `thread` and `agents`; `tools`; `turn` and `review`; `session` (the actor behind a thread, and its handle);
//! `launch` (starting threads). A test holds them to it, see docs/architecture.md.

mod agents;
mod approval_review;
mod budget;
mod cells;
mod config;
mod context;
mod derived_sessions;
mod events;
mod gate;
mod git;
mod history;
mod hooks;
mod input;
mod launch;
mod machines;
mod mcp;
mod ports;
mod questions;
mod requests;
mod review;
mod session;
mod session_context;
mod standalone;
mod startup_files;
mod stored_thread;
mod thread;
mod thread_origin;
mod timeout_pauses;
mod tools;
mod turn;
mod turn_reviews;
mod turn_rights;
mod turn_settings;

pub use codex_gate::ToolApproval;
pub use config::{
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
pub use context::{default_mode_instructions, image_data_url, plan_mode_instructions};
pub use derived_sessions::{MemoryAgent, ReplayServices};
pub use events::{EventReceiver, older_delta};
pub use history::{
    ContextPartKind, ContextSnapshot, ContextUse, DroppedItem, PartUse, RestoreItemsError,
    StoredCompaction, UnfinishedCall, UnfinishedTurn, first_user_text, is_context_text,
};
pub use input::{SavedInput, ToolOutput, TurnInput};
pub use launch::{
    ForkAt, Ports, SpawnedAgent, StartError, StartedThread, ThreadManager, write_left_inputs,
};
pub use mcp::RequiredServersFailed;
pub use ports::*;
pub use review::{review_hint, review_text};
pub use session::{
    AddPin, AllowDenied, CallReply, Compact, ContinueTurn, InjectItems, ListPins, ListTerminals,
    ReadContext, ReadRealtimeInputs, RemovePin, ReplaceMcpServers, RollBack, SetPins,
    StartRealtime, StartReview, StartTurn, Steer, StopRealtime, StopTerminal, Thread, ThreadCall,
    Undo, UpdateSettings, unreadable_submission,
};
pub use standalone::{StandaloneCommand, StandaloneCommands, StandaloneError};
pub use stored_thread::{NeededLines, StoredThread, read_compaction};
pub use thread::{
    BackgroundTerminal, McpServerUnavailable, NewTurn, OperationError, OperationResult, PinError,
    Sample, SampleError, SampleRequest, SettingsError, StartTurnError, SteerError, TaskKind,
    ThreadClosed, TurnPlace, TurnSettingsError, TurnSettingsPatch,
};
pub use timeout_pauses::TimeoutPauses;
