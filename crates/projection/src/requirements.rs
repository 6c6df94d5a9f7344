//! Converts the requirements of the administrator to the wire.

use std::collections::BTreeMap;

use codex_app_server_protocol::v2;
use codex_config::schema::HostDecision;
use codex_config::{
    NetworkRequirements, Requirements, SandboxModeRequirement, SocketDecision, Sourced,
};
use codex_protocol::WebSearchMode;

use super::policy::wire_approval;

pub fn wire_requirements(requirements: Requirements) -> v2::ConfigRequirements {
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
    let domains = domains(&network);
    let of = |wanted: v2::NetworkDomainPermission| {
        let listed = domains.iter().filter(|(_, decision)| **decision == wanted);
        let hosts: Vec<String> = listed.map(|(host, _)| host.clone()).collect();
        (!hosts.is_empty()).then_some(hosts)
    };
    let sockets = sockets(&network);
    let open = sockets
        .iter()
        .filter(|(_, decision)| **decision == v2::NetworkUnixSocketPermission::Allow);
    let open: Vec<String> = open.map(|(path, _)| path.clone()).collect();
    v2::NetworkRequirements {
        enabled: network.enabled,
        http_port: network.http_port,
        socks_port: network.socks_port,
        allow_upstream_proxy: network.allow_upstream_proxy,
        dangerously_allow_non_loopback_proxy: network.dangerously_allow_non_loopback_proxy,
        dangerously_allow_all_unix_sockets: network.dangerously_allow_all_unix_sockets,
        allowed_domains: of(v2::NetworkDomainPermission::Allow).or(network.allowed_domains),
        denied_domains: of(v2::NetworkDomainPermission::Deny).or(network.denied_domains),
        domains: (!domains.is_empty()).then_some(domains),
        review_domains: network.review_domains,
        managed_allowed_domains_only: network.managed_allowed_domains_only,
        allow_unix_sockets: (!open.is_empty())
            .then_some(open)
            .or(network.allow_unix_sockets),
        unix_sockets: (!sockets.is_empty()).then_some(sockets),
        allow_local_binding: network.allow_local_binding,
    }
}

/// The decisions about hosts in both forms. A host that is denied anywhere is denied.
fn domains(network: &NetworkRequirements) -> BTreeMap<String, v2::NetworkDomainPermission> {
    use v2::NetworkDomainPermission::{Allow, Deny};
    let allowed = network.allowed_domains.iter().flatten();
    let denied = network.denied_domains.iter().flatten();
    let mut all: BTreeMap<_, _> = allowed.map(|host| (host.clone(), Allow)).collect();
    for (host, decision) in network.domains.iter().flatten() {
        match decision {
            HostDecision::Allow => all.entry(host.clone()).or_insert(Allow),
            HostDecision::Deny => all.entry(host.clone()).insert_entry(Deny).into_mut(),
        };
    }
    all.extend(denied.map(|host| (host.clone(), Deny)));
    all
}

/// The decisions about sockets in both forms.
fn sockets(network: &NetworkRequirements) -> BTreeMap<String, v2::NetworkUnixSocketPermission> {
    let listed = network.allow_unix_sockets.iter().flatten();
    let listed = listed.map(|path| (path.clone(), v2::NetworkUnixSocketPermission::Allow));
    let decided = network.unix_sockets.iter().flatten();
    let decided = decided.map(|(path, decision)| {
        let decision = match decision {
            SocketDecision::Allow => v2::NetworkUnixSocketPermission::Allow,
            SocketDecision::Deny => v2::NetworkUnixSocketPermission::Deny,
        };
        (path.clone(), decision)
    });
    listed.chain(decided).collect()
}
