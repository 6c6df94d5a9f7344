//! Marketplaces and plugins in folders, for the tests of plugins.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A folder with a marketplace.
pub(crate) struct MarketplaceFolder {
    pub(crate) root: PathBuf,
    name: String,
    entries: Vec<Value>,
}

impl MarketplaceFolder {
    /// A marketplace without plugins.
    pub(crate) fn new(root: &Path, name: &str) -> Self {
        fs::create_dir_all(root).unwrap();
        let marketplace = Self {
            root: root.canonicalize().unwrap(),
            name: name.to_owned(),
            entries: Vec::new(),
        };
        marketplace.write_entries();
        marketplace
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.root.join(".agents/plugins/marketplace.json")
    }

    fn write_entries(&self) {
        let text = json!({
            "name": self.name, "interface": { "displayName": "Team" }, "plugins": self.entries,
        });
        write(&self.file(), &text.to_string());
    }

    /// Adds a plugin with this manifest; `more` is merged into its entry.
    pub(crate) fn add(&mut self, name: &str, manifest: &Value, more: &Value) {
        let path = format!("./plugins/{name}");
        let mut entry = json!({ "name": name, "source": { "source": "local", "path": path } });
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        self.entries.push(entry);
        self.write_entries();
        self.write(name, ".codex-plugin/plugin.json", &manifest.to_string());
    }

    /// Lists a plugin whose folder is there already.
    pub(crate) fn add_entry(&mut self, name: &str) {
        self.add_entry_with(name, &json!({}));
    }

    /// The same, with these members of a manifest in the entry.
    pub(crate) fn add_entry_with(&mut self, name: &str, manifest: &Value) {
        let mut entry = json!({ "name": name, "source": format!("./plugins/{name}") });
        for (key, value) in manifest.as_object().unwrap() {
            entry[key] = value.clone();
        }
        self.entries.push(entry);
        self.write_entries();
    }

    /// Lists a plugin with this source, which is not a folder.
    pub(crate) fn add_source(&mut self, name: &str, source: &Value) {
        self.entries.push(json!({ "name": name, "source": source }));
        self.write_entries();
    }

    /// Writes a file of a plugin.
    pub(crate) fn write(&self, plugin: &str, path: &str, text: &str) {
        write(&self.root.join("plugins").join(plugin).join(path), text);
    }

    /// Writes a skill of a plugin.
    pub(crate) fn skill(&self, plugin: &str, name: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: about {name}\n---\n{body}\n");
        self.write(plugin, &format!("skills/{name}/SKILL.md"), &text);
    }

    /// The params that name a plugin.
    pub(crate) fn params(&self, plugin: &str) -> Value {
        json!({ "marketplacePath": self.file(), "pluginName": plugin })
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
