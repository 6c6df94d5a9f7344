//! Imports settings: translates those that have an equivalent, and adds the ones that are missing.

use std::path::Path;

use codex_config::{ConfigEdit, KeyPath, edit_text, parse_table};
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::error::MigrationError;
use crate::files::{Imported, read_existing, replace_file};

/// The new text of our settings. `None` if there is nothing to add.
pub(crate) fn plan(theirs: &Path, ours: &Path) -> Result<Option<String>, MigrationError> {
    let Some(text) = read_existing(theirs)? else {
        return Ok(None);
    };
    let translated = translate(&serde_json::from_str(&text)?)?;
    let text = read_existing(ours)?.unwrap_or_default();
    let invalid = |error: &dyn std::fmt::Display| MigrationError::Ours(error.to_string());
    let existing = parse_table(&text).map_err(|error| invalid(&error))?;
    let mut edits = Vec::new();
    missing(&translated, &existing, &mut Vec::new(), &mut edits);
    if edits.is_empty() {
        return Ok(None);
    }
    let edited = edit_text(&text, &edits).map_err(|error| invalid(&error))?;
    Ok(Some(edited))
}

pub(crate) fn import(theirs: &Path, ours: &Path) -> Result<Vec<Imported>, MigrationError> {
    if let Some(text) = plan(theirs, ours)? {
        replace_file(ours, &text)?;
        return Ok(vec![Imported::file(theirs, ours)]);
    }
    Ok(Vec::new())
}

fn translate(theirs: &Json) -> Result<Table, MigrationError> {
    let theirs = theirs.as_object().ok_or(MigrationError::NoTable)?;
    let mut ours = Table::new();
    let variables: Table = theirs
        .get("env")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), Value::String(text(value)?))))
        .collect();
    if !variables.is_empty() {
        let mut environment = Table::new();
        environment.insert("inherit".to_owned(), "core".into());
        environment.insert("set".to_owned(), variables.into());
        ours.insert("shell_environment_policy".to_owned(), environment.into());
    }
    let sandbox = theirs.get("sandbox");
    if sandbox.and_then(|sandbox| sandbox.get("enabled")) == Some(&Json::Bool(true)) {
        ours.insert("sandbox_mode".to_owned(), "workspace-write".into());
    }
    Ok(ours)
}

fn text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Collects the edits that add what `existing` lacks.
fn missing(new: &Table, existing: &Table, path: &mut Vec<String>, edits: &mut Vec<ConfigEdit>) {
    for (name, value) in new {
        path.push(name.clone());
        match (value, existing.get(name)) {
            (Value::Table(new), Some(Value::Table(existing))) => {
                missing(new, existing, path, edits);
            }
            (Value::Table(new), None) => missing(new, &Table::new(), path, edits),
            (value, None) => {
                let path = KeyPath::from_segments(path.iter().cloned());
                edits.extend(path.map(|path| ConfigEdit::set(path, value.clone())));
            }
            (_, Some(_)) => {}
        }
        path.pop();
    }
}
