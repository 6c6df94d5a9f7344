//! The typed form of `requirements.toml`.

use std::collections::BTreeMap;

use codex_protocol::{AskForApproval, SandboxPolicy, WebSearchMode};
use serde::{Deserialize, Serialize};

use super::rules::RulesFile;
use crate::schema::{HostDecision, SandboxMode};

/// The requirements of one source as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RequirementsFile {
    pub(super) allowed_approval_policies: Option<Vec<AskForApproval>>,
    pub(super) allowed_sandbox_modes: Option<Vec<SandboxModeRequirement>>,
    pub(super) allowed_web_search_modes: Option<Vec<WebSearchMode>>,
    #[serde(alias = "feature_requirements")]
    pub(super) features: Option<BTreeMap<String, bool>>,
    pub(super) mcp_servers: Option<BTreeMap<String, McpServerRequirement>>,
    pub(super) apps: Option<BTreeMap<String, AppRequirement>>,
    pub(super) rules: Option<RulesFile>,
    pub(super) enforce_residency: Option<Residency>,
    pub(super) experimental_network: Option<NetworkRequirements>,
    pub(super) secrets: Option<SecretsRequirements>,
    pub(super) guardian_developer_instructions: Option<String>,
}

/// `[secrets]` of requirements. A key that is not known might hide something, so it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsRequirements {
    /// Patterns of files that nobody may allow to be read.
    pub deny_read: Option<Vec<String>>,
    /// True keeps the built-in list.
    pub built_in: Option<bool>,
}

/// `[mcp_servers.<name>]` of requirements.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct McpServerRequirement {
    pub(super) identity: McpServerIdentity,
}

/// The identity of an allowed MCP server. Other settings are not compared.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "IdentityForm")]
pub enum McpServerIdentity {
    /// A program.
    Command(String),
    /// A URL.
    Url(String),
}

#[derive(Deserialize)]
struct IdentityForm {
    command: Option<String>,
    url: Option<String>,
}

impl TryFrom<IdentityForm> for McpServerIdentity {
    type Error = &'static str;

    fn try_from(form: IdentityForm) -> Result<Self, Self::Error> {
        match (form.command, form.url) {
            (Some(command), None) => Ok(Self::Command(command)),
            (None, Some(url)) => Ok(Self::Url(url)),
            _ => Err("identity must have either `command` or `url`"),
        }
    }
}

/// `[apps.<id>]` of requirements.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct AppRequirement {
    pub(super) enabled: Option<bool>,
}

/// A sandbox mode in requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxModeRequirement {
    /// Only reading.
    ReadOnly,
    /// Writing in some folders.
    WorkspaceWrite,
    /// Full access.
    DangerFullAccess,
    /// Confinement by a sandbox around the engine.
    ExternalSandbox,
}

impl From<SandboxMode> for SandboxModeRequirement {
    fn from(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::ReadOnly => Self::ReadOnly,
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite,
            SandboxMode::DangerFullAccess => Self::DangerFullAccess,
        }
    }
}

impl From<&SandboxPolicy> for SandboxModeRequirement {
    fn from(policy: &SandboxPolicy) -> Self {
        match policy {
            SandboxPolicy::ReadOnly { .. } => Self::ReadOnly,
            SandboxPolicy::WorkspaceWrite { .. } => Self::WorkspaceWrite,
            SandboxPolicy::DangerFullAccess => Self::DangerFullAccess,
            SandboxPolicy::ExternalSandbox { .. } => Self::ExternalSandbox,
        }
    }
}

/// The region that must process requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// In the United States.
    Us,
}

/// Requirements on the network of commands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NetworkRequirements {
    /// Whether the limits are in force. If it says nothing, they are.
    pub enabled: Option<bool>,
    pub http_port: Option<u16>,
    pub socks_port: Option<u16>,
    pub allow_upstream_proxy: Option<bool>,
    pub transparent_tcp: Option<bool>,
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    pub dangerously_allow_all_unix_sockets: Option<bool>,
    /// What to do about hosts, by pattern.
    pub domains: Option<BTreeMap<String, HostDecision>>,
    /// Hosts that a person decides about.
    pub review_domains: Option<Vec<String>>,
    /// An older form of `domains`.
    pub allowed_domains: Option<Vec<String>>,
    pub managed_allowed_domains_only: Option<bool>,
    /// An older form of `domains`.
    pub denied_domains: Option<Vec<String>>,
    pub unix_sockets: Option<BTreeMap<String, SocketDecision>>,
    /// An older form of `unix_sockets`.
    pub allow_unix_sockets: Option<Vec<String>>,
    pub allow_local_binding: Option<bool>,
    /// Headers for certain hosts.
    pub header_injections: Option<toml::Value>,
    /// What is not known here, which may be a limit.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, toml::Value>,
}

/// What to do about a local socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketDecision {
    Allow,
    #[serde(alias = "none")]
    Deny,
}

impl NetworkRequirements {
    /// Whether they limit the network to certain hosts.
    pub(super) fn limits_hosts(&self) -> bool {
        match self.enabled {
            Some(enabled) => enabled,
            None => {
                self.domains.is_some()
                    || self.review_domains.is_some()
                    || self.allowed_domains.is_some()
                    || self.denied_domains.is_some()
                    || self.header_injections.is_some()
                    || self.managed_allowed_domains_only == Some(true)
                    || !self.unknown.is_empty()
            }
        }
    }
}
