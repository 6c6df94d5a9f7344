//! Settings from flags: `-c key=value`, `--enable`, `--disable`, and the settings of a request.

use serde_json::{Map, Value as Json};
use toml::{Table, Value};

use crate::features::{Feature, is_without_effect};
use crate::key_path::{KeyPath, KeyPathError};
use crate::nesting::is_shallow;
use crate::value;
use crate::value::{NullHandling, ValueError};

/// Settings from flags. A later value for the same key replaces an earlier one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    table: Table,
    /// What made the table, in its order.
    changes: Vec<(Vec<String>, Value)>,
    strict: bool,
    ignores_user_file: bool,
    ignores_rules: bool,
}

/// Why a flag is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// The equals sign is missing.
    #[error("Invalid override (missing '='): {0}")]
    MissingEquals(String),
    /// The key is empty.
    #[error("Empty key in override: {0}")]
    EmptyKey(String),
    /// The key is not a key path.
    #[error("Invalid key in override: {0}")]
    Key(#[from] KeyPathError),
    /// There is no such feature.
    #[error("Unknown feature flag: {0}")]
    UnknownFeature(String),
    /// The JSON value cannot be written as TOML.
    #[error("Invalid value in override for `{key}`: {source}")]
    Value { key: String, source: ValueError },
}

impl Overrides {
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Makes unknown settings an error, wherever they come from.
    pub fn require_known_settings(&mut self) {
        self.strict = true;
    }

    /// Whether unknown settings are an error.
    pub fn requires_known_settings(&self) -> bool {
        self.strict
    }

    /// Reads no settings of the user's `config.toml`. Those of the machine and of its administrator hold.
    pub fn ignore_user_file(&mut self) {
        self.ignores_user_file = true;
    }

    pub(crate) fn ignores_user_file(&self) -> bool {
        self.ignores_user_file
    }

    /// Reads no rules of the user and of projects. Those of the machine and of its administrator hold.
    pub fn ignore_rules(&mut self) {
        self.ignores_rules = true;
    }

    pub(crate) fn ignores_rules(&self) -> bool {
        self.ignores_rules
    }

    /// Whether files of this machine are left out, which no request can say to a server that runs already.
    pub fn leaves_out_files(&self) -> bool {
        self.ignores_user_file || self.ignores_rules
    }

    /// Adds a flag `key=value`. The value is parsed as TOML; if that fails, it is the text without surrounding quotes.
    pub fn add_flag(&mut self, flag: &str) -> Result<(), OverrideError> {
        let (key, text) = flag
            .split_once('=')
            .ok_or_else(|| OverrideError::MissingEquals(flag.to_owned()))?;
        let key = match key.trim() {
            "" => return Err(OverrideError::EmptyKey(flag.to_owned())),
            "use_legacy_landlock" => "features.use_legacy_landlock",
            key => key,
        };
        self.set(&KeyPath::parse(key)?, parse_value(text.trim()));
        Ok(())
    }

    /// Adds the settings of a file.
    pub fn add_table(&mut self, table: Table) {
        for (key, value) in table {
            self.change(vec![key], value);
        }
    }

    /// Enables or disables a feature. Call this after all flags were added, so that it takes precedence.
    pub fn add_feature(&mut self, name: &str, enabled: bool) -> Result<(), OverrideError> {
        if Feature::parse(name).is_none() && !is_without_effect(name) {
            return Err(OverrideError::UnknownFeature(name.to_owned()));
        }
        let path = vec!["features".to_owned(), name.to_owned()];
        self.change(path, Value::Boolean(enabled));
        Ok(())
    }

    /// Adds settings of a request: key paths with JSON values. Null values are ignored.
    pub fn add_json(&mut self, settings: &Map<String, Json>) -> Result<(), OverrideError> {
        for (key, json) in settings {
            let path = KeyPath::parse(key)?;
            let value = value::from_json(json, NullHandling::Skip).map_err(|source| {
                OverrideError::Value {
                    key: key.clone(),
                    source,
                }
            })?;
            if let Some(value) = value {
                self.set(&path, value);
            }
        }
        Ok(())
    }

    /// The settings as those of a request.
    pub fn to_json(&self) -> Map<String, Json> {
        let settings = self.table.iter();
        settings
            .filter_map(|(key, value)| {
                let path = KeyPath::from_segments([key.clone()])?;
                Some((path.to_string(), value::to_json(value)))
            })
            .collect()
    }

    /// Sets one key.
    pub fn set(&mut self, path: &KeyPath, value: Value) {
        self.change(path.segments().to_vec(), value);
    }

    fn change(&mut self, path: Vec<String>, value: Value) {
        value::set(&mut self.table, &path, value.clone());
        self.changes.push((path, value));
    }

    /// These settings on top of others.
    #[must_use]
    pub fn over(&self, below: Self) -> Self {
        let mut both = below;
        for (path, value) in &self.changes {
            both.change(path.clone(), value.clone());
        }
        both.strict |= self.strict;
        both.ignores_user_file |= self.ignores_user_file;
        both.ignores_rules |= self.ignores_rules;
        both
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
}

fn parse_value(text: &str) -> Value {
    let toml = is_shallow(text).then(|| text.parse().ok()).flatten();
    toml.unwrap_or_else(|| {
        let bare = [('"', '"'), ('\'', '\'')]
            .iter()
            .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
            .unwrap_or(text);
        Value::String(bare.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(flags: &[&str], expected: &str) {
        let mut overrides = Overrides::default();
        for flag in flags {
            overrides.add_flag(flag).unwrap();
        }
        assert_eq!(*overrides.table(), expected.parse().unwrap());
    }

    #[test]
    fn values_are_toml_or_text() {
        check(&["a=1"], "a = 1");
        check(&["a = true"], "a = true");
        check(&["a=gpt-5"], "a = 'gpt-5'");
        check(&["a='x'"], "a = 'x'");
        check(&["a=\"it's\""], "a = \"it's\"");
        check(&["a='it's'"], "a = \"it's\"");
        check(&["a=[1, 2]"], "a = [1, 2]");
        check(&["a={ b = 1 }"], "a = { b = 1 }");
        check(&["a=x=y"], "a = 'x=y'");
        check(&["a="], "a = ''");
        check(&["a=1 # c\nb = 2"], "a = \"1 # c\\nb = 2\"");
    }

    #[test]
    fn keys_are_paths_and_the_later_wins() {
        check(&["a.b=1", "a.c=2", "a.b=3"], "a = { b = 3, c = 2 }");
        check(&["a=1", "a.b=2"], "a = { b = 2 }");
        check(
            &["projects.\"/a.b\".trust_level=trusted"],
            "projects = { '/a.b' = { trust_level = 'trusted' } }",
        );
        check(
            &["use_legacy_landlock=true"],
            "features = { use_legacy_landlock = true }",
        );
    }

    #[test]
    fn later_settings_replace_only_what_they_name() {
        let with = |flags: &[&str]| {
            let mut overrides = Overrides::default();
            for flag in flags {
                overrides.add_flag(flag).unwrap();
            }
            overrides
        };
        let below = with(&["a.b=1", "c.d=1", "e=1"]);
        let both = with(&["a={ x = 2 }", "c.e=2"]).over(below);
        let expected = "a = { x = 2 }\nc = { d = 1, e = 2 }\ne = 1";
        assert_eq!(*both.table(), expected.parse().unwrap());
    }

    #[test]
    fn bad_flags_are_refused() {
        let error = |flag: &str| Overrides::default().add_flag(flag).unwrap_err().to_string();
        assert_eq!(error("x"), "Invalid override (missing '='): x");
        assert_eq!(error(" =1"), "Empty key in override:  =1");
        assert!(error("a..b=1").contains("empty segment"));
    }

    #[test]
    fn features_are_checked() {
        let mut overrides = Overrides::default();
        overrides.add_flag("features.undo=false").unwrap();
        overrides.add_feature("undo", true).unwrap();
        overrides.add_feature("collab", false).unwrap();
        let expected = "features = { undo = true, collab = false }"
            .parse()
            .unwrap();
        assert_eq!(*overrides.table(), expected);
        let error = overrides.add_feature("nope", true).unwrap_err();
        assert_eq!(error.to_string(), "Unknown feature flag: nope");
    }

    #[test]
    fn a_null_of_a_request_sets_nothing() {
        let mut overrides = Overrides::default();
        let settings = json!({"model": null, "a.b": 1, "t": {"x": null, "y": "z"}});
        overrides.add_json(settings.as_object().unwrap()).unwrap();
        assert_eq!(
            *overrides.table(),
            "a = { b = 1 }\nt = { y = 'z' }".parse().unwrap()
        );
    }
}
