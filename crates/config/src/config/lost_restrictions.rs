//! Unknown keys in the tables that restrict commands: `permissions` and `shell_environment_policy`.
//!
//! Such a key may be a misspelt restriction, or one of a newer release. Other programs ignore it, so it is no error. What it may
//! restrict is closed instead.

use crate::decode::KeyNames;
use crate::restrictions::{PERMISSIONS, SHELL_ENVIRONMENT_POLICY};
use crate::schema::{ConfigFile, EnvironmentInherit, NetworkFile, PermissionsFile};
use crate::warning::ConfigWarning;

/// Closes what unknown keys may restrict.
pub(super) fn close(
    file: &mut ConfigFile,
    unknown: &[KeyNames],
    warnings: &mut Vec<ConfigWarning>,
) {
    for names in unknown {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let effect = match names.as_slice() {
            [table, _, ..] if *table == SHELL_ENVIRONMENT_POLICY => close_variables(file),
            [table, profile, "network", key, ..] if *table == PERMISSIONS => {
                close_network(file, profile, key)
            }
            [table, profile, _, ..] if *table == PERMISSIONS => close_profile(file, profile),
            _ => continue,
        };
        warnings.extend(effect.map(|effect| {
            ConfigWarning::new(format!(
                "The unknown setting `{}` may be a restriction: {effect}.",
                names.join(".")
            ))
        }));
    }
}

fn close_variables(file: &mut ConfigFile) -> Option<String> {
    let policy = &mut file.shell_environment_policy;
    if policy.inherit != Some(EnvironmentInherit::None) {
        policy.inherit = Some(EnvironmentInherit::Core);
    }
    Some("commands inherit only the variables that most programs need".to_owned())
}

fn close_network(file: &mut ConfigFile, profile: &str, key: &str) -> Option<String> {
    let network = profile_of(file, profile)?.network.get_or_insert_default();
    network.unknown.get_or_insert_with(|| key.to_owned());
    Some(format!("the permissions `{profile}` have no network"))
}

/// The permissions grant nothing then, also to those that add to them, and nothing that they would add to.
fn close_profile(file: &mut ConfigFile, profile: &str) -> Option<String> {
    let permissions = profile_of(file, profile)?;
    *permissions = PermissionsFile {
        description: permissions.description.take(),
        network: Some(NetworkFile {
            enabled: Some(false),
            ..NetworkFile::default()
        }),
        ..PermissionsFile::default()
    };
    Some(format!("the permissions `{profile}` grant nothing"))
}

fn profile_of<'f>(file: &'f mut ConfigFile, profile: &str) -> Option<&'f mut PermissionsFile> {
    file.permissions.as_mut()?.get_mut(profile)
}
