//! A layer of settings: its table, its version, and whether it is enabled.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toml::Table;

use crate::error::ConfigError;
use crate::locate;
use crate::nesting::parse_table;
use crate::path_keys::resolve_paths;
use crate::paths::PathBase;
use crate::project_scope::SettingScope;
use crate::read::read_bounded;
use crate::source::LayerSource;
use crate::value::table_to_json;

/// The settings of one source.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The source of the layer.
    pub source: LayerSource,
    /// The settings, with unknown keys; paths are absolute.
    pub table: Table,
    /// A hash of the settings, independent of comments and formatting.
    pub version: String,
    /// Why the layer is disabled; `None` if it is enabled.
    pub disabled_reason: Option<String>,
    /// Which of its settings take effect.
    scope: SettingScope,
    /// The MCP servers of others, which the layer of a project cannot direct elsewhere.
    servers_of_others: Arc<BTreeSet<String>>,
    /// The original text, for error positions.
    text: Option<String>,
}

impl Layer {
    /// Creates a layer from a table without a text.
    pub(crate) fn new(source: LayerSource, mut table: Table, base: PathBase<'_>) -> Self {
        let workspace = match &source {
            LayerSource::Project { folder } => folder.parent(),
            _ => None,
        };
        resolve_paths(&mut table, base, workspace);
        Self {
            version: version_of(&table),
            scope: match source {
                LayerSource::Project { .. } => SettingScope::Project,
                _ => SettingScope::Everything,
            },
            servers_of_others: Arc::default(),
            source,
            table,
            disabled_reason: None,
            text: None,
        }
    }

    /// Creates a layer from the text of a file.
    pub(crate) fn parse(
        source: LayerSource,
        text: String,
        base: PathBase<'_>,
    ) -> Result<Self, ConfigError> {
        let table = parse_table(&text).map_err(|error: toml::de::Error| {
            let span = error.span().unwrap_or_default();
            let range = locate::range_of(&text, span);
            match source.file() {
                Some(file) => ConfigError::in_file(file, range, error.message().to_owned(), None),
                None => ConfigError::in_table(format!("{source}: {}", error.message()), None),
            }
        })?;
        let mut layer = Self::new(source, table, base);
        layer.text = Some(text);
        Ok(layer)
    }

    /// Reads a layer from its file; it has no settings if the file does not exist.
    pub(crate) fn read(source: LayerSource, base: PathBase<'_>) -> Result<Self, ConfigError> {
        let path = source.file().unwrap_or_default();
        let text = read_bounded(&path).map_err(|source| ConfigError::Read { path, source })?;
        Self::parse(source, text.unwrap_or_default(), base)
    }

    /// Disables the layer for a reason.
    pub(crate) fn disabled(mut self, reason: String) -> Self {
        self.disabled_reason = Some(reason);
        self
    }

    /// Sets the scope of a project's layer.
    pub(crate) fn with_scope(mut self, scope: SettingScope) -> Self {
        self.scope = scope;
        self
    }

    /// Protects the MCP servers of others from the layer of a project.
    pub(crate) fn below_servers(mut self, names: &Arc<BTreeSet<String>>) -> Self {
        self.servers_of_others = Arc::clone(names);
        self
    }

    /// Whether the layer is enabled.
    pub fn is_enabled(&self) -> bool {
        self.disabled_reason.is_none()
    }

    /// The settings of the layer that take effect. For a project they are limited.
    pub(crate) fn effective_table(&self) -> std::borrow::Cow<'_, Table> {
        self.scope.split(&self.table, &self.servers_of_others).0
    }

    /// The settings of the layer that have no effect because a project may not make them.
    pub(crate) fn withheld_keys(&self) -> Vec<String> {
        self.scope.split(&self.table, &self.servers_of_others).1
    }

    pub(crate) fn scope(&self) -> SettingScope {
        self.scope
    }

    /// The folder whose rules, hooks and agent roles take effect if the layer is enabled.
    pub(crate) fn active_folder(&self) -> Option<&Path> {
        self.folder()
            .filter(|_| self.scope != SettingScope::Harmless)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The folder whose rules, hooks, skills and agent roles belong to the layer.
    pub fn folder(&self) -> Option<&Path> {
        self.source.folder()
    }
}

/// Hash of a table: SHA-256 of its compact JSON, keys sorted.
pub(crate) fn version_of(table: &Table) -> String {
    let digest = Sha256::digest(table_to_json(table).to_string());
    let mut version = String::from("sha256:");
    for byte in digest {
        for nibble in [byte >> 4, byte & 0xf] {
            version.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    version
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn layer(source: LayerSource, text: &str) -> Layer {
        let base = PathBase {
            folder: Path::new("/c"),
            user_home: None,
        };
        Layer::parse(source, text.to_owned(), base).unwrap()
    }

    fn user() -> LayerSource {
        LayerSource::User {
            file: PathBuf::from("/c/config.toml"),
        }
    }

    #[test]
    fn the_version_depends_on_content_only() {
        let empty = layer(user(), "# nothing\n");
        assert_eq!(
            empty.version,
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        );
        let one = layer(user(), "b = 1 # x\na = { c = 'x' }");
        let other = layer(user(), "b  =  1\n\n[a]\nc = \"x\"");
        assert_eq!(one.version, other.version);
        assert_ne!(one.version, empty.version);
    }

    #[test]
    fn a_project_may_not_redirect_or_run_programs() {
        let text = "model = 'm'\nnotify = ['x']\nprofile = 'p'\n[model_providers.p]\nname = 'n'";
        let project = layer(
            LayerSource::Project {
                folder: PathBuf::from("/p/.codex"),
            },
            text,
        );
        assert_eq!(*project.effective_table(), "model = 'm'".parse().unwrap());
        assert_eq!(
            project.withheld_keys(),
            ["model_providers", "notify", "profile"]
        );
        let user = layer(user(), text);
        assert_eq!(*user.effective_table(), user.table);
        assert!(user.withheld_keys().is_empty());
    }

    #[test]
    fn a_syntax_error_has_its_place() {
        let base = PathBase {
            folder: Path::new("/c"),
            user_home: None,
        };
        let error = Layer::parse(user(), "a = 1\nb = = 2\n".to_owned(), base).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("/c/config.toml:2:5: "), "{text}");
    }
}
