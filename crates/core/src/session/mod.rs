//! A session: the actor behind one thread.
//!
//! It takes one request after another and owns everything that lasts longer than a turn. It lends the
//! conversation to the task that runs; at most one does. A turn runs on a task of its own, so that answers,
//! more input and interrupts reach the session meanwhile.

mod actor;
mod agents;
mod approval_review;
mod approvals;
mod call;
mod compaction;
mod configured;
mod connections;
mod context_snapshot;
mod continued;
mod custom_prompts;
mod elicitation;
mod elicitation_texts;
mod handle;
mod mcp_servers;
mod message_history;
mod notices;
mod open_questions;
mod operations;
mod pins;
mod questions;
mod realtime;
mod realtime_state;
mod realtime_task;
mod review;
mod review_state;
mod rollback;
mod sample;
mod settings;
mod skills;
mod start_turn;
mod state;
mod steer;
mod step_settings;
mod task;
mod team;
mod terminals;
mod turn_base;
mod undo;
mod user_shell;

pub(crate) use actor::{SessionActor, SessionParts};
pub use approval_review::AllowDenied;
pub(crate) use call::CallQueue;
pub use call::{CallReply, ThreadCall};
pub use compaction::Compact;
pub use context_snapshot::ReadContext;
pub use continued::ContinueTurn;
pub use handle::{Thread, unreadable_submission};
pub use mcp_servers::ReplaceMcpServers;
pub use notices::InjectItems;
pub use pins::{AddPin, ListPins, RemovePin, SetPins};
pub use realtime::{ReadRealtimeInputs, StartRealtime, StopRealtime};
pub use review::StartReview;
pub use rollback::RollBack;
pub use settings::UpdateSettings;
pub use start_turn::StartTurn;
pub use steer::Steer;
pub use terminals::{ListTerminals, StopTerminal};
pub(crate) use turn_base::TurnBase;
pub use undo::Undo;
