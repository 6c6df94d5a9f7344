//! Layer: capability. Plugins: folders that bundle skills, MCP servers and apps.
//!
//! This crate reads marketplaces, which list plugins, and manifests, which describe them. It installs plugins by copying
//! them below the home folder, and says what installed ones contribute. The caller supplies folders and settings, and
//! passes the contributions to threads.
//!
//! Plugins are foreign data: names lead nowhere but into the cache, paths and links do not leave the folder of a plugin, and
//! everything that is read or copied is bounded.

mod contained;
mod contributions;
mod copy;
mod folder_reads;
mod hook_files;
mod id;
mod installed;
mod interface;
mod manifest;
mod marketplace;
mod marketplace_copies;
mod marketplace_file;
mod mended;
mod mention;
mod places;
mod plugin;
mod plugin_source;
mod registry;
mod source;
mod staging;
mod store;

pub use contributions::PluginMcpServer;
pub use folder_reads::{FolderReads, NoAnswer};
pub use hook_files::PluginHookFiles;
pub use id::{InvalidPluginId, PluginId};
pub use installed::{InstalledPlugin, load_enabled};
pub use interface::PluginInterface;
pub use manifest::{PluginManifest, plugin_name};
pub use marketplace::{
    AuthPolicy, InstallPolicy, Marketplace, MarketplaceError, MarketplacePlugin,
};
pub use marketplace_copies::{CopyOrigin, MarketplaceCopies, StagedCopy};
pub use mention::{PluginMention, mentioned};
pub use places::{folders_of_user, marketplace_files, marketplace_of, usual_file};
pub use plugin::{Plugin, PluginError};
pub use plugin_source::{PluginRepository, PluginSource};
pub use registry::PluginRegistry;
pub use source::{InvalidSource, MarketplaceSource, is_reference};
pub use store::{PluginStore, StagedPlugin, StoreError};
