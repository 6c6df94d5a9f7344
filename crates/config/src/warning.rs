//! What is odd about settings without stopping anything.

use std::path::PathBuf;

use crate::error::ConfigError;
use crate::layer::Layer;
use crate::locate::TextRange;
use crate::project_layers::holds_settings;
use crate::source::LayerSource;
use crate::stack::LayerStack;

const USING_DEFAULTS: &str = "Invalid configuration; using defaults.";

/// Something that users should know about their settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    /// What it is.
    pub summary: String,
    /// More about it.
    pub details: Option<String>,
    /// The file that it is about.
    pub path: Option<PathBuf>,
    /// The place in that file.
    pub range: Option<TextRange>,
}

impl ConfigWarning {
    /// A warning that is about no file.
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            details: None,
            path: None,
            range: None,
        }
    }

    /// Whether defaults take the place of all settings.
    pub fn replaces_settings(&self) -> bool {
        self.summary == USING_DEFAULTS
    }

    /// The warning when a server starts without its settings because they cannot be used.
    pub fn using_defaults(error: &ConfigError) -> Self {
        let place = error.place();
        Self {
            summary: USING_DEFAULTS.to_owned(),
            details: Some(error.to_string()),
            path: place.map(|place| place.path.clone()),
            range: place.map(|place| place.range),
        }
    }
}

/// The folders that are ignored because their project is not trusted.
pub(crate) fn disabled_projects(stack: &LayerStack) -> Option<ConfigWarning> {
    let mut summary = String::from(
        "Project config.toml files are disabled in the following folders. Settings, rules, hooks and \
         agent roles in those folders are ignored until the project is trusted.",
    );
    let length = summary.len();
    let disabled = stack.layers().iter().filter_map(|layer| {
        let folder = layer.folder()?;
        let reason = layer.disabled_reason.as_deref()?;
        holds_settings(folder)
            .unwrap_or(true)
            .then_some((folder, reason))
    });
    for (at, (folder, reason)) in disabled.enumerate() {
        let number = at + 1;
        summary.push_str(&format!(
            "\n    {number}. {}\n       {reason}",
            folder.display()
        ));
    }
    (summary.len() > length).then(|| ConfigWarning::new(summary))
}

/// The settings of trusted projects that have no effect there.
pub(crate) fn withheld_keys(stack: &LayerStack) -> impl Iterator<Item = ConfigWarning> {
    stack.enabled().filter_map(|layer| {
        let keys = layer.withheld_keys();
        if keys.is_empty() {
            return None;
        }
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        Some(ConfigWarning {
            details: Some(layer.reach().advice().to_owned()),
            path: layer.source.file(),
            ..ConfigWarning::new(format!(
                "Settings that a project may not make are ignored: {}",
                keys.join(", "),
            ))
        })
    })
}

/// The keys of files that no type knows, a warning per file.
pub(crate) fn unknown_keys(stack: &LayerStack, unknown: &[String]) -> Vec<ConfigWarning> {
    if unknown.is_empty() {
        return Vec::new();
    }
    let files = stack.enabled().filter(|layer| {
        !matches!(
            layer.source,
            LayerSource::SessionFlags | LayerSource::ManagedPreferences { .. }
        )
    });
    files
        .filter_map(|layer| unknown_in(layer, unknown))
        .collect()
}

fn unknown_in(layer: &Layer, unknown: &[String]) -> Option<ConfigWarning> {
    let named: Vec<String> = unknown
        .iter()
        .filter(|path| holds(&layer.table, path))
        .map(|path| format!("`{path}`"))
        .collect();
    if named.is_empty() {
        return None;
    }
    Some(ConfigWarning {
        path: layer.source.file(),
        ..ConfigWarning::new(format!(
            "Unknown settings are ignored: {}",
            named.join(", ")
        ))
    })
}

/// Whether a table has something at a path whose names may themselves hold dots.
fn holds(table: &toml::Table, path: &str) -> bool {
    table.iter().any(|(key, value)| {
        let Some(rest) = path.strip_prefix(key.as_str()) else {
            return false;
        };
        match rest.strip_prefix('.') {
            None => rest.is_empty(),
            Some(rest) => match value {
                toml::Value::Table(table) => holds(table, rest),
                // Inside of arrays the place is not worth telling apart.
                toml::Value::Array(_) => true,
                _ => false,
            },
        }
    })
}
