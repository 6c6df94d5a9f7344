//! What a plugin contributes: folders with skills, MCP servers, apps.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::contained;
use crate::plugin::Plugin;

/// The limit on the size of a file with servers or apps.
const FILE_LIMIT: u64 = 1024 * 1024;
/// The limit on the servers, and on the apps, of a plugin.
const MAX_ENTRIES: usize = 100;

/// An MCP server of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginMcpServer {
    /// The name.
    pub name: String,
    /// The settings, with the keys of `[mcp_servers.<name>]`.
    pub settings: Map<String, Value>,
}

/// A file with apps. Their names are not used.
#[derive(Debug, Deserialize)]
struct AppsFile {
    apps: BTreeMap<String, AppForm>,
}

#[derive(Debug, Deserialize)]
struct AppForm {
    id: String,
}

impl Plugin {
    /// The folders with skills: `skills`, and those that the manifest names.
    #[must_use]
    pub fn skill_roots(&self) -> Vec<PathBuf> {
        let usual = [self.root.join("skills")].into_iter();
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in usual.chain(self.manifest.skills.iter().cloned()) {
            let is_inside =
                codex_mounts::is_dir(&root) && contained::check(&self.root, &root).is_ok();
            if is_inside && !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    /// The MCP servers, by name.
    #[must_use]
    pub fn mcp_servers(&self) -> Vec<PluginMcpServer> {
        let named = self.manifest.mcp_servers.as_deref();
        let servers = match &self.manifest.inline_servers {
            Some(servers) => Some(servers.clone()),
            None => self.file(named, ".mcp.json").map(servers_of),
        };
        let mut servers: Vec<_> = servers
            .unwrap_or_default()
            .into_iter()
            .take(MAX_ENTRIES)
            .filter_map(|(name, settings)| self.server(name, settings))
            .collect();
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        servers
    }

    fn server(&self, name: String, settings: Value) -> Option<PluginMcpServer> {
        let Value::Object(mut settings) = settings else {
            self.warn(&format!("the MCP server `{name}` has no settings"));
            return None;
        };
        // The kind follows from the other keys, and logins are settings of the user.
        settings.remove("type");
        settings.remove("oauth");
        if let Some(Value::String(cwd)) = settings.get_mut("cwd") {
            *cwd = self.root.join(&*cwd).display().to_string();
        }
        Some(PluginMcpServer { name, settings })
    }

    /// The ids of the apps, each once.
    #[must_use]
    pub fn apps(&self) -> Vec<String> {
        let Some(file) = self.file::<AppsFile>(self.manifest.apps.as_deref(), ".app.json") else {
            return Vec::new();
        };
        let mut ids: Vec<String> = Vec::new();
        for app in file.apps.into_values().take(MAX_ENTRIES) {
            if !app.id.trim().is_empty() && !ids.contains(&app.id) {
                ids.push(app.id);
            }
        }
        ids
    }

    /// The named file, or the default one. What cannot be read counts as empty.
    fn file<T: for<'de> Deserialize<'de>>(&self, named: Option<&Path>, default: &str) -> Option<T> {
        let path = named.map_or_else(|| self.root.join(default), Path::to_path_buf);
        let text = match contained::read_text(&self.root, &path, FILE_LIMIT) {
            Ok(text) => text,
            Err(error) => {
                if named.is_some() || error.kind() != io::ErrorKind::NotFound {
                    self.warn(&format!("{} cannot be read: {error}", path.display()));
                }
                return None;
            }
        };
        let parsed = serde_json::from_str(&text);
        parsed
            .map_err(|error| self.warn(&format!("{} is invalid: {error}", path.display())))
            .ok()
    }

    fn warn(&self, problem: &str) {
        tracing::warn!("plugin `{}`: {problem}", self.manifest.name);
    }
}

/// The servers in a file: its table `mcpServers`, or else the file itself is the table.
fn servers_of(mut file: Map<String, Value>) -> Map<String, Value> {
    match file.remove("mcpServers") {
        Some(Value::Object(servers)) => servers,
        Some(_) => Map::new(),
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    /// A plugin with this manifest and these files.
    fn plugin(manifest: &Value, files: &[(&str, &str)]) -> (tempfile::TempDir, Plugin) {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap();
        let manifest = manifest.to_string();
        let manifest = (".codex-plugin/plugin.json", manifest.as_str());
        for (path, text) in files.iter().chain([&manifest]) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (folder, Plugin::read(&root).unwrap())
    }

    #[test]
    fn servers_come_from_one_file() {
        let files = [
            (
                ".mcp.json",
                r#"{"mcpServers": {"usual": {"command": "a"}}}"#,
            ),
            ("s.json", r#"{"mcpServers": {"other": {"command": "b"}}}"#),
            ("plain.json", r#"{"plain": {"command": "c"}, "x": 3}"#),
        ];
        let names = |manifest: Value| {
            let (_folder, plugin) = plugin(&manifest, &files);
            let servers = plugin.mcp_servers().into_iter();
            servers.map(|server| server.name).collect::<Vec<_>>()
        };
        assert_eq!(names(json!({})), ["usual"]);
        assert_eq!(names(json!({ "mcpServers": "./s.json" })), ["other"]);
        assert_eq!(names(json!({ "mcpServers": "../s.json" })), ["usual"]);
        assert_eq!(names(json!({ "mcpServers": "./plain.json" })), ["plain"]);
        assert!(names(json!({ "mcpServers": "./none.json" })).is_empty());
    }

    #[test]
    fn settings_of_servers_are_made_ours() {
        let text = r#"{"mcpServers": {
            "b": {"type": "stdio", "command": "x", "cwd": "tools", "oauth": {"clientId": "c"}},
            "a": {"type": "http", "url": "https://example.com", "cwd": 3},
            "bad": "text"}}"#;
        let (_folder, plugin) = plugin(&json!({}), &[(".mcp.json", text)]);
        let servers = plugin.mcp_servers();
        assert_eq!(servers.len(), 2);
        let expected = json!({ "url": "https://example.com", "cwd": 3 });
        assert_eq!(Value::Object(servers[0].settings.clone()), expected);
        let cwd = plugin.root.join("tools").display().to_string();
        let expected = json!({ "command": "x", "cwd": cwd });
        assert_eq!(Value::Object(servers[1].settings.clone()), expected);
    }

    #[test]
    fn apps_count_once() {
        let text = r#"{"apps": {"x": {"id": "one"}, "y": {"id": "two"}, "z": {"id": "one"}}}"#;
        let (_folder, plugin) = plugin(&json!({}), &[(".app.json", text)]);
        assert_eq!(plugin.apps(), ["one", "two"]);
    }

    #[test]
    fn both_folders_with_skills_count() {
        let files = [("skills/a/SKILL.md", ""), ("more/b/SKILL.md", "")];
        let (_folder, plugin) = plugin(&json!({ "skills": "./more" }), &files);
        let expected = ["skills", "more"].map(|name| plugin.root.join(name));
        assert_eq!(plugin.skill_roots(), expected);
        let list = json!({ "skills": ["./more", "./skills", "./none"] });
        let (_folder, plugin) = self::plugin(&list, &files);
        assert_eq!(plugin.skill_roots().len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn plugin_links_to_outside_files_are_not_read() {
        let outside = tempfile::tempdir().unwrap();
        let text = r#"{"mcpServers": {"x": {"command": "x"}}}"#;
        fs::write(outside.path().join("s.json"), text).unwrap();
        let (_folder, plugin) = plugin(&json!({}), &[]);
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, plugin.root.join(name)).unwrap();
        };
        link(&outside.path().join("s.json"), ".mcp.json");
        link(outside.path(), "skills");
        assert!(plugin.mcp_servers().is_empty());
        assert!(plugin.skill_roots().is_empty());
    }
}
