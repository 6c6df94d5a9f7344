//! Settings that restrict who may log in, what may be read and which variables commands see: they hold even if nothing else
//! of their files can be used.
//!
//! Each is kept by itself, so that an invalid setting takes no other one with it. What may be a restriction and cannot be
//! read is reported, and whoever enforces it is closed then. A name that is nearly that of a restriction is an error, and so
//! is a restriction in a profile, where it does not hold. Nothing that is kept lets commands write: a mode of the sandbox
//! counts as `read-only`.

use std::path::Path;

use codex_hidden_files::{PatternList, PatternOwner};
use toml::{Table, Value};

use crate::decode::decode_reporting_unknown;
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
    /// The files that commands may read.
    Reading,
    /// The variables that commands see.
    Variables,
}

/// The settings of the top level that restrict something.
const RESTRICTIONS: [(&str, Restricted); 6] = [
    ("forced_chatgpt_workspace_id", Restricted::Logins),
    ("forced_login_method", Restricted::Logins),
    ("secrets", Restricted::Reading),
    (DEFAULT_PERMISSIONS, Restricted::Reading),
    (PERMISSIONS, Restricted::Reading),
    (SHELL_ENVIRONMENT_POLICY, Restricted::Variables),
];

/// The setting that chooses permissions by name.
pub(crate) const DEFAULT_PERMISSIONS: &str = "default_permissions";

/// The permissions that can be chosen.
pub(crate) const PERMISSIONS: &str = "permissions";

/// The variables that commands see.
pub(crate) const SHELL_ENVIRONMENT_POLICY: &str = "shell_environment_policy";

/// The setting that chooses a mode of the sandbox, all of which let commands read everything.
const SANDBOX_MODE: &str = "sandbox_mode";

/// The table with profiles.
const PROFILES: &str = "profiles";

/// A name with this many wrong letters is taken for a misspelt one.
const MAX_WRONG_LETTERS: usize = 2;

/// Why it is not known what settings restrict, while they cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnknownRestrictions {
    pub(crate) logins: Option<String>,
    pub(crate) reading: Option<String>,
    pub(crate) variables: Option<String>,
}

impl UnknownRestrictions {
    /// Adds a file that cannot be read.
    pub(crate) fn add_file(&mut self, error: &ConfigError) {
        for restricted in [
            Restricted::Logins,
            Restricted::Reading,
            Restricted::Variables,
        ] {
            self.add(restricted, error.to_string());
        }
    }

    fn add(&mut self, restricted: Restricted, problem: String) {
        let own = match restricted {
            Restricted::Logins => &mut self.logins,
            Restricted::Reading => &mut self.reading,
            Restricted::Variables => &mut self.variables,
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
    let of_table = |table| {
        let mut layer = layer.clone();
        layer.table = table;
        layer
    };
    let mut kept = Vec::new();
    for mistake in without_effect(&layer.table) {
        unknown.add(mistake.restricted, mistake.message);
    }
    if layer.table.contains_key(SANDBOX_MODE) {
        kept.push(of_table(one_setting(SANDBOX_MODE, "read-only".into())));
    }
    for (key, value) in &layer.table {
        let known = RESTRICTIONS.into_iter().find(|(name, _)| key == name);
        let Some((_, restricted)) = known else {
            continue;
        };
        for table in parts(key, value) {
            match check(&table, home) {
                Ok(()) => kept.push(of_table(table)),
                Err(problem) => unknown.add(restricted, problem),
            }
        }
    }
    kept
}

/// A setting that somebody takes for a restriction, and that is none.
struct RestrictionWithoutEffect {
    path: Vec<String>,
    restricted: Restricted,
    message: String,
}

/// The settings that have nearly the names of restrictions, and the restrictions in profiles, which have none.
fn without_effect(table: &Table) -> Vec<RestrictionWithoutEffect> {
    let top = table.keys().filter_map(|key| {
        let (name, restricted) = restriction_like(key).filter(|(name, _)| key != name)?;
        Some(RestrictionWithoutEffect {
            path: vec![key.clone()],
            restricted,
            message: format!("unknown setting `{key}`, which may mean the restriction `{name}`"),
        })
    });
    let profiles = table.get(PROFILES).and_then(Value::as_table);
    let profiles = profiles.into_iter().flatten();
    let inner = profiles.filter_map(|(profile, value)| Some((profile, value.as_table()?)));
    let inner = inner.flat_map(|(profile, table)| table.keys().map(move |key| (profile, key)));
    let inner = inner.filter_map(|(profile, key)| {
        let (name, restricted) = restriction_like(key)?;
        Some(RestrictionWithoutEffect {
            path: vec![PROFILES.to_owned(), profile.clone(), key.clone()],
            restricted,
            message: format!(
                "`{PROFILES}.{profile}.{key}` restricts nothing: profiles have no `{name}`, which belongs to the top level"
            ),
        })
    });
    top.chain(inner).collect()
}

/// Refuses settings that somebody takes for restrictions, and that are none.
pub(crate) fn refuse_misspelt(stack: &LayerStack) -> Result<(), ConfigError> {
    let decides = |layer: &&Layer| !matches!(layer.source, LayerSource::Project { .. });
    for layer in stack.enabled().filter(decides) {
        if let Some(mistake) = without_effect(&layer.table).into_iter().next() {
            let message = mistake.message;
            let range = layer
                .text()
                .and_then(|text| locate::find_key(text, &mistake.path));
            let path = Some(mistake.path.join("."));
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
    // Names of other lengths have too many wrong letters: this is much cheaper to find out.
    let near = |name: &str| {
        name.len().abs_diff(plain.chars().count()) <= MAX_WRONG_LETTERS
            && strsim::damerau_levenshtein(name, &plain) <= MAX_WRONG_LETTERS
    };
    RESTRICTIONS.into_iter().find(|(name, _)| near(name))
}

/// A setting as tables that can be checked one by one: each key of a table is a restriction of its own.
fn parts(key: &str, value: &Value) -> Vec<Table> {
    let Value::Table(inner) = value else {
        return vec![one_setting(key, value.clone())];
    };
    let parts = inner.iter();
    let parts = parts.map(|(key, value)| Value::Table(one_setting(key, value.clone())));
    parts.map(|part| one_setting(key, part)).collect()
}

fn one_setting(key: &str, value: Value) -> Table {
    Table::from_iter([(key.to_owned(), value)])
}

/// Whether a restriction can be enforced as it is.
fn check(table: &Table, home: Option<&Path>) -> Result<(), String> {
    let decoded = decode_reporting_unknown::<ConfigFile>(table);
    let (file, unknown) = decoded.map_err(|error| error.message)?;
    if let Some(key) = unknown.first() {
        return Err(format!("unknown setting `{}`", key.join(".")));
    }
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
