//! What the user's configuration says of plugins and marketplaces.

use codex_config::{ConfigEdit, MergeStrategy};
use codex_plugins::PluginId;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::host::Host;

/// Enables a plugin.
pub(super) fn enable(host: &dyn Host, id: &PluginId) -> Result<(), Failure> {
    let doing = "failed to persist installed plugin config";
    edit_config(host, &key_of(id), &json!({ "enabled": true }), doing)
}

/// Removes what the configuration says of a plugin.
pub(super) fn forget(host: &dyn Host, id: &PluginId) -> Result<(), Failure> {
    edit_config(
        host,
        &key_of(id),
        &Value::Null,
        "failed to clear plugin config",
    )
}

fn key_of(id: &PluginId) -> String {
    format!("plugins.\"{id}\"")
}

/// Replaces a value in the user's file; null removes it. `doing` is what fails otherwise.
pub(super) fn edit_config(
    host: &dyn Host,
    key: &str,
    value: &Value,
    doing: &str,
) -> Result<(), Failure> {
    let edit = ConfigEdit::from_json(key, value, MergeStrategy::Replace);
    let edited = edit.and_then(|edit| host.configuration().edit(None, None, &[edit]));
    let failed = |error| Failure::internal(format!("{doing}: {error}"));
    edited.map(drop).map_err(failed)
}
