//! Which settings limit the network of commands to certain hosts, besides named permissions.

use std::collections::BTreeMap;

use codex_host_policy::{
    HostDecision, HostEntry, HostList, HostPattern, InvalidHostPattern, ListOwner,
};
use codex_sandbox::{HostLimit, LimitedCommands, NetworkLimits};
use toml::{Table, Value};

use super::LoadRequest;
use crate::decode::decode_reporting_unknown;
use crate::features::{Feature, FeatureSet};
use crate::layer::Layer;
use crate::requirements::{NetworkRequirements, Requirements};
use crate::schema::{HostDecision as HostSetting, NetworkFile, NetworkMode, switch};
use crate::stack::LayerStack;

/// The feature with which commands reach the listed hosts only.
const FEATURE: &str = "network_proxy";

/// The limits of the administrator and of the feature.
///
/// Those of the administrator apply to all commands. The feature is about commands in the sandbox: whoever chooses to have
/// none has chosen that.
pub(super) fn network_limits(
    merged: &Table,
    features: FeatureSet,
    requirements: &Requirements,
) -> NetworkLimits {
    let mut limits = NetworkLimits::default();
    for required in &requirements.network_limits {
        let source = required.source.to_string();
        let setting = format!("`experimental_network` of the administrator ({source})");
        limits.add(HostLimit {
            opens: required.value.enabled == Some(true),
            ..limit(
                setting,
                LimitedCommands::All,
                administrator(&required.value, source),
            )
        });
    }
    if let Some(source) = &requirements.network_limit
        && requirements.network_limits.is_empty()
    {
        let setting = format!("`experimental_network` of the administrator ({source})");
        limits.add(HostLimit::closing(setting, LimitedCommands::All));
    }
    if features.enabled(Feature::NetworkProxy) || lists_hosts(merged) {
        let setting = format!("`features.{FEATURE}`");
        limits.add(limit(setting, LimitedCommands::Confined, feature(merged)));
    }
    limits
}

/// The limit in force while the settings cannot be used, because they may have one: what cannot be enforced is closed.
pub(super) fn limit_of_unusable(request: LoadRequest<'_>) -> Option<HostLimit> {
    let stack = LayerStack::load(request.env, request.cwd, request.flags);
    let may_limit = stack.map_or(true, |stack| {
        let tables = stack.enabled().map(Layer::effective_table);
        tables.into_iter().any(|table| {
            let profiles = table.get("profiles").and_then(Value::as_table);
            let profiles = profiles.into_iter().flat_map(Table::values);
            let mut features = std::iter::once(table.get("features"))
                .chain(profiles.map(|profile| profile.get("features")))
                .flatten();
            features.any(|features| match features.get(FEATURE) {
                Some(value) => switch(value) != Some(false),
                None => !features.is_table(),
            })
        })
    });
    may_limit.then(|| {
        let setting = format!("`features.{FEATURE}` of settings that cannot be used");
        HostLimit::closing(setting, LimitedCommands::Confined)
    })
}

/// A limit with a list, or a closing one that says why there is none.
pub(super) fn limit(
    setting: String,
    commands: LimitedCommands,
    hosts: Result<HostList, UnenforceableLimit>,
) -> HostLimit {
    match hosts {
        Ok(hosts) => HostLimit {
            hosts: Some(hosts),
            ..HostLimit::closing(setting, commands)
        },
        Err(problem) => HostLimit::closing(format!("{setting} ({problem})"), commands),
    }
}

/// Why a limit cannot be enforced by host.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnenforceableLimit {
    #[error(transparent)]
    Pattern(#[from] InvalidHostPattern),
    #[error("`{0}` limits single requests")]
    Requests(&'static str),
    #[error("`{0}` is not known")]
    Unknown(String),
    #[error("it cannot be read")]
    Unreadable,
}

/// The lists of an administrator.
fn administrator(
    required: &NetworkRequirements,
    source: String,
) -> Result<HostList, UnenforceableLimit> {
    if required.header_injections.is_some() {
        return Err(UnenforceableLimit::Requests("header_injections"));
    }
    if let Some(key) = required.unknown.keys().next() {
        return Err(UnenforceableLimit::Unknown(key.clone()));
    }
    let mut entries = lists(
        required.domains.as_ref(),
        required.allowed_domains.as_ref(),
        required.denied_domains.as_ref(),
    )?;
    for pattern in required.review_domains.iter().flatten() {
        entries.push(entry(pattern, HostDecision::Ask)?);
    }
    let only = required.managed_allowed_domains_only == Some(true);
    Ok(HostList {
        upstream_proxy: required.allow_upstream_proxy == Some(true),
        ..HostList::new(ListOwner::Administrator { source, only }, entries)
    })
}

/// The list in the table of the feature.
fn feature(merged: &Table) -> Result<HostList, UnenforceableLimit> {
    let table = merged
        .get("features")
        .and_then(|features| features.get(FEATURE));
    let file = match table {
        Some(Value::Table(table)) => network_file(table).ok_or(UnenforceableLimit::Unreadable)?,
        _ => NetworkFile::default(),
    };
    host_list(&file, ListOwner::Feature)
}

/// The list of settings.
pub(super) fn host_list(
    file: &NetworkFile,
    owner: ListOwner,
) -> Result<HostList, UnenforceableLimit> {
    if let Some(key) = &file.unknown {
        return Err(UnenforceableLimit::Unknown(key.clone()));
    }
    if file.mode == Some(NetworkMode::Limited) {
        return Err(UnenforceableLimit::Requests("mode"));
    }
    if file.mitm.is_some() {
        return Err(UnenforceableLimit::Requests("mitm"));
    }
    let entries = lists(
        file.domains.as_ref(),
        file.allowed_domains.as_ref(),
        file.denied_domains.as_ref(),
    )?;
    Ok(HostList {
        upstream_proxy: file.allow_upstream_proxy == Some(true),
        ..HostList::new(owner, entries)
    })
}

fn lists(
    domains: Option<&BTreeMap<String, HostSetting>>,
    allowed: Option<&Vec<String>>,
    denied: Option<&Vec<String>>,
) -> Result<Vec<HostEntry>, InvalidHostPattern> {
    let domains = domains.into_iter().flatten();
    let domains = domains.map(|(pattern, setting)| match setting {
        HostSetting::Allow => (pattern, HostDecision::Allow),
        HostSetting::Deny => (pattern, HostDecision::Deny),
    });
    let allowed = allowed.into_iter().flatten();
    let denied = denied.into_iter().flatten();
    domains
        .chain(allowed.map(|pattern| (pattern, HostDecision::Allow)))
        .chain(denied.map(|pattern| (pattern, HostDecision::Deny)))
        .map(|(pattern, decision)| entry(pattern, decision))
        .collect()
}

fn entry(pattern: &str, decision: HostDecision) -> Result<HostEntry, InvalidHostPattern> {
    let pattern = HostPattern::parse(pattern)?;
    Ok(HostEntry { pattern, decision })
}

/// Whether the table of the feature limits hosts without saying whether it is on. Then the limits count; what is switched
/// off does not.
fn lists_hosts(merged: &Table) -> bool {
    let table = merged
        .get("features")
        .and_then(|features| features.get(FEATURE));
    let Some(value @ Value::Table(table)) = table else {
        return false;
    };
    if switch(value).is_some() {
        return false;
    }
    // What cannot be read may be a limit.
    network_file(table).is_none_or(|network| !network.limiting_keys().is_empty())
}

/// The rules in a table, with a key that is not known. None if it cannot be read.
fn network_file(table: &Table) -> Option<NetworkFile> {
    let (file, unknown) = decode_reporting_unknown::<NetworkFile>(table).ok()?;
    let unknown = unknown.first().map(|names| names.join("."));
    Some(NetworkFile { unknown, ..file })
}

#[cfg(test)]
mod tests {
    use codex_sandbox::NetworkMode as CommandNetwork;

    use super::*;
    use crate::feature_levels::{FeatureLevel, resolve};

    fn limits(settings: &str, requirements: &str) -> NetworkLimits {
        let table: Table = settings.parse().unwrap();
        let requirements = Requirements::for_tests(requirements);
        let level = FeatureLevel::settings(&table);
        let features = resolve(&BTreeMap::new(), &[level], &requirements).unwrap();
        network_limits(&table, features, &requirements)
    }

    /// Whether commands in the sandbox, and those outside of it, reach the network that they want.
    fn open(limits: &NetworkLimits) -> (bool, bool) {
        let is_open = |commands| {
            let network = |wanted| limits.network(wanted, commands, false);
            assert_eq!(
                network(CommandNetwork::Restricted),
                CommandNetwork::Restricted
            );
            network(CommandNetwork::Enabled) == CommandNetwork::Enabled
        };
        (
            is_open(LimitedCommands::Confined),
            is_open(LimitedCommands::All),
        )
    }

    /// Settings of the feature, and whether they limit.
    const FEATURES: &[(&str, bool)] = &[
        ("", false),
        ("features.network_proxy = false", false),
        ("features.network_proxy = true", true),
        ("features.network_proxy.enabled = true", true),
        (
            "features.network_proxy.domains = { 'a.test' = 'allow' }",
            true,
        ),
        (
            "features.network_proxy.domains = { 'a.test' = 'no such word' }",
            true,
        ),
        ("features.network_proxy.allow_local_binding = true", false),
        (
            "features.network_proxy = { enabled = true, domains = { '*' = 'allow' } }",
            true,
        ),
        (
            "features.network_proxy = { enabled = false, domains = { 'a.test' = 'allow' } }",
            false,
        ),
    ];

    #[test]
    fn unknown_key_of_the_feature_is_a_limit() {
        for settings in [
            "features.network_proxy.domans = { 'a.test' = 'deny' }",
            "features.network_proxy = { enabled = true, domains = { '*' = 'allow' }, later = 1 }",
        ] {
            let limits = limits(settings, "");
            assert_eq!(open(&limits), (false, true), "{settings}");
            let explanation = limits.explanation(LimitedCommands::Confined);
            assert!(
                explanation.is_some_and(|it| it.contains("is not known")),
                "{settings}"
            );
        }
    }

    /// Requirements, and whether they limit.
    const REQUIREMENTS: &[(&str, bool)] = &[
        ("", false),
        ("[experimental_network]", false),
        ("experimental_network.http_port = 1", false),
        ("experimental_network.enabled = true", true),
        ("experimental_network.domains = { 'a.test' = 'deny' }", true),
        (
            "experimental_network.domains = { 'a.test' = 'allow' }",
            true,
        ),
        ("experimental_network.review_domains = ['a.test']", true),
        ("experimental_network.allowed_domains = []", true),
        ("experimental_network.alowed_domains = ['a.test']", true),
        ("experimental_network.denied_domains = ['a.test']", true),
        (
            "experimental_network.managed_allowed_domains_only = true",
            true,
        ),
        (
            "experimental_network = { enabled = true, denied_domains = ['a.test'] }",
            true,
        ),
        (
            "experimental_network = { enabled = false, denied_domains = ['a.test'] }",
            false,
        ),
    ];

    /// Pins of the feature.
    const PINS: &[(&str, Option<bool>)] = &[
        ("", None),
        ("features.network_proxy = true", Some(true)),
        ("features.network_proxy = false", Some(false)),
    ];

    #[test]
    fn combined_network_is_as_open_as_its_strictest_part() {
        for (feature, feature_limits) in FEATURES {
            for (required, administrator_limits) in REQUIREMENTS {
                for (pin, pinned) in PINS {
                    let limits = limits(feature, &format!("{pin}\n{required}"));
                    let is_listed_only = feature.contains("proxy.domains");
                    let by_feature = match pinned {
                        Some(pinned) => *pinned || is_listed_only,
                        None => *feature_limits,
                    };
                    let expected = (!by_feature && !administrator_limits, !administrator_limits);
                    assert_eq!(open(&limits), expected, "{feature} | {required} | {pin}");
                    let explained = limits.settings(LimitedCommands::Confined);
                    let explained = explained.unwrap_or_default();
                    for (name, limits) in [
                        ("`features.network_proxy`", by_feature),
                        ("`experimental_network`", *administrator_limits),
                    ] {
                        assert_eq!(explained.contains(name), limits, "{explained}");
                    }
                }
            }
        }
    }

    #[test]
    fn limits_by_host_are_enforced_and_others_close() {
        use CommandNetwork::{ByHost, Enabled, Restricted};
        let network = |settings: &str, requirements: &str, wanted| {
            let limits = limits(settings, requirements);
            limits.network(wanted, LimitedCommands::Confined, true)
        };
        let listed = "features.network_proxy = { enabled = true, domains = { 'a.test' = 'allow', '*.b.test' = 'deny' } }";
        let admin = "experimental_network = { enabled = true, domains = { 'a.test' = 'allow' } }";
        for (settings, requirements, wanted, expected) in [
            (listed, "", Enabled, ByHost),
            (listed, "", Restricted, Restricted),
            ("features.network_proxy = true", "", Enabled, ByHost),
            ("", admin, Enabled, ByHost),
            ("", admin, Restricted, ByHost),
            (
                "",
                "experimental_network.domains = { 'a.test' = 'deny' }",
                Restricted,
                Restricted,
            ),
            (listed, admin, Restricted, ByHost),
            (
                "features.network_proxy = { enabled = true, mode = 'limited' }",
                "",
                Enabled,
                Restricted,
            ),
            (
                "features.network_proxy = { enabled = true, mitm = {} }",
                "",
                Enabled,
                Restricted,
            ),
            (
                "features.network_proxy.domains = { '**.a' = 'allow' }",
                "",
                Enabled,
                Restricted,
            ),
            (
                "features.network_proxy.domains = { 'a.test' = 'no such word' }",
                "",
                Enabled,
                Restricted,
            ),
            (
                "",
                "experimental_network = { enabled = true, header_injections = [] }",
                Enabled,
                Restricted,
            ),
            (
                "",
                "experimental_network = { enabled = true, no_such_key = 1 }",
                Enabled,
                Restricted,
            ),
            (
                "",
                "experimental_network = { enabled = true, denied_domains = ['a b'] }",
                Enabled,
                Restricted,
            ),
            (
                listed,
                "experimental_network = { enabled = true, no_such_key = 1 }",
                Enabled,
                Restricted,
            ),
        ] {
            let found = network(settings, requirements, wanted);
            assert_eq!(found, expected, "{settings} | {requirements}");
        }
    }
}
