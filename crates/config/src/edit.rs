//! Edits of the user's settings file: all or none of them, checked before anything is written.
//!
//! What is not edited stays byte for byte. The file is locked against other edits by this program, and
//! compared again right before it is replaced, so that nobody's change is lost.

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
use crate::value::Nulls;
use crate::value::Removal;
use crate::value::ValueError;

/// What happens to a value that is already at the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStrategy {
    /// The new value takes its place, with everything below it.
    Replace,
    /// Two tables are merged deeply; anything else is replaced.
    Upsert,
}

/// One edit.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEdit {
    /// The setting.
    pub path: KeyPath,
    /// What happens to it.
    pub change: Change,
}

/// What happens to a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It gets a value.
    Set(Value, MergeStrategy),
    /// It goes.
    Remove,
}

impl ConfigEdit {
    /// An edit as it comes over the wire; null removes the setting.
    pub fn from_json(
        key_path: &str,
        json: &Json,
        strategy: MergeStrategy,
    ) -> Result<Self, EditError> {
        let path = KeyPath::parse(key_path)?;
        let change = match json {
            Json::Null => Change::Remove,
            json => match value::from_json(json, Nulls::Refuse)? {
                Some(value) => Change::Set(value, strategy),
                None => Change::Remove,
            },
        };
        Ok(Self { path, change })
    }

    /// An edit that gives a setting a value.
    pub fn set(path: KeyPath, value: impl Into<Value>) -> Self {
        Self {
            path,
            change: Change::Set(value.into(), MergeStrategy::Replace),
        }
    }

    /// Makes the change in a table.
    fn apply_to_table(&self, table: &mut Table) -> Result<(), EditError> {
        let path = self.path.segments();
        match &self.change {
            Change::Remove => match value::remove(table, path) {
                Removal::Done => Ok(()),
                Removal::NoParent => Err(EditError::PathNotFound),
            },
            Change::Set(new, strategy) => {
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

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// Another file than the user's was asked for.
    #[error("Only writes to the user config are allowed")]
    Readonly,
    /// The file is not the one that the edit was made for.
    #[error("Configuration was modified since last read. Fetch latest version and retry.")]
    VersionConflict,
    /// The key path is none.
    #[error(transparent)]
    KeyPath(#[from] KeyPathError),
    /// The value has no TOML form.
    #[error("invalid value: {0}")]
    Value(#[from] ValueError),
    /// The settings would be wrong afterwards.
    #[error("Invalid configuration: {0}")]
    Invalid(String),
    /// There is nothing to remove, nor anywhere it could have been.
    #[error("Path not found")]
    PathNotFound,
    /// The settings as they are cannot be read.
    #[error("failed to load configuration: {0}")]
    Load(#[from] ConfigError),
    /// The file cannot be written.
    #[error("failed to persist config.toml: {0}")]
    Persist(#[from] io::Error),
}

/// The class of an error, for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditErrorKind {
    /// Another file than the user's was asked for.
    LayerReadonly,
    /// The file is not the one that the edit was made for.
    VersionConflict,
    /// The edit, or what comes of it, is wrong.
    Validation,
    /// There is nothing to remove.
    PathNotFound,
    /// Nothing that the client did wrong.
    Internal,
}

impl EditError {
    /// The class of the error.
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

/// Edits to make.
#[derive(Clone, Copy, Debug)]
pub struct EditRequest<'a> {
    /// The surroundings.
    pub env: &'a Environment,
    /// The flags of the process: they may override what is written.
    pub flags: &'a Overrides,
    /// What the host application switched.
    pub host_features: &'a BTreeMap<Feature, bool>,
    /// The file, an absolute path; only the user's is allowed.
    pub file: Option<&'a Path>,
    /// The version that the edits were made for.
    pub expected_version: Option<&'a str>,
    /// The edits, in order.
    pub edits: &'a [ConfigEdit],
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct EditOutcome {
    /// The file.
    pub file: PathBuf,
    /// The version of the user's layer now.
    pub version: String,
    /// The first setting that something overrides.
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
    let target = store::Target::lock(&file)?;
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

/// The text of a settings file after edits. What is not edited stays byte for byte.
pub fn edit_text(text: &str, edits: &[ConfigEdit]) -> Result<String, EditError> {
    let syntax = |error: toml::de::Error| EditError::Invalid(error.to_string());
    let mut table = parse_table(text).map_err(syntax)?;
    let before = version_of(&table);
    let mut document = document::Document::parse(text)?;
    for edit in edits {
        edit.apply_to_table(&mut table)?;
        document.apply(edit);
    }
    if version_of(&table) == before {
        return Ok(text.to_owned());
    }
    let result = document.finish();
    // The two ways of making the edits check each other: nothing is written that reads differently.
    let mut written = parse_table(&result).map_err(syntax)?;
    prune(&mut written);
    prune(&mut table);
    if version_of(&written) != version_of(&table) {
        let message = "the file cannot be edited without changing other settings";
        return Err(EditError::Invalid(message.to_owned()));
    }
    Ok(result)
}

/// Takes empty tables away: they say nothing, and removing the last key of a table may remove it too.
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
