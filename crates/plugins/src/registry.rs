//! The plugins that threads of a process use now.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::installed::InstalledPlugin;

/// The plugins that threads of a process use now. Replaced when plugins are installed, removed or switched.
#[derive(Debug, Default)]
pub struct PluginRegistry(RwLock<Arc<Vec<InstalledPlugin>>>);

impl PluginRegistry {
    /// The plugins, sorted by id.
    #[must_use]
    pub fn current(&self) -> Arc<Vec<InstalledPlugin>> {
        Arc::clone(&self.0.read())
    }

    /// Replaces the plugins.
    pub fn set(&self, plugins: Vec<InstalledPlugin>) {
        let is_same = plugins.is_empty() && self.0.read().is_empty();
        if !is_same {
            *self.0.write() = Arc::new(plugins);
        }
    }
}
