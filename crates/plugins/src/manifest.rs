//! The manifest of a plugin: `.codex-plugin/plugin.json`, or the same file of another coding agent.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::contained;
use crate::interface::{InterfaceForm, PluginInterface, collapse};

/// Where manifests lie, in the order in which they are looked for.
const FILES: [&str; 3] = [
    ".codex-plugin/plugin.json",
    ".claude-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
];
/// The limit on the size of a manifest.
const FILE_LIMIT: u64 = 1024 * 1024;
/// The limit on the entries of a list.
const MAX_ENTRIES: usize = 100;
/// The limit on the characters of a description for the model.
const DESCRIPTION: usize = 1024;

/// What a manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginManifest {
    /// The name; by default that of the folder.
    pub name: String,
    /// The version, as text.
    pub version: Option<String>,
    /// What the plugin is for, as written.
    pub description: Option<String>,
    /// Words to find the plugin by.
    pub keywords: Vec<String>,
    /// Folders with more skills.
    pub(crate) skills: Vec<PathBuf>,
    /// The file with MCP servers, in place of `.mcp.json`.
    pub(crate) mcp_servers: Option<PathBuf>,
    /// MCP servers in the manifest itself, in place of a file.
    pub(crate) inline_servers: Option<Map<String, Value>>,
    /// The file with apps, in place of `.app.json`.
    pub(crate) apps: Option<PathBuf>,
    /// The hooks, in place of the usual file.
    pub(crate) hooks: Option<ManifestHooks>,
    /// How the plugin is presented to people.
    pub interface: Option<PluginInterface>,
}

/// Where hooks of a manifest are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManifestHooks {
    /// Files with hooks.
    pub(crate) files: Vec<PathBuf>,
    /// Tables in the manifest itself, of the form of such files.
    pub(crate) tables: Vec<Value>,
}

impl ManifestHooks {
    /// A path, a table, or a list of them.
    fn resolve(
        written: Value,
        path: impl Fn(&str, Option<Value>) -> Option<PathBuf>,
    ) -> Option<Self> {
        let is_list = written.is_array();
        let mut hooks = Self::default();
        for entry in entries(Some(written)) {
            if entry.get("hooks").is_some() {
                hooks.tables.push(entry);
            } else {
                hooks.files.extend(path("hooks", Some(entry)));
            }
        }
        let has_any = !hooks.files.is_empty() || !hooks.tables.is_empty();
        (is_list || has_any).then_some(hooks)
    }
}

/// The entries of a list, or the only one.
fn entries(written: Option<Value>) -> impl Iterator<Item = Value> {
    let entries = match written {
        Some(Value::Array(entries)) => entries,
        single => single.into_iter().collect(),
    };
    entries.into_iter().take(MAX_ENTRIES)
}

/// The manifest as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ManifestForm {
    name: String,
    version: Option<String>,
    description: Option<String>,
    keywords: Vec<String>,
    skills: Option<Value>,
    mcp_servers: Option<Value>,
    apps: Option<Value>,
    hooks: Option<Value>,
    interface: Option<InterfaceForm>,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("missing plugin manifest: {}", .0.display())]
    Missing(PathBuf),
    #[error("missing or invalid plugin manifest: {}", .0.display())]
    Invalid(PathBuf),
}

/// The manifest file of the plugin in `root`, relative to it.
pub(crate) fn file_of(root: &Path) -> Option<&'static str> {
    FILES
        .into_iter()
        .find(|file| codex_mounts::is_file(root.join(file)))
}

/// Reads the manifest of the plugin in `root`.
pub(crate) fn read(root: &Path) -> Result<PluginManifest, ManifestError> {
    for file in FILES {
        let path = root.join(file);
        let text = match contained::read_text(root, &path, FILE_LIMIT) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                tracing::warn!("{} is not used: {error}", path.display());
                return Err(ManifestError::Invalid(path));
            }
        };
        return match serde_json::from_str::<ManifestForm>(&text) {
            Ok(form) => Ok(form.resolve(root)),
            Err(error) => {
                tracing::warn!("{} is not used: {error}", path.display());
                Err(ManifestError::Invalid(path))
            }
        };
    }
    Err(ManifestError::Missing(root.join(FILES[0])))
}

/// Reads the manifest of the plugin in `root`. Where it has none, `entry` is one, if it is there.
pub(crate) fn read_or(root: &Path, entry: Option<&str>) -> Result<PluginManifest, ManifestError> {
    match (read(root), entry) {
        (Err(ManifestError::Missing(file)), Some(entry)) => serde_json::from_str(entry)
            .map(|form: ManifestForm| form.resolve(root))
            .map_err(|_| ManifestError::Invalid(file)),
        (read, _) => read,
    }
}

/// The manifest in the entry of a marketplace, if the entry says more of the plugin than where it is.
pub(crate) fn of_entry(entry: &str) -> Option<String> {
    let mut entry: Map<String, Value> = serde_json::from_str(entry).ok()?;
    for own in ["source", "policy", "category"] {
        entry.remove(own);
    }
    (entry.len() > 1).then(|| Value::Object(entry).to_string())
}

/// Writes a manifest into the folder of a plugin that has none.
pub(crate) fn write(root: &Path, manifest: &str) -> io::Result<()> {
    let file = root.join(FILES[0]);
    if let Some(folder) = file.parent() {
        codex_private_files::create_dir_all(folder)?;
    }
    codex_private_files::write(&file, manifest.as_bytes())
}

/// The name of the plugin in a folder, if the folder is one.
#[must_use]
pub fn plugin_name(folder: &Path) -> Option<String> {
    let is_plugin = FILES.iter().any(|file| folder.join(file).is_file());
    let manifest = is_plugin.then(|| read(folder).ok()).flatten()?;
    Some(manifest.name)
}

impl ManifestForm {
    fn resolve(self, root: &Path) -> PluginManifest {
        let path = |key: &str, written: Option<Value>| {
            // Other agents allow lists and tables here.
            let written = written.as_ref()?.as_str()?;
            let joined = contained::join(root, written, "plugin");
            let warn = |error| {
                let root = root.display();
                tracing::warn!("`{key}` of the plugin in {root} is ignored: it {error}");
            };
            joined.map_err(warn).ok()
        };
        let hooks = self
            .hooks
            .and_then(|written| ManifestHooks::resolve(written, path));
        let (inline_servers, servers_file) = match self.mcp_servers {
            Some(Value::Object(servers)) => (Some(servers), None),
            written => (None, written),
        };
        PluginManifest {
            name: match self.name.trim() {
                "" => folder_name(root),
                _ => self.name,
            },
            version: self.version.filter(|version| !version.trim().is_empty()),
            description: self.description,
            keywords: self.keywords,
            skills: entries(self.skills)
                .filter_map(|written| path("skills", Some(written)))
                .collect(),
            mcp_servers: path("mcpServers", servers_file),
            inline_servers,
            apps: path("apps", self.apps),
            hooks,
            interface: self.interface.and_then(|form| form.resolve(root)),
        }
    }
}

impl PluginManifest {
    /// The name for people and the model.
    #[must_use]
    pub fn display_name(&self) -> &str {
        let shown = self.interface.as_ref();
        let shown = shown.and_then(|interface| interface.display_name.as_deref());
        shown.unwrap_or(&self.name)
    }

    /// The description for the model: one line of limited length.
    #[must_use]
    pub fn short_text(&self) -> Option<String> {
        let text = collapse(self.description.as_deref()?);
        let text: String = text.chars().take(DESCRIPTION).collect();
        (!text.is_empty()).then_some(text)
    }
}

fn folder_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> Result<PluginManifest, String> {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap().join("demo");
        std::fs::create_dir_all(root.join(".codex-plugin")).unwrap();
        std::fs::write(root.join(FILES[0]), text).unwrap();
        read(&root).map_err(|error| {
            let error = error.to_string();
            error.replace(&root.display().to_string(), "ROOT")
        })
    }

    #[test]
    fn folder_name_is_the_default_plugin_name() {
        for text in ["{}", r#"{"name": " "}"#] {
            assert_eq!(manifest(text).unwrap().name, "demo", "{text}");
        }
        assert_eq!(manifest(r#"{"name": "x"}"#).unwrap().display_name(), "x");
        let shown = r#"{"name": "x", "interface": {"displayName": "X!"}}"#;
        assert_eq!(manifest(shown).unwrap().display_name(), "X!");
    }

    #[test]
    fn paths_that_leave_the_plugin_are_ignored() {
        for path in [
            r#""../x""#,
            r#""./a/../../b""#,
            r#""./""#,
            r#""/etc""#,
            r#""./a\u0000""#,
            "[]",
        ] {
            let text = format!(r#"{{"skills": {path}, "mcpServers": {path}, "apps": {path}}}"#);
            let read = manifest(&text).unwrap();
            assert_eq!((read.mcp_servers, read.apps), (None, None));
            assert!(read.skills.is_empty());
        }
        let read = manifest(r#"{"skills": ["./more", "../x", 3, "./much"]}"#).unwrap();
        let ends = ["demo/more", "demo/much"];
        assert_eq!(read.skills.len(), 2);
        assert!(
            read.skills
                .iter()
                .zip(ends)
                .all(|(path, end)| path.ends_with(end))
        );
    }

    #[test]
    fn a_description_for_the_model_is_one_short_line() {
        let long = format!(r#"{{"description": " a\n\nb {}"}}"#, "x".repeat(2000));
        let read = manifest(&long).unwrap();
        let text = read.short_text().unwrap();
        assert!(text.starts_with("a b xxx"));
        assert_eq!(text.chars().count(), DESCRIPTION);
        assert!(read.description.unwrap().starts_with(" a\n\nb"));
        assert_eq!(
            manifest(r#"{"description": " "}"#).unwrap().short_text(),
            None
        );
    }

    #[test]
    fn invalid_manifest_is_an_error() {
        for text in [
            "",
            "{",
            "[1]",
            r#"{"name": 3}"#,
            r#"{"interface": {"screenshots": [3]}}"#,
        ] {
            let expected = "missing or invalid plugin manifest: ROOT/.codex-plugin/plugin.json";
            assert_eq!(manifest(text).unwrap_err(), expected, "{text}");
        }
        let huge = format!(r#"{{"name": "{}"}}"#, "x".repeat(2_000_000));
        assert!(manifest(&huge).is_err());
    }
}
