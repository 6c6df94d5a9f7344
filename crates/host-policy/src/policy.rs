//! The decision about a connection.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::list::{HostDecision, HostList, ListOwner};
use crate::local::is_local;

/// All lists that apply to a command. Without any of them every host is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPolicy {
    lists: Vec<HostList>,
}

/// The decision about a host and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// A person may allow it. If nobody can be asked, it is refused.
    Ask(AskReason),
    /// No person may allow it.
    Refuse(RefusalReason),
}

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskReason {
    /// Not every list that must allow the host does.
    NotListed,
    /// A list or a rule wants a person to decide. A rule that allows the host changes nothing about that.
    Wanted,
}

/// Why a connection is refused, whoever is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// A list or a rule denies the host.
    Denied,
    /// It is an address of this machine or of its networks, and no list names it.
    LocalAddress,
    /// The administrator allows the listed hosts only.
    NotOfAdministrator,
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Denied => "it is denied by a rule or a list of hosts",
            Self::LocalAddress => {
                "it is an address of this machine or of its network that is not listed"
            }
            Self::NotOfAdministrator => "the administrator allows listed hosts only",
        })
    }
}

impl HostPolicy {
    #[must_use]
    pub fn new(lists: Vec<HostList>) -> Self {
        Self { lists }
    }

    /// Decides about a connection.
    ///
    /// What any list denies is refused, then what any list wants a person to decide is a question. Every owner of lists must
    /// allow a host; a rule that allows it counts for all of them, and lists of users for an administrator who has not
    /// reserved the decision. An address is allowed only by an entry that names it.
    #[must_use]
    pub fn verdict(&self, host: &Host, port: u16) -> Verdict {
        let decisions: Vec<_> = self
            .lists
            .iter()
            .map(|list| (&list.owner, list.decision(host, port)))
            .collect();
        let any = |wanted| {
            decisions
                .iter()
                .any(|(_, decision)| *decision == Some(wanted))
        };
        if decisions.is_empty() || any(HostDecision::Deny) {
            return Verdict::Refuse(RefusalReason::Denied);
        }
        // A question of somebody else does not lift it.
        let is_reserved = |owner: &ListOwner| {
            matches!(owner, ListOwner::Administrator { only: true, .. })
                && !has_decision(&decisions, owner, HostDecision::Allow)
                && !has_decision(&decisions, owner, HostDecision::Ask)
        };
        if decisions.iter().any(|(owner, _)| is_reserved(owner)) {
            return Verdict::Refuse(RefusalReason::NotOfAdministrator);
        }
        let is_named = any(HostDecision::Allow) || any(HostDecision::Ask);
        if let Host::Address(address) = host
            && is_local(*address)
            && !is_named
        {
            return Verdict::Refuse(RefusalReason::LocalAddress);
        }
        if any(HostDecision::Ask) {
            return Verdict::Ask(AskReason::Wanted);
        }
        if self.is_allowed(host, &decisions) {
            Verdict::Allow
        } else {
            Verdict::Ask(AskReason::NotListed)
        }
    }

    fn is_allowed(&self, host: &Host, decisions: &ListedDecisions<'_>) -> bool {
        if allows(decisions, &ListOwner::Rules) {
            return true;
        }
        let owners = || decisions.iter().map(|(owner, _)| *owner);
        let of_users = || {
            owners().filter(|owner| matches!(owner, ListOwner::Permissions | ListOwner::Feature))
        };
        let allows_it = |owner| {
            allows(decisions, owner)
                || (*owner == ListOwner::Feature && self.feature_adds_nothing())
        };
        let by_users = of_users().next().is_some() && of_users().all(allows_it);
        owners().all(|owner| match owner {
            // A rule that denies a name cannot be held for an address without a name.
            ListOwner::Rules => {
                matches!(host, Host::Name(_)) || owners().any(|other| *other != ListOwner::Rules)
            }
            ListOwner::Permissions => allows(decisions, owner),
            ListOwner::Feature => allows(decisions, owner) || self.feature_adds_nothing(),
            ListOwner::Administrator { .. } => allows(decisions, owner) || by_users,
        })
    }

    /// Whether connections may go through the proxy of this machine: somebody allows it, and every administrator who has a list.
    #[must_use]
    pub fn allows_upstream_proxy(&self) -> bool {
        let of_administrators = self.lists.iter();
        let mut of_administrators =
            of_administrators.filter(|list| matches!(list.owner, ListOwner::Administrator { .. }));
        self.lists.iter().any(|list| list.upstream_proxy)
            && of_administrators.all(|list| list.upstream_proxy)
    }

    /// What the lists allow, as they write it, each once.
    #[must_use]
    pub fn allowed(&self) -> Vec<String> {
        let entries = self.lists.iter().flat_map(|list| &list.entries);
        let allowed = entries.filter(|entry| entry.decision == HostDecision::Allow);
        let mut patterns: Vec<_> = allowed.map(|entry| entry.pattern.to_string()).collect();
        patterns.sort();
        patterns.dedup();
        patterns
    }

    /// Whether the feature is only switched on, and permissions have the list.
    fn feature_adds_nothing(&self) -> bool {
        let of = |owner: ListOwner| self.lists.iter().filter(move |list| list.owner == owner);
        let has_entries = of(ListOwner::Feature).any(|list| !list.entries.is_empty());
        !has_entries && of(ListOwner::Permissions).next().is_some()
    }

    /// Whether a name that is allowed may lead to an address: to one of the internet unless it is denied, to a local one only if
    /// a connection to the address itself is allowed.
    #[must_use]
    pub fn allows_address(&self, address: std::net::IpAddr, port: u16) -> bool {
        let verdict = self.verdict(&Host::from(address), port);
        if is_local(address) {
            verdict == Verdict::Allow
        } else {
            verdict != Verdict::Refuse(RefusalReason::Denied)
        }
    }
}

type ListedDecisions<'a> = [(&'a ListOwner, Option<HostDecision>)];

/// Whether a list of this owner allows the host.
fn allows(decisions: &ListedDecisions<'_>, owner: &ListOwner) -> bool {
    has_decision(decisions, owner, HostDecision::Allow)
}

/// Whether a list of this owner says this about the host.
fn has_decision(decisions: &ListedDecisions<'_>, owner: &ListOwner, said: HostDecision) -> bool {
    decisions
        .iter()
        .any(|(other, decision)| *other == owner && *decision == Some(said))
}

#[cfg(test)]
mod tests;
