//! The names of the plugins that skills are in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names of plugins by folder. Each folder is looked at once.
#[derive(Debug, Default)]
pub(crate) struct PluginNames(HashMap<PathBuf, Option<Arc<str>>>);

impl PluginNames {
    /// The name of the plugin in this folder, or else in the nearest one above.
    pub(crate) fn above(&mut self, folder: &Path) -> Option<Arc<str>> {
        if let Some(known) = self.0.get(folder) {
            return known.clone();
        }
        let own = codex_plugins::plugin_name(folder).map(Arc::from);
        let name = own.or_else(|| self.above(folder.parent()?));
        self.0.insert(folder.to_path_buf(), name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_plugin_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap();
        let plugin = |path: &str, manifest: &str| {
            let folder = root.join(path).join(".codex-plugin");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("plugin.json"), manifest).unwrap();
        };
        plugin("outer", r#"{"name": "outer"}"#);
        plugin("outer/a/inner", r#"{"name": "inner"}"#);
        plugin("outer/broken", "{");
        let mut names = PluginNames::default();
        let mut name = |path: &str| names.above(&root.join(path));
        assert_eq!(name("outer/a/inner/skills/x").as_deref(), Some("inner"));
        assert_eq!(name("outer/a/x").as_deref(), Some("outer"));
        assert_eq!(name("outer/broken/x").as_deref(), Some("outer"));
        assert_eq!(name("other"), None);
    }
}
