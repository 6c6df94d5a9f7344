//! Layer: engine. The tools of the model: one file each, which says when a turn offers it, with schema, handler and output format.
//!
//! A tool asks the gate before it has an effect that a model wants. Processes are launched with the plan that a permit gives.
//!
//! Code map: `registry` (all of them in their order), `offer` (what decides which of them a turn has), `tool` (what a tool is),
//! `call` (a call of the model), `services` (what the tools of a session share), `turn_tools` (the calls of a turn).

mod agent_jobs;
mod agent_tool_names;
mod agents;
mod apply_patch;
mod arguments;
mod call;
mod cells;
mod command;
mod command_format;
mod command_item;
mod command_variables;
mod dynamic;
mod editor_terminal;
mod hook_input;
mod host;
mod image_generation;
mod js_repl;
mod mcp;
mod mcp_namespaces;
mod mcp_resources;
mod mcp_tools;
mod offer;
mod patch_item;
mod places;
mod registry;
mod remote_command;
mod remote_patch;
mod request_permissions;
mod request_user_input;
mod search_access;
mod services;
mod shell;
mod shell_command;
mod shells;
mod team;
mod terminals;
mod tool;
mod tool_search;
mod tool_suggest;
mod turn_checkpoints;
mod turn_diff;
mod turn_tools;
mod unified_exec;
mod update_plan;
mod user_shell;
mod view_image;
mod web_search;

pub use agent_jobs::end_interrupted_jobs;
pub use agent_tool_names::{directs_agents, manages_agents};
pub use call::{ToolCall, ToolPayload};
pub use cells::NestedTool;
pub use hook_input::{
    COMMAND_TOOL, UnusableInput, lacks_command, tool_use, typed_into, with_updated_input,
};
pub use js_repl::is_console;
pub use mcp_tools::McpTools;
pub use offer::ToolSituation;
pub use patch_item::written_change;
pub use places::ToolEnvironments;
pub use registry::ToolSet;
pub use search_access::SearchAccess;
pub use services::{ToolRequests, ToolServices};
pub use terminals::TerminalRegistry;
pub use tool::{Tool, ToolContext, ToolFailure, ToolResult, text};
pub use turn_checkpoints::TurnCheckpoint;
pub use turn_diff::TurnDiffTracker;
pub use turn_tools::TurnTools;
pub use user_shell::{TypedCommand, run_user_shell};
