//! Layer: surface. Converts the engine's types to the wire: events to items, turns and notifications.
//!
//! Pure: nothing here waits, reads or writes. [`Fold`] is the only place that makes turns and items, from live and
//! from stored events, in their newest form. [`dialect`] makes the forms of older releases.

mod approval_review;
mod collab;
mod command_action;
pub mod dialect;
mod fold;
pub mod gap;
mod hook;
mod item;
mod limits;
mod plugin;
mod policy;
mod question;
mod queued;
mod realtime;
mod requirements;
mod settings;
mod stored_item;
mod thread_state;
mod turn_error;
mod turn_item;
mod usage_limits;
mod warning;

pub use fold::{
    ByteRanges, Change, Consumer, FilePart, Fold, ItemEnd, ItemIds, Moment, Notifications,
    PackTurns, RunningTurn, StoredRange, TurnForm, TurnRanges, Turns, wire_usage,
};
pub use hook::{engine_hook_event, hook_metadata, wire_hook_event};
pub use item::{engine_input, id_of, preview_of_message};
pub use limits::wire_limits;
pub use plugin::{
    PluginState, wire_app, wire_app_summary, wire_auth_policy, wire_marketplace, wire_path,
    wire_plugin,
};
pub use policy::{
    engine_approval, engine_reviewer, engine_sandbox, is_shown_of, wire_approval, wire_reviewer,
    wire_sandbox, wire_source, without_read_limits,
};
pub use question::{ClientQuestion, QuestionContext, question, unaskable};
pub use queued::queued_by_others;
pub use requirements::wire_requirements;
pub use settings::{environments, wire_settings, with_instructions, without_folders_elsewhere};
pub use thread_state::{goal_cleared, goal_updated, wire_goal, wire_read_state, wire_section};
pub use turn_error::turn_error;
pub use usage_limits::{InvalidCost, engine_limits, engine_thread_limits, wire_thread_limits};
pub use warning::{wire_deprecation, wire_warning};
