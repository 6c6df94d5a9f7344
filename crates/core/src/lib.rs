//! Layer: engine. Sessions, turns, tools, approvals and context, driven through the v1 queue pair.
//!
//! [`ThreadManager`] starts, resumes and forks threads; a [`Thread`] takes operations and its
//! [`Events`] tell what happens. Everything outside comes in through [`Ports`]: no network, no
//! terminal and no environment are touched here but through them.
//!
//! Code map: `manager` (threads), `launch` (starting one), `agents` (threads that threads start), `session` (the actor behind one), `turn` (from input to answer),
//! `conversation` and `history` (what is remembered), `context` (what the model is told), `tools`,
//! `gate` (what may run), `mcp` (the MCP servers of a thread), `events` (one event, three readers),
//! `ports`.

mod agents;
mod beginning;
mod compact;
mod config;
mod context;
mod conversation;
mod events;
mod fork;
mod gate;
mod git;
mod history;
mod launch;
mod manager;
mod mcp;
mod older;
mod ports;
mod repository;
mod review;
mod session;
mod skills;
mod snapshot;
mod standalone;
mod stored;
mod thread;
mod timeout_pauses;
mod tools;
mod turn;

pub use agents::{AgentRole, AgentSettings, Roles, SpawnedAgent};
pub use config::{Features, MessageHistory, SessionConfig, Snapshots, WebSearch};
pub use events::Events;
pub use history::first_user_text;
pub use manager::{ForkAt, Ports, StartError, StartedThread, ThreadManager};
pub use mcp::{McpApprovals, McpServer, ToolApproval};
pub use older::older_delta;
pub use ports::*;
pub use review::{review_hint, review_text};
pub use session::{NewTurn, SettingsError, StartTurnError, SteerError, TaskKind};
pub use standalone::{StandaloneCommand, StandaloneCommands, StandaloneError};
pub use stored::StoredThread;
pub use thread::{Thread, ThreadClosed, unreadable_submission};
pub use timeout_pauses::TimeoutPauses;
pub use tools::BackgroundTerminal;
pub use turn::{ToolOutput, TurnInput};
