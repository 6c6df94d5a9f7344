//! Settings that restrict who may log in and what may be read: they hold even if nothing else of their files can be used.
//!
//! Each is kept by itself, so that an invalid setting takes no other one with it. What may be a restriction and cannot be
//! read is reported, and whoever enforces it is closed then. A name that is nearly that of a restriction is an error.

use std::path::Path;

use codex_hidden_files::{PatternList, PatternOwner};
use toml::{Table, Value};

use crate::decode::decode;
use crate::error::ConfigError;
use crate::layer::Layer;
use crate::locate;
use crate::schema::ConfigFile;
use crate::source::LayerSource;
use crate::stack::LayerStack;

/// What settings restrict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restricted {
    Logins,
    HiddenFiles,
}

/// The settings of the top level that restrict something.
const RESTRICTIONS: [(&str, Restricted); 3] = [
    ("forced_chatgpt_workspace_id", Restricted::Logins),
    ("forced_login_method", Restricted::Logins),
    (SECRETS, Restricted::HiddenFiles),
];

/// The table whose keys are restrictions of their own.
const SECRETS: &str = "secrets";

/// A name with this many wrong letters is taken for a misspelt one.
const MAX_WRONG_LETTERS: usize = 2;

/// Why it is not known what settings restrict, while they cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnknownRestrictions {
    pub(crate) logins: Option<String>,
    pub(crate) hidden_files: Option<String>,
}

impl UnknownRestrictions {
    /// Adds a file that cannot be read.
    pub(crate) fn add_file(&mut self, error: &ConfigError) {
        for restricted in [Restricted::Logins, Restricted::HiddenFiles] {
            self.add(restricted, error.to_string());
        }
    }

    fn add(&mut self, restricted: Restricted, problem: String) {
        let own = match restricted {
            Restricted::Logins => &mut self.logins,
            Restricted::HiddenFiles => &mut self.hidden_files,
        };
        own.get_or_insert(problem);
    }
}

/// The restrictions of a layer, each as a layer of its own. `home` is the home folder of the user.
pub(crate) fn restrictions_of(
    layer: &Layer,
    home: Option<&Path>,
    unknown: &mut UnknownRestrictions,
) -> Vec<Layer> {
    let mut kept = Vec::new();
    for (key, value) in &layer.table {
        let Some((name, restricted)) = restriction_like(key) else {
            continue;
        };
        if key != name {
            unknown.add(restricted, misspelt(key, name));
            continue;
        }
        for table in parts(key, value) {
            match check(&table, home) {
                Ok(()) => {
                    let mut layer = layer.clone();
                    layer.table = table;
                    kept.push(layer);
                }
                Err(problem) => unknown.add(restricted, problem),
            }
        }
    }
    kept
}

/// Refuses settings whose names are nearly those of restrictions: somebody relies on them.
pub(crate) fn refuse_misspelt(stack: &LayerStack) -> Result<(), ConfigError> {
    let decides = |layer: &&Layer| !matches!(layer.source, LayerSource::Project { .. });
    for layer in stack.enabled().filter(decides) {
        for key in layer.table.keys() {
            let Some((name, _)) = restriction_like(key).filter(|(name, _)| key != name) else {
                continue;
            };
            let names = [key.clone()];
            let range = layer.text().and_then(|text| locate::find_key(text, &names));
            let (message, path) = (misspelt(key, name), Some(key.clone()));
            return Err(match (layer.source.file(), range) {
                (Some(file), Some(range)) => ConfigError::in_file(file, range, message, path),
                _ => ConfigError::in_table(message, path),
            });
        }
    }
    Ok(())
}

/// The restriction that a name is, or nearly is.
fn restriction_like(key: &str) -> Option<(&'static str, Restricted)> {
    let plain = key.to_lowercase().replace('-', "_");
    let near = |name: &str| strsim::damerau_levenshtein(name, &plain) <= MAX_WRONG_LETTERS;
    RESTRICTIONS.into_iter().find(|(name, _)| near(name))
}

fn misspelt(key: &str, name: &str) -> String {
    format!("unknown setting `{key}`, which may mean the restriction `{name}`")
}

/// A setting as tables that can be checked one by one.
fn parts(key: &str, value: &Value) -> Vec<Table> {
    let of = |value: Value| Table::from_iter([(key.to_owned(), value)]);
    match value {
        Value::Table(inner) if key == SECRETS => {
            let parts = inner.iter();
            let parts = parts.map(|(key, value)| Table::from_iter([(key.clone(), value.clone())]));
            parts.map(|part| of(Value::Table(part))).collect()
        }
        value => vec![of(value.clone())],
    }
}

/// Whether a restriction can be enforced as it is.
fn check(table: &Table, home: Option<&Path>) -> Result<(), String> {
    let file: ConfigFile = decode(table).map_err(|error| error.message)?;
    let patterns = file.secrets.and_then(|secrets| secrets.deny_read);
    let patterns = patterns.unwrap_or_default();
    let list = PatternList::of_settings(PatternOwner::Settings, &patterns, home);
    list.map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_has_nearly_the_name_of_a_restriction() {
        let schema = serde_json::to_value(schemars::schema_for!(ConfigFile)).unwrap();
        let names = schema["properties"].as_object().unwrap().keys();
        for name in names {
            let like = restriction_like(name).map(|(name, _)| name);
            assert!(like.is_none_or(|like| like == name), "{name}: {like:?}");
        }
    }

    #[test]
    fn wrong_letters_make_a_name_misspelt() {
        for (key, name) in [
            ("secret", Some("secrets")),
            ("Secrets", Some("secrets")),
            ("secerts", Some("secrets")),
            ("forced-login-method", Some("forced_login_method")),
            ("forced_login_methods", Some("forced_login_method")),
            (
                "force_chatgpt_workspace_ids",
                Some("forced_chatgpt_workspace_id"),
            ),
            ("login_method", None),
            ("agents", None),
        ] {
            let like = restriction_like(key).map(|(name, _)| name);
            assert_eq!(like, name, "{key}");
        }
    }
}
