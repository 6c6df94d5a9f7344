//! Warnings about settings.

use std::path::PathBuf;

use crate::decode::KeyNames;
use crate::error::ConfigError;
use crate::layer::Layer;
use crate::locate::TextRange;
use crate::project_layers::has_settings;
use crate::source::LayerSource;
use crate::stack::LayerStack;
use crate::unknown_settings::has_value;
use crate::without_effect::{OF_OTHER_PROGRAMS, WITHOUT_EFFECT};

const USING_DEFAULTS: &str = "Invalid configuration; using defaults.";

/// A warning about settings for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    pub summary: String,
    /// Details.
    pub details: Option<String>,
    /// The file.
    pub path: Option<PathBuf>,
    /// The position in the file.
    pub range: Option<TextRange>,
}

impl ConfigWarning {
    /// A warning without a file.
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            details: None,
            path: None,
            range: None,
        }
    }

    /// Whether the server runs with defaults because the settings are invalid.
    pub fn replaces_settings(&self) -> bool {
        self.summary == USING_DEFAULTS
    }

    /// The warning of a server that starts with defaults because the settings are invalid.
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

/// The warning about project layers that are disabled because the project is not trusted.
pub(crate) fn disabled_projects(stack: &LayerStack) -> Option<ConfigWarning> {
    let mut summary = String::from(
        "Project config.toml files are disabled in the following folders. Settings, rules, hooks and \
         agent roles in those folders are ignored until the project is trusted.",
    );
    let length = summary.len();
    let disabled = stack.layers().iter().filter_map(|layer| {
        let folder = layer.folder()?;
        let reason = layer.disabled_reason.as_deref()?;
        has_settings(folder)
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

/// Warnings about project settings that have no effect.
pub(crate) fn withheld_keys(stack: &LayerStack) -> impl Iterator<Item = ConfigWarning> {
    stack.enabled().filter_map(|layer| {
        let keys = layer.withheld_keys();
        if keys.is_empty() {
            return None;
        }
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        Some(ConfigWarning {
            details: Some(layer.scope().advice().to_owned()),
            path: layer.source.file(),
            ..ConfigWarning::new(format!(
                "Settings that a project may not make are ignored: {}",
                keys.join(", "),
            ))
        })
    })
}

/// One warning per file with unknown keys.
pub(crate) fn unknown_keys<'s>(
    stack: &'s LayerStack,
    unknown: &'s [KeyNames],
) -> impl Iterator<Item = ConfigWarning> + 's {
    files(stack).filter_map(|layer| naming(layer, unknown, "Unknown settings are ignored"))
}

/// One warning per file with settings that have no effect here.
pub(crate) fn without_effect(stack: &LayerStack) -> impl Iterator<Item = ConfigWarning> {
    let told = WITHOUT_EFFECT
        .iter()
        .filter(|name| !OF_OTHER_PROGRAMS.contains(name));
    let names = |name: &&str| name.split('.').map(str::to_owned).collect();
    let keys: Vec<KeyNames> = told.map(names).collect();
    files(stack).filter_map(move |layer| naming(layer, &keys, "Settings that have no effect here"))
}

/// The strongest file with a key.
pub(crate) fn file_with(stack: &LayerStack, names: &KeyNames) -> Option<PathBuf> {
    let with_key = files(stack).filter(|layer| has_value(&layer.table, names));
    with_key.last().and_then(|layer| layer.source.file())
}

/// The layers that are files.
fn files(stack: &LayerStack) -> impl Iterator<Item = &Layer> {
    stack.enabled().filter(|layer| {
        !matches!(
            layer.source,
            LayerSource::SessionFlags | LayerSource::ManagedPreferences { .. }
        )
    })
}

/// A warning that names those of these keys that a file has.
fn naming(layer: &Layer, keys: &[KeyNames], what: &str) -> Option<ConfigWarning> {
    let named: Vec<String> = keys
        .iter()
        .filter(|names| has_value(&layer.table, names))
        .map(|names| format!("`{}`", names.join(".")))
        .collect();
    if named.is_empty() {
        return None;
    }
    Some(ConfigWarning {
        path: layer.source.file(),
        ..ConfigWarning::new(format!("{what}: {}", named.join(", ")))
    })
}
