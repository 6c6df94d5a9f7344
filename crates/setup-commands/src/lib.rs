//! Layer: surface. Commands that set up what sessions use: MCP servers, other machines, and the login to the model service.
//!
//! Each takes its arguments and the settings of flags, and prints to a console.

mod login;
mod machines;
mod mcp;

pub use login::{LoginArguments, log_in, log_out};
pub use machines::{EnvironmentCommand, run_environment_command};
pub use mcp::{McpArguments, run_mcp_command};
