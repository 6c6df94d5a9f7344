//! Unknown keys in the tables that restrict commands: `permissions` and `shell_environment_policy`.
//!
//! Such a key may be a misspelt restriction, or one of a newer release. Other programs ignore it, so it is no error. What it may
//! restrict is closed instead.

use crate::decode::KeyNames;
use crate::restrictions::{PERMISSIONS, SHELL_ENVIRONMENT_POLICY};
use crate::schema::{ConfigFile, EnvironmentInherit, PermissionsFile};
use crate::stack::LayerStack;
use crate::warning::{self, ConfigWarning};

/// Closes what unknown keys may restrict, with a warning for each. Returns those that are ignored.
pub(super) fn close(
    file: &mut ConfigFile,
    stack: &LayerStack,
    unknown: Vec<KeyNames>,
    warnings: &mut Vec<ConfigWarning>,
) -> Vec<KeyNames> {
    let is_ignored = |names: &KeyNames| {
        let Some(effect) = effect_of(file, names) else {
            return true;
        };
        warnings.push(ConfigWarning {
            path: warning::file_with(stack, names),
            ..ConfigWarning::new(format!(
                "The unknown setting `{}` may be a restriction: {effect}.",
                names.join(".")
            ))
        });
        false
    };
    unknown.into_iter().filter(is_ignored).collect()
}

/// Closes what a key may restrict. None if it is no restriction.
fn effect_of(file: &mut ConfigFile, names: &[String]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        [table, _, ..] if *table == SHELL_ENVIRONMENT_POLICY => Some(close_variables(file)),
        [table, profile, "network", key, ..] if *table == PERMISSIONS => {
            close_network(file, profile, key)
        }
        [table, profile, _, ..] if *table == PERMISSIONS => close_profile(file, profile),
        _ => None,
    }
}

fn close_variables(file: &mut ConfigFile) -> String {
    let policy = &mut file.shell_environment_policy;
    if policy.inherit != Some(EnvironmentInherit::None) {
        policy.inherit = Some(EnvironmentInherit::Core);
    }
    "commands inherit only the variables that most programs need".to_owned()
}

fn close_network(file: &mut ConfigFile, profile: &str, key: &str) -> Option<String> {
    let network = profile_of(file, profile)?.network.get_or_insert_default();
    network.unknown.get_or_insert_with(|| key.to_owned());
    Some(format!(
        "the permissions `{profile}`, and those that extend them, have no network"
    ))
}

/// The permissions grant nothing then, nor do those that extend them.
fn close_profile(file: &mut ConfigFile, profile: &str) -> Option<String> {
    profile_of(file, profile)?.has_unknown = true;
    Some(format!(
        "the permissions `{profile}`, and those that extend them, grant nothing"
    ))
}

fn profile_of<'f>(file: &'f mut ConfigFile, profile: &str) -> Option<&'f mut PermissionsFile> {
    file.permissions.as_mut()?.get_mut(profile)
}
