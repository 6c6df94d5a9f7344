//! Converts the requirements of the administrator to the wire.

use codex_app_server_protocol::v2;
use codex_config::{NetworkRequirements, Requirements, SandboxModeRequirement, Sourced};
use codex_protocol::WebSearchMode;

use super::policy::wire_approval;

pub(crate) fn wire_requirements(requirements: Requirements) -> v2::ConfigRequirements {
    let approval = requirements.approval_policies;
    let features = requirements.features.map(|pins| pins.value.into_iter());
    v2::ConfigRequirements {
        allowed_approval_policies: approval
            .map(|allowed| allowed.value.into_iter().map(wire_approval).collect()),
        allowed_sandbox_modes: requirements.sandbox_modes.map(sandbox_modes),
        allowed_web_search_modes: requirements.web_search_modes.map(web_search_modes),
        feature_requirements: features.map(|pins| {
            pins.map(|(feature, enabled)| (feature.key().to_owned(), enabled))
                .collect()
        }),
        enforce_residency: requirements.residency.map(|_| v2::ResidencyRequirement::Us),
        network: requirements
            .network
            .map(|network| wire_network(network.value)),
    }
}

/// The modes that settings can name; `external-sandbox` is not one of them.
fn sandbox_modes(allowed: Sourced<Vec<SandboxModeRequirement>>) -> Vec<v2::SandboxMode> {
    let modes = allowed.value.into_iter();
    modes
        .filter_map(|mode| match mode {
            SandboxModeRequirement::ReadOnly => Some(v2::SandboxMode::ReadOnly),
            SandboxModeRequirement::WorkspaceWrite => Some(v2::SandboxMode::WorkspaceWrite),
            SandboxModeRequirement::DangerFullAccess => Some(v2::SandboxMode::DangerFullAccess),
            SandboxModeRequirement::ExternalSandbox => None,
        })
        .collect()
}

/// The listed modes, and the one that is always allowed.
fn web_search_modes(allowed: Sourced<Vec<WebSearchMode>>) -> Vec<WebSearchMode> {
    let mut modes = allowed.value;
    if !modes.contains(&WebSearchMode::Disabled) {
        modes.push(WebSearchMode::Disabled);
    }
    modes
}

fn wire_network(network: NetworkRequirements) -> v2::NetworkRequirements {
    v2::NetworkRequirements {
        enabled: network.enabled,
        http_port: network.http_port,
        socks_port: network.socks_port,
        allow_upstream_proxy: network.allow_upstream_proxy,
        dangerously_allow_non_loopback_proxy: network.dangerously_allow_non_loopback_proxy,
        dangerously_allow_all_unix_sockets: network.dangerously_allow_all_unix_sockets,
        allowed_domains: network.allowed_domains,
        denied_domains: network.denied_domains,
        allow_unix_sockets: network.allow_unix_sockets,
        allow_local_binding: network.allow_local_binding,
    }
}
