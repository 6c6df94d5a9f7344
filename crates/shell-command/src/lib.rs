//! Layer: capability. Analyzes shell commands: a summary for display, known safe commands, dangerous commands, and calls
//! that are patches.
//!
//! Scripts are parsed as bash; only syntax in a short list counts as understood, and what is not understood is never safe.
//! This crate runs no command, reads no file and no environment variable.

mod actions;
mod bash;
mod call;
mod command_words;
mod dangerous;
mod git_options;
mod heredoc;
mod launch_targets;
mod patch_call;
mod quote;
mod reachable;
mod safe;
mod script;
mod segments;
mod word;

pub use actions::{CommandAction, command_actions};
pub use bash::parse_plain_commands;
pub use call::{
    base_name, is_shell, posix_shell, shell_call, shell_call_without_startup_files, shell_script,
    with_utf8_output,
};
pub use dangerous::is_dangerous;
pub use patch_call::{PatchCall, patch_call};
pub use quote::{quote_command, split_command, visible_command};
pub use reachable::{ReachableCommand, ReachableCommands, reachable_commands};
pub use safe::{ProgramCheck, is_known_safe, known_safe_parts};
pub use segments::{SegmentKind, Segments, canonical_command, segments};
