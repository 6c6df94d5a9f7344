//! A session: the actor behind one thread.
//!
//! It takes one request after another and owns everything that lasts longer than a turn. It lends the
//! conversation to the task that runs; at most one does. A turn runs on a task of its own, so that answers,
//! more input and interrupts reach the session meanwhile.

mod actor;
mod agents;
mod approval_review;
mod approvals;
mod configured;
mod connections;
mod context_snapshot;
mod continued;
mod custom_prompts;
mod elicitation;
mod elicitation_texts;
mod handle;
mod message_history;
mod notices;
mod observed_input;
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
mod state;
mod step_settings;
mod task;
mod team;
mod tool_requests;
mod turn_base;
mod undo;
mod user_shell;

pub(crate) use actor::{MAX_QUEUED_REQUESTS, SessionActor, SessionParts};
pub use handle::{Thread, unreadable_submission};
pub(crate) use tool_requests::ToolRequest;
pub(crate) use turn_base::TurnBase;
