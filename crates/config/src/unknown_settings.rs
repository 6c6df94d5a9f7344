//! Unknown settings as errors, for people who asked for it. Otherwise they are warnings.

use toml::{Table, Value};

use crate::decode::{KeyNames, decode_reporting_unknown};
use crate::error::{ConfigError, FileError, SettingError, UnknownSettings};
use crate::features::{Feature, is_without_effect};
use crate::layer::Layer;
use crate::locate;
use crate::schema::ConfigFile;
use crate::stack::LayerStack;

/// The table of features.
const FEATURES: &str = "features";

/// Refuses unknown settings of all layers, `unknown` those of the merged settings.
pub(crate) fn refuse(stack: &LayerStack, unknown: &[KeyNames]) -> Result<(), ConfigError> {
    let mut found = Vec::new();
    for layer in stack.enabled() {
        let table = layer.effective_table();
        let in_layer = unknown.iter().filter(|names| has_value(&table, names));
        let mut all: Vec<KeyNames> = in_layer.cloned().collect();
        all.extend(unknown_features(&table));
        found.extend(all.iter().map(|names| unknown_in_layer(layer, names)));
    }
    if found.is_empty() {
        return Ok(());
    }
    found.sort_by_key(|(place, _)| *place);
    let lines = found.into_iter().map(|(_, line)| line).collect();
    Err(ConfigError::Unknown(UnknownSettings(lines)))
}

/// Refuses unknown settings of a file that is no layer of its own, such as that of a profile.
pub fn refuse_unknown_settings(path: &std::path::Path, text: &str) -> Result<(), ConfigError> {
    let Ok(table) = text.parse::<Table>() else {
        // Whoever uses the file reports it.
        return Ok(());
    };
    let decoded = decode_reporting_unknown::<ConfigFile>(&table);
    let mut unknown = decoded.map(|(_, unknown)| unknown).unwrap_or_default();
    unknown.extend(unknown_features(&table));
    let mut found: Vec<_> = (unknown.iter())
        .map(|names| (locate::find_key(text, names), names))
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    found.sort_by_key(|(range, _)| range.map(|range| (range.start.line, range.start.column)));
    let lines = found.into_iter().map(|(range, names)| {
        let setting = setting(names);
        let file = range.map(|range| FileError {
            path: path.to_owned(),
            range,
            setting: setting.clone(),
        });
        file.map_or_else(
            || format!("{}: {setting}", path.display()),
            |it| it.to_string(),
        )
    });
    Err(ConfigError::Unknown(UnknownSettings(lines.collect())))
}

/// The order of a finding in its layer, and its text.
fn unknown_in_layer(layer: &Layer, names: &[String]) -> ((usize, usize), String) {
    let setting = setting(names);
    let Some(path) = layer.source.file() else {
        return (
            (0, 0),
            format!("{setting}, from a flag or a managed setting"),
        );
    };
    match layer.text().and_then(|text| locate::find_key(text, names)) {
        Some(range) => {
            let place = (range.start.line, range.start.column);
            let error = FileError {
                path,
                range,
                setting,
            };
            (place, error.to_string())
        }
        None => ((0, 0), format!("{}: {setting}", path.display())),
    }
}

fn setting(names: &[String]) -> SettingError {
    SettingError {
        message: format!("unknown setting `{}`", names.join(".")),
        key_path: None,
    }
}

/// Features that no release knows. The table itself takes any name.
fn unknown_features(table: &Table) -> impl Iterator<Item = KeyNames> {
    let profiles = table.get("profiles").and_then(Value::as_table);
    let profiles = profiles.into_iter().flatten();
    let tables = profiles.map(|(name, profile)| {
        let path = vec!["profiles".to_owned(), name.clone(), FEATURES.to_owned()];
        (path, profile.get(FEATURES))
    });
    let all = std::iter::once((vec![FEATURES.to_owned()], table.get(FEATURES))).chain(tables);
    all.flat_map(|(path, features)| {
        let features = features.and_then(Value::as_table).into_iter().flatten();
        let unknown = features
            .map(|(name, _)| name)
            .filter(|name| Feature::parse(name).is_none() && !is_without_effect(name));
        unknown
            .map(|name| path.iter().cloned().chain([name.clone()]).collect())
            .collect::<Vec<KeyNames>>()
    })
}

/// Whether a table has a value at this place.
pub(crate) fn has_value(table: &Table, names: &[String]) -> bool {
    let Some((first, rest)) = names.split_first() else {
        return false;
    };
    let Some(value) = table.get(first) else {
        return false;
    };
    match value {
        _ if rest.is_empty() => true,
        Value::Table(table) => has_value(table, rest),
        // A key inside an array is attributed to the array as a whole.
        Value::Array(_) => true,
        _ => false,
    }
}
