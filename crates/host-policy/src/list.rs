//! What one source says about hosts.

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::pattern::HostPattern;

/// What an entry says about a host. The later ones are stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostDecision {
    Allow,
    /// A person decides.
    Ask,
    Deny,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    pub pattern: HostPattern,
    pub decision: HostDecision,
}

/// Where a list is from. Lists of one owner are one list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListOwner {
    Administrator {
        /// Which of several files of requirements.
        source: String,
        /// Whether nobody else may allow a host.
        only: bool,
    },
    /// Named permissions.
    Permissions,
    /// The table of the feature.
    Feature,
    /// Rules about single hosts. Hosts without a rule are not closed by them.
    Rules,
}

/// What one source says about hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostList {
    pub owner: ListOwner,
    pub entries: Vec<HostEntry>,
    /// Whether connections may go through the proxy of this machine.
    #[serde(default)]
    pub upstream_proxy: bool,
}

impl HostList {
    #[must_use]
    pub fn new(owner: ListOwner, entries: Vec<HostEntry>) -> Self {
        Self {
            owner,
            entries,
            upstream_proxy: false,
        }
    }

    /// The strictest of the entries about a host.
    pub(crate) fn decision(&self, host: &Host, port: u16) -> Option<HostDecision> {
        let entries = self.entries.iter();
        let about = entries.filter(|entry| match entry.decision {
            HostDecision::Deny => entry.pattern.denies(host, port),
            HostDecision::Allow | HostDecision::Ask => entry.pattern.names(host, port),
        });
        about.map(|entry| entry.decision).max()
    }
}
