//! The typed form of `requirements.toml`.

use std::collections::BTreeMap;

use codex_protocol::{AskForApproval, SandboxPolicy, WebSearchMode};
use serde::{Deserialize, Serialize};

use super::rules::RulesFile;
use crate::schema::SandboxMode;

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
    pub(super) guardian_developer_instructions: Option<String>,
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

/// Requirements on the network proxy. If the table exists, every session has the proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct NetworkRequirements {
    pub enabled: Option<bool>,
    pub http_port: Option<u16>,
    pub socks_port: Option<u16>,
    pub allow_upstream_proxy: Option<bool>,
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    pub dangerously_allow_all_unix_sockets: Option<bool>,
    pub allowed_domains: Option<Vec<String>>,
    pub managed_allowed_domains_only: Option<bool>,
    pub denied_domains: Option<Vec<String>>,
    pub allow_unix_sockets: Option<Vec<String>>,
    pub allow_local_binding: Option<bool>,
}
