//! `[features.code_mode]`: scripts of the model.

use serde::Deserialize;
use toml::{Table, Value};

use crate::error::ConfigError;
use crate::features::Feature;

/// Settings of scripts of the model. Whether it may write some is said by the features and by the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeModeSettings {
    /// The namespaces whose tools scripts cannot call.
    pub excluded_tool_namespaces: Vec<String>,
}

impl CodeModeSettings {
    /// The settings in merged layers.
    pub(super) fn resolve(merged: &Table) -> Result<Self, ConfigError> {
        let key = Feature::CodeMode.key();
        let table = merged
            .get("features")
            .and_then(|features| features.get(key));
        let excluded = table.and_then(|table| table.get("excluded_tool_namespaces"));
        let Some(excluded) = excluded else {
            return Ok(Self::default());
        };
        let read = Vec::<String>::deserialize(Value::clone(excluded));
        let excluded_tool_namespaces = read.map_err(|_| {
            ConfigError::setting(format!(
                "features.{key}.excluded_tool_namespaces must be an array of strings"
            ))
        })?;
        Ok(Self {
            excluded_tool_namespaces,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_read_from_the_table_of_the_feature() {
        let settings = |text: &str| CodeModeSettings::resolve(&toml::from_str(text).unwrap());
        for (text, expected) in [
            ("", vec![]),
            ("features.code_mode = true", vec![]),
            (
                "[features.code_mode]\nexcluded_tool_namespaces = ['a']",
                vec!["a"],
            ),
        ] {
            assert_eq!(settings(text).unwrap().excluded_tool_namespaces, expected);
        }
        let error = settings("features.code_mode.excluded_tool_namespaces = 'a'").unwrap_err();
        assert!(error.to_string().contains("must be an array of strings"));
    }
}
