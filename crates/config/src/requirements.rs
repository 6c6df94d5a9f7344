//! Limits that an administrator sets: which values settings may have at all.
//!
//! Several sources may set limits; of each field the first source that has it counts, fields are not
//! merged. Only apps can be forced off by any of them.

mod check;
mod file;
mod load;
mod rules;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use codex_protocol::AskForApproval;
use codex_protocol::WebSearchMode;

pub use check::Violation;
pub use file::McpServerIdentity;
pub use file::NetworkRequirements;
pub use file::Residency;
pub use file::SandboxModeRequirement;
pub use load::RequirementsError;
pub(crate) use load::load;
pub use rules::PatternToken;
pub use rules::PrefixRule;
pub use rules::RuleDecision;

use crate::features::Feature;

/// A limit, and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The limit.
    pub value: T,
    /// Who set it.
    pub source: RequirementSource,
}

/// Who sets limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementSource {
    /// The account.
    Account,
    /// Device management.
    Preferences {
        /// The preference domain.
        domain: String,
        /// The preference.
        key: String,
    },
    /// A file of the administrator.
    File(PathBuf),
    /// Device management, by the older form of managed settings.
    LegacyPreferences,
}

impl fmt::Display for RequirementSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account => f.write_str("cloud requirements"),
            Self::Preferences { domain, key } => write!(f, "MDM {domain}:{key}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::LegacyPreferences => f.write_str("MDM managed_config.toml (legacy)"),
        }
    }
}

/// All limits in force. A field that is absent limits nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// The approval policies allowed; the first is the one to fall back to. Never empty.
    pub approval_policies: Option<Sourced<Vec<AskForApproval>>>,
    /// The sandbox modes allowed; read-only is among them.
    pub sandbox_modes: Option<Sourced<Vec<SandboxModeRequirement>>>,
    /// The web search modes allowed, as written; disabled always is.
    pub web_search_modes: Option<Sourced<Vec<WebSearchMode>>>,
    /// Features that are on, or off, whatever settings say.
    pub features: Option<Sourced<BTreeMap<Feature, bool>>>,
    /// The only MCP servers allowed.
    pub mcp_servers: Option<Sourced<BTreeMap<String, McpServerIdentity>>>,
    /// Apps that are off.
    pub disabled_apps: BTreeMap<String, RequirementSource>,
    /// Rules for commands, beside those of rules files.
    pub rules: Option<Sourced<Vec<PrefixRule>>>,
    /// Where requests have to be handled.
    pub residency: Option<Sourced<Residency>>,
    /// What the network proxy is bound to.
    pub network: Option<Sourced<NetworkRequirements>>,
    /// The policy of the guardian.
    pub guardian_instructions: Option<Sourced<String>>,
}

impl Requirements {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Features that are on, or off, whatever settings say.
    pub(crate) fn pinned_features(&self) -> impl Iterator<Item = (Feature, bool)> {
        let pins = self.features.iter().flat_map(|pins| &pins.value);
        pins.map(|(feature, enabled)| (*feature, *enabled))
    }
}

#[cfg(test)]
impl Requirements {
    /// The limits of a text.
    pub(crate) fn for_tests(text: &str) -> Self {
        let mut requirements = Self::default();
        let source = RequirementSource::File(PathBuf::from("test"));
        load::add(&mut requirements, text, source).unwrap();
        requirements
    }
}
