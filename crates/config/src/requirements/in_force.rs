//! The requirements in force, each with its source.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use codex_protocol::{AskForApproval, WebSearchMode};

use super::file::{
    McpServerIdentity, NetworkRequirements, Residency, SandboxModeRequirement, SecretsRequirements,
};
use super::rules::PrefixRule;
use crate::features::Feature;

/// A requirement and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: RequirementSource,
}

/// The source of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementSource {
    Account,
    Preferences {
        domain: String,
        key: String,
    },
    /// A file of the administrator.
    File(PathBuf),
    /// The older form of managed settings, from device management.
    LegacyPreferences,
    /// Requirements that exist and cannot be read.
    Unreadable,
}

impl fmt::Display for RequirementSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account => f.write_str("cloud requirements"),
            Self::Preferences { domain, key } => write!(f, "MDM {domain}:{key}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::LegacyPreferences => f.write_str("MDM managed_config.toml (legacy)"),
            Self::Unreadable => f.write_str("requirements that cannot be read"),
        }
    }
}

/// All requirements in force. An absent field limits nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// The allowed approval policies. Never empty; the first is the fallback.
    pub approval_policies: Option<Sourced<Vec<AskForApproval>>>,
    /// The allowed sandbox modes. Always include read-only.
    pub sandbox_modes: Option<Sourced<Vec<SandboxModeRequirement>>>,
    /// The allowed web search modes as written. `disabled` is always allowed.
    pub web_search_modes: Option<Sourced<Vec<WebSearchMode>>>,
    /// Features that are forced on or off.
    pub features: Option<Sourced<BTreeMap<Feature, bool>>>,
    /// The only MCP servers that are allowed.
    pub mcp_servers: Option<Sourced<BTreeMap<String, McpServerIdentity>>>,
    /// Apps that are disabled.
    pub disabled_apps: BTreeMap<String, RequirementSource>,
    /// Rules for commands, in addition to rules files.
    pub rules: Option<Sourced<Vec<PrefixRule>>>,
    /// Where requests must be processed.
    pub residency: Option<Sourced<Residency>>,
    /// Requirements on the network of commands.
    pub network: Option<Sourced<NetworkRequirements>>,
    /// The first source that limits the network to certain hosts, whether or not `network` is from there: no source lifts the
    /// limit of another one.
    pub network_limit: Option<RequirementSource>,
    /// All requirements that limit the network to certain hosts. None of them lifts what another one limits.
    pub network_limits: Vec<Sourced<NetworkRequirements>>,
    /// All requirements about hidden files.
    pub secrets: Vec<Sourced<SecretsRequirements>>,
    /// The policy for the guardian model.
    pub guardian_instructions: Option<Sourced<String>>,
}

impl Requirements {
    /// In place of requirements that cannot be read: commands that are run without a thread may only read, and have no
    /// network. Threads are refused.
    pub(crate) fn unreadable() -> Self {
        let source = RequirementSource::Unreadable;
        Self {
            sandbox_modes: Some(Sourced {
                value: vec![SandboxModeRequirement::ReadOnly],
                source: source.clone(),
            }),
            network_limit: Some(source),
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Features that are forced on or off.
    pub(crate) fn pinned_features(&self) -> impl Iterator<Item = (Feature, bool)> {
        let pins = self.features.iter().flat_map(|pins| &pins.value);
        pins.map(|(feature, enabled)| (*feature, *enabled))
    }
}
