//! Hooks: selects those for an occasion, runs them at the same time, and emits their beginnings and ends.
//!
//! What a hook may say and what that means is decided in `codex-hooks`. The callers carry the effects out. A run belongs to
//! the future that waits for it: dropping the future kills the process and ends the run for clients.

mod command;
mod effects;
mod mcp_tool;
mod occasion;
mod run_events;
mod runner;

pub use effects::HookResults;
pub use occasion::HookOccasion;
