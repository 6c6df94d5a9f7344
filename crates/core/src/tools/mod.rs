//! The tools of the model: one file each, with schema, handler and output format.
//!
//! A tool asks the gate before it has an effect: it starts no process and writes no file without a permit.

mod agent_jobs;
mod agents;
mod apply_patch;
mod arguments;
mod call;
mod cells;
mod command;
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
mod services;
mod shell;
mod shell_command;
mod shells;
mod team;
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

pub(crate) use agent_jobs::end_interrupted_jobs;
pub(crate) use agents::{directs_agents, manages_agents};
pub(crate) use call::{ToolCall, ToolPayload};
pub(crate) use cells::NestedTool;
pub(crate) use hook_input::{
    COMMAND_TOOL, lacks_command, tool_use, typed_into, with_updated_input,
};
pub(crate) use js_repl::is_console;
pub(crate) use mcp_tools::McpTools;
pub(crate) use offer::ToolSituation;
pub(crate) use patch_item::written_change;
pub(crate) use places::ToolEnvironments;
pub(crate) use registry::ToolSet;
pub(crate) use services::{ToolRequests, ToolServices};
pub(crate) use tool::{Tool, ToolContext, ToolFailure, ToolResult, text};
pub(crate) use turn_checkpoints::TurnCheckpoint;
pub(crate) use turn_diff::TurnDiffTracker;
pub(crate) use turn_tools::TurnTools;
pub(crate) use unified_exec::TerminalRegistry;
pub(crate) use user_shell::{TypedCommand, run_user_shell};
pub(crate) use web_search::SearchAccess;
