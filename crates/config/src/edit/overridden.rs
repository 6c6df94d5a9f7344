//! Finds out whether a written setting is in force.

use serde_json::Value as Json;
use toml::{Table, Value};

use super::change::ConfigEdit;
use crate::layer::Layer;
use crate::source::LayerSource;
use crate::stack::LayerStack;
use crate::value;

/// A written setting that another layer overrides.
#[derive(Clone, Debug, PartialEq)]
pub struct Overridden {
    /// An explanation for the user.
    pub message: String,
    /// The overriding layer.
    pub source: LayerSource,
    /// The version of that layer.
    pub version: String,
    /// The value in force.
    pub effective: Json,
}

/// The first edit that another layer overrides.
pub(super) fn first(stack: &LayerStack, edits: &[ConfigEdit]) -> Option<Overridden> {
    let user = stack.user()?;
    let merged = stack.merged();
    edits.iter().find_map(|edit| {
        let path = edit.path.segments();
        let written = value::get(&user.table, path);
        let effective = value::get(&merged, path);
        if is_effective(effective, written) {
            return None;
        }
        let winner = stack.enabled().rev().find(|layer| decides(layer, path))?;
        Some(Overridden {
            message: winner.source.overridden_message(),
            source: winner.source.clone(),
            version: winner.version.clone(),
            effective: effective.map_or(Json::Null, value::to_json),
        })
    })
}

/// Whether a written value is in force. Additional keys of other layers are ignored.
fn is_effective(effective: Option<&Value>, written: Option<&Value>) -> bool {
    match (effective, written) {
        (Some(Value::Table(effective)), Some(Value::Table(written))) => written
            .iter()
            .all(|(key, value)| is_effective(effective.get(key), Some(value))),
        (effective, written) => effective.map(value::to_json) == written.map(value::to_json),
    }
}

/// Whether a layer other than the user's sets the path, or replaces a table on the path.
fn decides(layer: &Layer, path: &[String]) -> bool {
    if matches!(layer.source, LayerSource::User { .. }) {
        return false;
    }
    let mut table: &Table = &layer.effective_table();
    for (at, key) in path.iter().enumerate() {
        match table.get(key) {
            None => return false,
            Some(Value::Table(inner)) if at + 1 < path.len() => table = inner,
            Some(_) => return true,
        }
    }
    false
}
