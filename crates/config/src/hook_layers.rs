//! Where hooks are configured. What is in these files and tables is not read here.

use std::path::PathBuf;

use serde_json::Value;

use crate::layer::Layer;
use crate::source::LayerSource;
use crate::stack::LayerStack;
use crate::value::table_to_json;

/// The table of hooks in settings.
const HOOKS: &str = "hooks";
/// The table with the user's decisions in that table.
const STATE: &str = "state";
/// Stands for the file of settings that have none.
const FLAGS: &str = "/<session-flags>/config.toml";

/// A layer that may configure hooks.
#[derive(Clone, Debug)]
pub struct HookLayer {
    pub source: LayerSource,
    /// The folder that may contain a file of hooks. A project's is included only if it is trusted and sandboxed commands
    /// cannot have written it.
    pub folder: Option<PathBuf>,
    /// The settings file.
    pub settings_file: PathBuf,
    /// The table of hooks in the settings, if there is one.
    pub table: Option<Value>,
}

impl LayerStack {
    /// The enabled layers that may configure hooks, lowest precedence first.
    pub fn hook_layers(&self) -> Vec<HookLayer> {
        let layer = |layer: &Layer| HookLayer {
            source: layer.source.clone(),
            folder: layer.active_folder().map(PathBuf::from),
            settings_file: layer.source.file().unwrap_or_else(|| PathBuf::from(FLAGS)),
            table: layer
                .effective_table()
                .get(HOOKS)
                .and_then(|hooks| hooks.as_table())
                .map(table_to_json),
        };
        let layers = self.enabled().map(layer);
        layers
            .filter(|layer| layer.folder.is_some() || layer.table.is_some())
            .collect()
    }

    /// The user's decisions about hooks. Those of other layers do not count: a project must not trust its own hooks.
    pub fn hook_states(&self) -> Value {
        let table = self.user().filter(|user| user.is_enabled());
        let table = table.and_then(|user| user.table.get(HOOKS)?.get(STATE)?.as_table());
        table.map_or(Value::Null, table_to_json)
    }
}
