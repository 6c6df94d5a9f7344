//! One edit of a setting, and its effect on a table.

use serde_json::Value as Json;
use toml::{Table, Value};

use super::error::EditError;
use crate::key_path::KeyPath;
use crate::merge::merge;
use crate::value;
use crate::value::{NullHandling, RemovalOutcome};

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
    pub(super) fn apply_to_table(&self, table: &mut Table) -> Result<(), EditError> {
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
