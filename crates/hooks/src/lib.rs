//! Layer: capability. Hooks: commands of the user, or tools of MCP servers, that the engine runs on certain occasions.
//!
//! This crate decides; it starts no process. It reads the files that configure hooks ([`load`]), decides which of them are
//! trusted, selects those for an occasion, makes their input ([`HookInput`]) and interprets what a run returned
//! ([`interpret`]). The caller names the sources of hooks, runs the commands and carries the effects out.
//!
//! A hook runs only what the user has seen: its hash has the files that its line leads to, and they are looked at again
//! before each run ([`Hook::check_files`]).
//!
//! A hook that cannot be read is left out with a warning; it never prevents a thread from starting.

mod catalog;
mod file;
mod hook;
mod hook_files;
mod input;
mod matcher;
mod output;
mod placeholders;
mod trust;
mod usable_handler;

pub use catalog::{HOOKS_FILE, HookCatalog, HookLayer, PluginHooks, load};
pub use hook::{Hook, HookAction, HookPlugin, HookTrust, OnError, scope_of};
pub use hook_files::{FileCheck, FileProblem, HookFiles, HookPlace};
pub use input::{
    CompactionTrigger, EventInput, HookInput, ModelRequestEnd, PermissionMode, ToolUse,
};
pub use matcher::{InvalidMatcher, Matcher};
pub use output::{
    HookEffects, HookOutcome, OUTPUT_LIMIT, PermissionVerdict, RunEnd, RunResult, interpret,
};
pub use placeholders::{UnknownPlaceholder, fill_placeholders};
pub use trust::{HookDecisions, HookStates};
