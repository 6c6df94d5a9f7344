//! Validates settings after edits.

use toml::{Table, Value};

use super::error::EditError;
use super::request::EditRequest;
use crate::config::{Config, LoadRequest, RequestParams};
use crate::decode::{DecodeError, decode, dotted};
use crate::error::{ConfigError, SettingError};
use crate::requirements::Requirements;
use crate::schema::{ConfigFile, switch};
use crate::stack::LayerStack;
use crate::value;

/// Rejects edits that make the settings unusable. Settings that were unusable before may still be edited if no type
/// becomes invalid, so that they can be repaired step by step.
pub(super) fn check(
    old: &LayerStack,
    new: &LayerStack,
    request: EditRequest<'_>,
) -> Result<(), EditError> {
    let (Some(old_user), Some(new_user)) = (old.user(), new.user()) else {
        return Ok(());
    };
    if let Some(error) = own_error(new, &new_user.table)
        && own_error(old, &old_user.table).as_ref() != Some(&error)
    {
        return Err(EditError::Invalid(error));
    }
    check_pins(&new_user.table, new.requirements())?;
    let load_error = |stack: &LayerStack| {
        let request = LoadRequest {
            env: request.env,
            cwd: None,
            flags: request.flags,
            params: &RequestParams::default(),
            host_features: request.host_features,
        };
        Config::from_stack(stack, request).err().map(describe)
    };
    match load_error(new) {
        Some(error) if load_error(old).is_none() => Err(EditError::Invalid(error)),
        _ => Ok(()),
    }
}

/// The text of an error without its position, because the file is not written yet.
fn describe(error: ConfigError) -> String {
    match error {
        ConfigError::File(error) => error.setting.to_string(),
        other => other.to_string(),
    }
}

/// The error in the user's settings alone. A table may be incomplete if another layer completes it.
fn own_error(stack: &LayerStack, table: &Table) -> Option<String> {
    let error = decode::<ConfigFile>(table).err()?;
    if completed_elsewhere(stack, table, &error) {
        return None;
    }
    let setting = SettingError {
        key_path: dotted(&error.path),
        message: error.message,
    };
    Some(setting.to_string())
}

fn completed_elsewhere(stack: &LayerStack, table: &Table, error: &DecodeError) -> bool {
    let names: Vec<String> = error
        .path
        .iter()
        .filter_map(|segment| match segment {
            serde_path_to_error::Segment::Map { key } => Some(key.clone()),
            _ => None,
        })
        .collect();
    let is_table = value::get(table, &names).is_some_and(Value::is_table);
    let layers = stack.enabled().filter(|layer| layer.table != *table);
    is_table
        && layers
            .into_iter()
            .any(|layer| value::get(&layer.table, &names).is_some())
}

/// Rejects changes to features that requirements pin.
fn check_pins(user: &Table, requirements: &Requirements) -> Result<(), EditError> {
    let profiles = user.get("profiles").and_then(Value::as_table);
    let profiles = profiles
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let levels = std::iter::once(user).chain(profiles);
    let features = levels.filter_map(|level| level.get("features")?.as_table());
    for (key, value) in features.flatten() {
        if let Some(enabled) = switch(value) {
            let checked = requirements.check_feature(key, enabled);
            checked.map_err(|error| EditError::Invalid(error.to_string()))?;
        }
    }
    Ok(())
}
