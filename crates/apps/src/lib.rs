//! Layer: capability. Apps: services that an account has connected, whose tools one MCP server offers.
//!
//! This crate requests the directory of apps, derives from the tools which apps the account has connected, merges both
//! into one list, decides which apps and tools may be used, and ranks tools for searches. The caller supplies the account,
//! the settings and the tools, which it gets over MCP.

mod accessible;
mod address;
mod app;
mod catalog;
mod directory;
mod merge;
mod names;
mod rules;
mod search;
mod tool_cache;

pub use accessible::{ToolApp, accessible_apps, connector_of};
pub use address::{DEFAULT_BASE, other_server_address, server_address, service_address};
pub use app::App;
pub use catalog::{AccountKey, AppCatalog};
pub use directory::{DirectoryAccount, DirectoryError, request_directory};
pub use merge::merge;
pub use names::{app_slug, install_page, tool_name};
pub use rules::{AppDefaults, AppRule, AppRules, AppToolRule, ToolApprovalRule};
pub use search::TextIndex;
pub use tool_cache::ToolCacheFile;

/// The name of the MCP server whose tools are those of apps.
pub const APPS_SERVER: &str = "codex_apps";
