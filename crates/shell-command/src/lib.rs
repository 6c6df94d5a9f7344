//! Layer: capability. Reading a shell line: what it does for a person to see, what is known to be safe, what is
//! dangerous, and whether it is really a patch.
//!
//! Scripts are parsed as bash, and only syntax on a short list of allowed forms counts as understood. What is not
//! understood is never safe. Nothing here runs a command, looks at a file or asks the environment.

mod actions;
mod bash;
mod call;
mod dangerous;
mod git_options;
mod heredoc;
mod launchers;
mod patch_call;
mod quote;
mod reachable;
mod safe;
mod script;
mod segments;
mod word;

pub use actions::{CommandAction, command_actions};
pub use bash::parse_plain_commands;
pub use call::{posix_shell, shell_script};
pub use dangerous::is_dangerous;
pub use patch_call::{PatchCall, patch_call};
pub use quote::quote_command;
pub use reachable::{Reachable, ReachableCommand, reachable_commands};
pub use safe::{ProgramCheck, is_known_safe, known_safe_parts};
pub use segments::{SegmentKind, Segments, canonical_command, segments};
