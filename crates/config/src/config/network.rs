//! Which settings limit the network of commands to certain hosts, besides named permissions.

use codex_sandbox::{HostLimit, LimitedCommands, NetworkLimits};
use toml::{Table, Value};

use crate::features::{Feature, FeatureSet};
use crate::requirements::Requirements;
use crate::schema::{NetworkFile, switch};

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
    if let Some(source) = &requirements.network_limit {
        limits.add(HostLimit {
            setting: format!("`experimental_network` of the administrator ({source})"),
            commands: LimitedCommands::All,
        });
    }
    if features.enabled(Feature::NetworkProxy) || lists_hosts(merged) {
        limits.add(HostLimit {
            setting: format!("`features.{FEATURE}`"),
            commands: LimitedCommands::Confined,
        });
    }
    limits
}

/// Whether the table of the feature limits hosts without saying whether it is on. Then the limits count; what is switched
/// off does not.
fn lists_hosts(merged: &Table) -> bool {
    let table = merged
        .get("features")
        .and_then(|features| features.get(FEATURE));
    let Some(table @ Value::Table(_)) = table else {
        return false;
    };
    if switch(table).is_some() {
        return false;
    }
    let decoded: Result<NetworkFile, _> = table.clone().try_into();
    // What cannot be read may be a limit.
    decoded.map_or(true, |network| !network.limiting_keys().is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use codex_sandbox::NetworkMode;

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
            assert_eq!(
                limits.network(NetworkMode::Restricted, commands),
                NetworkMode::Restricted
            );
            limits.network(NetworkMode::Enabled, commands) == NetworkMode::Enabled
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
    fn every_combination_of_settings_and_requirements_is_as_open_as_its_strictest_part() {
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
                    let explained = limits.explanation(LimitedCommands::Confined);
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
}
