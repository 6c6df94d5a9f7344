//! A plugin in a folder.

use std::path::{Path, PathBuf};

use crate::contained;
use crate::manifest::{self, PluginManifest};
use crate::marketplace::{Marketplace, MarketplacePlugin};
use crate::plugin_source::PluginSource;

/// A plugin in a folder.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// The folder.
    pub root: PathBuf,
    /// What its manifest says.
    pub manifest: PluginManifest,
}

/// Why a folder is no plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// There is no folder.
    #[error("path does not exist or is not a directory")]
    NoFolder,
    /// A link leads out of the marketplace.
    #[error("path leads out of the marketplace")]
    Elsewhere,
    /// It is in a repository, and not installed.
    #[error("the plugin is in a repository of its own")]
    InRepository,
    /// There is no usable manifest.
    #[error("missing or invalid .codex-plugin/plugin.json")]
    NoManifest,
}

impl Plugin {
    /// Reads the manifest of the plugin in a folder.
    ///
    /// # Errors
    /// The folder is no plugin.
    pub fn read(root: &Path) -> Result<Self, PluginError> {
        Self::read_or(root, None)
    }

    fn read_or(root: &Path, entry: Option<&str>) -> Result<Self, PluginError> {
        if !codex_mounts::is_dir(root) {
            return Err(PluginError::NoFolder);
        }
        match manifest::read_or(root, entry) {
            Ok(manifest) => Ok(Self {
                root: root.to_path_buf(),
                manifest,
            }),
            Err(_) => Err(PluginError::NoManifest),
        }
    }
}

impl MarketplacePlugin {
    /// Reads the manifest of the plugin.
    ///
    /// # Errors
    /// The folder is no plugin, a link leads out of the marketplace, or the plugin is in a repository.
    pub fn read(&self, marketplace: &Marketplace) -> Result<Plugin, PluginError> {
        let PluginSource::Folder(folder) = &self.source else {
            return Err(PluginError::InRepository);
        };
        if !codex_mounts::is_dir(folder) {
            return Err(PluginError::NoFolder);
        }
        if contained::check(&marketplace.root, folder).is_err() {
            return Err(PluginError::Elsewhere);
        }
        Plugin::read_or(folder, self.manifest().as_deref())
    }

    /// The manifest in the entry of the marketplace, if there is one. It counts where the plugin itself has none.
    #[must_use]
    pub fn manifest(&self) -> Option<String> {
        manifest::of_entry(&self.entry)
    }
}
