//! Replaces unknown values of enumerated settings, as written by later versions.
//!
//! One such value must not make all settings unusable. Where this cannot weaken anything, the value is removed or replaced
//! by the strictest known one, and a warning is added. Settings for which that is not safe (approvals, the sandbox,
//! permissions, storage of credentials) are not listed here: there an unknown value remains an error.

use serde_path_to_error::{Path, Segment};
use toml::{Table, Value};

use crate::decode::{DecodeError, KeyNames, decode_reporting_unknown, dotted};
use crate::locate;
use crate::schema::{ConfigFile, is_of_feature};
use crate::stack::LayerStack;
use crate::warning::ConfigWarning;

/// Limit on replaced values.
const MAX_REPLACED: usize = 64;

/// The replacement of an unknown value.
#[derive(Clone, Copy, Debug)]
enum Fallback {
    Nothing,
    Value(&'static str),
}
use Fallback::{Nothing, Value as Known};

/// Settings by path (`*` is any name or index); each includes everything below it. Top-level settings also apply inside
/// profiles.
const RULES: &[(&[&str], Fallback)] = &[
    (&["model_reasoning_summary"], Nothing),
    (&["model_verbosity"], Nothing),
    (&["personality"], Nothing),
    (&["web_search"], Known("disabled")),
    (&["tools", "web_search", "context_size"], Nothing),
    (&["approvals_reviewer"], Known("user")),
    (
        &["apps", "*", "default_tools_approval_mode"],
        Known("prompt"),
    ),
    (
        &["apps", "*", "tools", "*", "approval_mode"],
        Known("prompt"),
    ),
    (
        &["mcp_servers", "*", "default_tools_approval_mode"],
        Known("prompt"),
    ),
    (
        &["mcp_servers", "*", "tools", "*", "approval_mode"],
        Known("prompt"),
    ),
    (&["model_providers", "*"], Nothing),
    (&["projects", "*", "trust_level"], Nothing),
    (&["tool_suggest", "discoverables", "*"], Nothing),
    (&["history", "persistence"], Known("none")),
    (&["otel", "exporter"], Known("none")),
    (&["otel", "trace_exporter"], Known("none")),
    (&["otel", "metrics_exporter"], Known("none")),
    (&["realtime", "version"], Nothing),
    (&["realtime", "type"], Nothing),
    (&["tui", "notification_method"], Nothing),
    (&["tui", "alternate_screen"], Nothing),
    (&["file_opener"], Nothing),
];

/// Merged settings in typed form.
pub(crate) struct DecodedSettings {
    pub(crate) file: ConfigFile,
    pub(crate) unknown_keys: Vec<KeyNames>,
    /// Warnings about replaced values.
    pub(crate) warnings: Vec<ConfigWarning>,
}

/// Decodes merged settings and replaces unknown values.
pub(crate) fn decode_without_unknown(
    stack: &LayerStack,
    merged: &Table,
) -> Result<DecodedSettings, DecodeError> {
    let mut table = None;
    let mut warnings = Vec::new();
    loop {
        let error = match decode_reporting_unknown(table.as_ref().unwrap_or(merged)) {
            Ok((file, mut unknown_keys)) => {
                unknown_keys.retain(|names| !is_of_feature(merged, names));
                return Ok(DecodedSettings {
                    file,
                    unknown_keys,
                    warnings,
                });
            }
            Err(error) => error,
        };
        let table = table.get_or_insert_with(|| merged.clone());
        match replace(table, &error) {
            Some(fallback) if warnings.len() < MAX_REPLACED => {
                warnings.push(warning(stack, &error, fallback));
            }
            _ => return Err(error),
        }
    }
}

/// Replaces the value that caused an error, if its setting is listed.
fn replace(table: &mut Table, error: &DecodeError) -> Option<Fallback> {
    if !error.message.starts_with("unknown variant ") {
        return None;
    }
    let names = names(&error.path);
    let within_profile = match names.as_slice() {
        [profiles, _, ..] if profiles == "profiles" => 2,
        _ => 0,
    };
    let (rule, fallback) = RULES.iter().find(|(rule, _)| {
        let setting = names.iter().skip(within_profile);
        names.len() - within_profile >= rule.len()
            && rule
                .iter()
                .zip(setting)
                .all(|(part, name)| *part == "*" || part == name)
    })?;
    let place = names.get(..within_profile + rule.len())?;
    if is_provider_in_use(table, place) {
        return None;
    }
    put(table, place, *fallback).then_some(*fallback)
}

/// Whether this is the provider that is used. Without it the settings would send requests elsewhere, or nowhere.
fn is_provider_in_use(table: &Table, place: &[String]) -> bool {
    let [providers, id] = place else {
        return false;
    };
    let names_it = |settings: &Table| {
        let chosen = settings.get("model_provider").and_then(Value::as_str);
        chosen == Some(id.as_str())
    };
    let profiles = table.get("profiles").and_then(Value::as_table);
    let mut profiles = profiles
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    providers == "model_providers" && (names_it(table) || profiles.any(names_it))
}

fn names(path: &Path) -> Vec<String> {
    let name = |segment: &Segment| match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Unknown => None,
    };
    path.iter().filter_map(name).collect()
}

/// Sets or removes the value at a path. Returns false if it does not exist.
fn put(table: &mut Table, place: &[String], fallback: Fallback) -> bool {
    let Some((last, around)) = place.split_last() else {
        return false;
    };
    let Some((first, rest)) = around.split_first() else {
        return put_in_table(table, last, fallback);
    };
    let inner = rest
        .iter()
        .try_fold(table.get_mut(first), |value, name| match value? {
            Value::Table(table) => Some(table.get_mut(name)),
            Value::Array(items) => Some(items.get_mut(name.parse::<usize>().ok()?)),
            _ => None,
        });
    match (inner.flatten(), last.parse::<usize>()) {
        (Some(Value::Table(table)), _) => put_in_table(table, last, fallback),
        (Some(Value::Array(items)), Ok(at)) if at < items.len() => {
            items.remove(at);
            true
        }
        _ => false,
    }
}

fn put_in_table(table: &mut Table, key: &str, fallback: Fallback) -> bool {
    match fallback {
        Nothing => table.remove(key).is_some(),
        Known(value) => table.insert(key.to_owned(), Value::from(value)).is_some(),
    }
}

fn warning(stack: &LayerStack, error: &DecodeError, fallback: Fallback) -> ConfigWarning {
    let setting = dotted(&error.path).unwrap_or_default();
    let summary = match fallback {
        Nothing => format!("The value of `{setting}` is not known and is ignored."),
        Known(value) => {
            format!("The value of `{setting}` is not known; `{value}` takes its place.")
        }
    };
    let place = stack.enabled().rev().find_map(|layer| {
        let names = names(&error.path);
        crate::value::get(&layer.table, &names)?;
        Some((
            layer.source.file(),
            layer
                .text()
                .and_then(|text| locate::find(text, &error.path)),
        ))
    });
    let (path, range) = place.unwrap_or_default();
    ConfigWarning {
        details: Some(error.message.clone()),
        path,
        range,
        ..ConfigWarning::new(summary)
    }
}
