//! Layer: surface. The program around the engine: what a configuration becomes, and the host of the app-server.

mod agent_roles;
mod app_sources;
pub mod browser;
pub mod checkpoints;
pub mod engine_files;
pub mod environment;
mod hook_decisions;
mod hooks;
pub mod host;
pub mod log;
pub mod mcp_servers;
pub mod memories;
mod notify;
mod plugin_sources;
mod program_checks;
mod realtime;
mod realtime_context;
pub mod resources;
mod rules;
pub mod scripted_model;
pub mod session_settings;
mod skills;
mod suggestions;
mod system_folder;
pub mod trace_retention;
mod user_shell;
pub mod wiring;
