//! Edits the user's settings file: all edits or none, validated before anything is written.
//!
//! Unedited text is kept byte for byte. The file is locked against other edits by this program and compared again just
//! before it is replaced, so that no change of another program is lost.

mod check;
mod document;
mod overridden;
mod store;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value as Json;
use toml::Table;
use toml::Value;

pub use overridden::Overridden;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::features::Feature;
use crate::key_path::KeyPath;
use crate::key_path::KeyPathError;
use crate::layer::version_of;
use crate::merge::merge;
use crate::nesting::parse_table;
use crate::overrides::Overrides;
use crate::stack::LayerStack;
use crate::stack::user_layer_of;
use crate::value;
use crate::value::NullHandling;
use crate::value::RemovalOutcome;
use crate::value::ValueError;

/// How a new value is combined with an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStrategy {
    /// Replaces the existing value.
    Replace,
    /// Merges two tables recursively; any other value is replaced.
    Upsert,
}

/// One edit.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEdit {
    pub path: KeyPath,
    pub change: SettingChange,
}

/// The change of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingChange {
    Set(Value, MergeStrategy),
    Remove,
}

impl ConfigEdit {
    /// Creates an edit from a JSON value; null removes the setting.
    pub fn from_json(
        key_path: &str,
        json: &Json,
        strategy: MergeStrategy,
    ) -> Result<Self, EditError> {
        let path = KeyPath::parse(key_path)?;
        let change = match json {
            Json::Null => SettingChange::Remove,
            json => match value::from_json(json, NullHandling::Refuse)? {
                Some(value) => SettingChange::Set(value, strategy),
                None => SettingChange::Remove,
            },
        };
        Ok(Self { path, change })
    }

    /// Creates an edit that sets a value.
    pub fn set(path: KeyPath, value: impl Into<Value>) -> Self {
        Self {
            path,
            change: SettingChange::Set(value.into(), MergeStrategy::Replace),
        }
    }

    /// Applies the edit to a table.
    fn apply_to_table(&self, table: &mut Table) -> Result<(), EditError> {
        let path = self.path.segments();
        match &self.change {
            SettingChange::Remove => match value::remove(table, path) {
                RemovalOutcome::Done => Ok(()),
                RemovalOutcome::NoParent => Err(EditError::PathNotFound),
            },
            SettingChange::Set(new, strategy) => {
                let old = value::get(table, path).cloned();
                let value = match (old, new, strategy) {
                    (Some(Value::Table(mut old)), Value::Table(new), MergeStrategy::Upsert) => {
                        merge(&mut old, new);
                        Value::Table(old)
                    }
                    _ => new.clone(),
                };
                value::set(table, path, value);
                Ok(())
            }
        }
    }
}

/// Why an edit was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The request names another file than the user's.
    #[error("Only writes to the user config are allowed")]
    Readonly,
    /// The file has changed since the version that the request names.
    #[error("Configuration was modified since last read. Fetch latest version and retry.")]
    VersionConflict,
    /// The key path is invalid.
    #[error(transparent)]
    KeyPath(#[from] KeyPathError),
    /// The value cannot be written as TOML.
    #[error("invalid value: {0}")]
    Value(#[from] ValueError),
    /// The settings would be invalid after the edit.
    #[error("Invalid configuration: {0}")]
    Invalid(String),
    /// Neither the setting to remove nor its table exists.
    #[error("Path not found")]
    PathNotFound,
    /// The current settings cannot be read.
    #[error("failed to load configuration: {0}")]
    Load(#[from] ConfigError),
    /// The file cannot be written.
    #[error("failed to persist config.toml: {0}")]
    Persist(#[from] io::Error),
}

/// The class of an error, for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditErrorKind {
    /// The request names another file than the user's.
    LayerReadonly,
    /// The file has changed since the version that the request names.
    VersionConflict,
    /// The edit or its result is invalid.
    Validation,
    /// The setting to remove does not exist.
    PathNotFound,
    /// An error that the client did not cause.
    Internal,
}

impl EditError {
    pub fn kind(&self) -> EditErrorKind {
        match self {
            Self::Readonly => EditErrorKind::LayerReadonly,
            Self::VersionConflict => EditErrorKind::VersionConflict,
            Self::KeyPath(_) | Self::Value(_) | Self::Invalid(_) => EditErrorKind::Validation,
            Self::PathNotFound => EditErrorKind::PathNotFound,
            Self::Load(_) | Self::Persist(_) => EditErrorKind::Internal,
        }
    }
}

/// A request to edit settings.
#[derive(Clone, Copy, Debug)]
pub struct EditRequest<'a> {
    pub env: &'a Environment,
    /// The flags of the process, which may override the new values.
    pub flags: &'a Overrides,
    /// Features that the host application switched.
    pub host_features: &'a BTreeMap<Feature, bool>,
    /// The absolute path of the file. Only the user's file is allowed.
    pub file: Option<&'a Path>,
    /// The version that the edits are based on.
    pub expected_version: Option<&'a str>,
    /// The edits, in order.
    pub edits: &'a [ConfigEdit],
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct EditOutcome {
    pub file: PathBuf,
    /// The new version of the user's layer.
    pub version: String,
    /// The first setting that another layer overrides.
    pub overridden: Option<Overridden>,
}

/// Edits the user's settings file.
pub fn edit_user_config(request: EditRequest<'_>) -> Result<EditOutcome, EditError> {
    let env = request.env;
    let file = env.user_config_file();
    if request
        .file
        .is_some_and(|asked| !store::same_file(asked, &file))
    {
        return Err(EditError::Readonly);
    }
    let target = store::LockedFile::lock(&file)?;
    let stack = LayerStack::load(env, None, request.flags)?;
    let old_text = target.read()?;
    let old = user_layer_of(env, old_text.clone())?;
    if request
        .expected_version
        .is_some_and(|expected| expected != old.version)
    {
        return Err(EditError::VersionConflict);
    }
    let new_text = edit_text(&old_text, request.edits)?;
    let new = user_layer_of(env, new_text.clone())?;
    let version = new.version.clone();
    let old_stack = stack.with_user(old);
    let new_stack = old_stack.with_user(new);
    check::check(&old_stack, &new_stack, request)?;
    if new_text != old_text {
        target.replace(&old_text, &new_text)?;
    }
    Ok(EditOutcome {
        file,
        version,
        overridden: overridden::first(&new_stack, request.edits),
    })
}

/// Applies edits to the text of a settings file. Unedited text is kept byte for byte.
pub fn edit_text(text: &str, edits: &[ConfigEdit]) -> Result<String, EditError> {
    let syntax = |error: toml::de::Error| EditError::Invalid(error.to_string());
    let mut table = parse_table(text).map_err(syntax)?;
    let before = version_of(&table);
    let mut document = document::SettingsDocument::parse(text)?;
    for edit in edits {
        edit.apply_to_table(&mut table)?;
        document.apply(edit);
    }
    if version_of(&table) == before {
        return Ok(text.to_owned());
    }
    let result = document.finish();
    // Both ways of applying the edits must agree; otherwise nothing is written.
    let mut written = parse_table(&result).map_err(syntax)?;
    prune(&mut written);
    prune(&mut table);
    if version_of(&written) != version_of(&table) {
        let message = "the file cannot be edited without changing other settings";
        return Err(EditError::Invalid(message.to_owned()));
    }
    Ok(result)
}

/// Removes empty tables before the comparison: they have no meaning, and removing a table's last key may remove it too.
fn prune(table: &mut Table) {
    table.retain(|_, value| match value {
        Value::Table(inner) => {
            prune(inner);
            !inner.is_empty()
        }
        _ => true,
    });
}

#[cfg(test)]
mod tests;
