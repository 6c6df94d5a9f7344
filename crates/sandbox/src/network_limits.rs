//! What limits the network of commands to certain hosts.
//!
//! Settings, rules and administrators can limit the network to hosts. [`NetworkLimits`] is the value for all of them, and
//! [`NetworkLimits::network`] is the only place that decides which network a command gets. Limits that name hosts are enforced
//! by host where the system can do it ([`NetworkMode::ByHost`]); where it cannot, and with a limit that is of another kind, the
//! network is closed. A limit opens a network that is closed without it only if it says so, and only for its hosts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codex_host_policy::{HostList, HostPolicy};
use serde::{Deserialize, Serialize};

use crate::network_mode::NetworkMode;

/// The commands that a limit applies to, each with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedCommands {
    /// Commands in the sandbox. A command that may leave the sandbox leaves the limit too.
    Confined,
    /// Every command of the model.
    OfModel,
    /// Also what people and clients run themselves.
    All,
}

/// A limit of the network to certain hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLimit {
    /// The setting that limits, as people know it.
    pub setting: String,
    pub commands: LimitedCommands,
    /// What it says about hosts. None if it limits in a way that cannot be enforced; then the network is closed.
    #[serde(default)]
    pub hosts: Option<HostList>,
    /// Whether commands whose policy has no network get that of the listed hosts.
    #[serde(default)]
    pub opens: bool,
}

impl HostLimit {
    /// A limit that cannot be enforced.
    #[must_use]
    pub fn closing(setting: impl Into<String>, commands: LimitedCommands) -> Self {
        Self {
            setting: setting.into(),
            commands,
            hosts: None,
            opens: false,
        }
    }
}

/// All limits of the network to certain hosts that apply to a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredLimits", into = "StoredLimits")]
pub struct NetworkLimits {
    limits: Vec<HostLimit>,
    /// The limits of permissions, by their setting. They apply if the permissions are in force.
    of_permissions: BTreeMap<String, HostLimit>,
    /// Lists that limit nothing. They count where something else limits.
    allowing: Vec<HostList>,
}

/// The limits as they are stored. Older programs stored the list alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredLimits {
    List(Vec<HostLimit>),
    All {
        limits: Vec<HostLimit>,
        of_permissions: BTreeMap<String, HostLimit>,
        #[serde(default)]
        allowing: Vec<HostList>,
    },
}

impl From<StoredLimits> for NetworkLimits {
    fn from(stored: StoredLimits) -> Self {
        match stored {
            StoredLimits::List(limits) => Self {
                limits,
                ..Self::default()
            },
            StoredLimits::All {
                limits,
                of_permissions,
                allowing,
            } => Self {
                limits,
                of_permissions,
                allowing,
            },
        }
    }
}

impl From<NetworkLimits> for StoredLimits {
    fn from(limits: NetworkLimits) -> Self {
        if limits.of_permissions.is_empty() && limits.allowing.is_empty() {
            return Self::List(limits.limits);
        }
        Self::All {
            limits: limits.limits,
            of_permissions: limits.of_permissions,
            allowing: limits.allowing,
        }
    }
}

impl NetworkLimits {
    pub fn add(&mut self, limit: HostLimit) {
        if !self.limits.contains(&limit) {
            self.limits.push(limit);
        }
    }

    /// Adds a limit that applies while permissions with its setting are in force.
    pub fn add_of_permissions(&mut self, limit: HostLimit) {
        self.of_permissions.insert(limit.setting.clone(), limit);
    }

    /// Adds a list that limits nothing itself.
    pub fn add_allowing(&mut self, list: HostList) {
        if !self.allowing.contains(&list) {
            self.allowing.push(list);
        }
    }

    /// These limits, and those of the settings for commands in the sandbox. A setting that is not known closes the network.
    #[must_use]
    pub fn with_settings(mut self, settings: &[String]) -> Self {
        for setting in settings {
            let known = self.of_permissions.get(setting).cloned();
            let closing = || HostLimit::closing(setting, LimitedCommands::Confined);
            self.add(known.unwrap_or_else(closing));
        }
        self
    }

    /// The limits of both. The hosts of neither open what the other closes.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        if self.limits == others.limits {
            return self;
        }
        // A list of permissions would add to that of other permissions, so both are closed.
        let of_permissions = |limits: &Self| {
            let limits = limits.limits.iter();
            let owned = limits.filter(|limit| limit.is_of_permissions()).cloned();
            owned.collect::<Vec<_>>()
        };
        let closes = of_permissions(&self) != of_permissions(others);
        for limit in &others.limits {
            self.add(limit.clone());
        }
        if closes {
            let of_permissions = self.limits.iter_mut();
            for limit in of_permissions.filter(|limit| limit.is_of_permissions()) {
                limit.hosts = None;
                limit.opens = false;
            }
        }
        self
    }

    /// The limits for what people and clients run themselves. In the sandbox all of them apply.
    #[must_use]
    pub fn for_people(&self) -> Self {
        let lower = |limit: &HostLimit| match limit.commands {
            LimitedCommands::OfModel => HostLimit {
                commands: LimitedCommands::Confined,
                ..limit.clone()
            },
            LimitedCommands::Confined | LimitedCommands::All => limit.clone(),
        };
        Self {
            limits: self.limits.iter().map(lower).collect(),
            of_permissions: self.of_permissions.clone(),
            allowing: self.allowing.clone(),
        }
    }

    /// The network of a command. `wanted` is what its policy and its permissions allow, `by_host` whether this system can
    /// enforce limits by host.
    #[must_use]
    pub fn network(
        &self,
        wanted: NetworkMode,
        commands: LimitedCommands,
        by_host: bool,
    ) -> NetworkMode {
        let mut limits = self.for_commands(commands).peekable();
        if limits.peek().is_none() {
            return wanted;
        }
        let (mut opens, mut enforceable) = (false, by_host);
        for limit in limits {
            opens |= limit.opens;
            enforceable &= limit.hosts.is_some();
        }
        let has_network = opens || wanted != NetworkMode::Restricted;
        if has_network && enforceable {
            NetworkMode::ByHost
        } else {
            NetworkMode::Restricted
        }
    }

    /// Whether any limit applies.
    #[must_use]
    pub fn apply(&self, commands: LimitedCommands) -> bool {
        self.for_commands(commands).next().is_some()
    }

    /// What the limits say about hosts.
    #[must_use]
    pub fn hosts(&self, commands: LimitedCommands) -> HostPolicy {
        let lists = self
            .for_commands(commands)
            .filter_map(|limit| limit.hosts.clone());
        HostPolicy::new(lists.chain(self.allowing.iter().cloned()).collect())
    }

    /// Whether permissions in force open the network of their hosts.
    pub(crate) fn open_by_permissions(&self, commands: LimitedCommands) -> bool {
        self.for_commands(commands)
            .any(|limit| limit.opens && limit.is_of_permissions())
    }

    /// Why commands have no network although their policy allows it; none if nothing limits it, or if the limits can be
    /// enforced. `by_host` says whether this system can.
    pub(crate) fn explanation_if(
        &self,
        commands: LimitedCommands,
        by_host: impl FnOnce() -> bool,
    ) -> Option<String> {
        self.for_commands(commands).next()?;
        let is_closing = |limit: &&HostLimit| limit.hosts.is_none();
        let mut closing: Vec<_> = self.for_commands(commands).filter(is_closing).collect();
        let why = if closing.is_empty() {
            if by_host() {
                return None;
            }
            closing.extend(self.for_commands(commands));
            "this system cannot enforce that"
        } else {
            "this program cannot enforce that"
        };
        let names = names(closing.into_iter());
        Some(format!(
            "Commands have no network: it is limited to certain hosts by {names}, and {why}."
        ))
    }

    /// The settings that limit, in words; none if nothing does.
    #[must_use]
    pub fn settings(&self, commands: LimitedCommands) -> Option<String> {
        self.for_commands(commands).next()?;
        Some(names(self.for_commands(commands)))
    }

    fn for_commands(&self, commands: LimitedCommands) -> impl Iterator<Item = &HostLimit> {
        self.limits
            .iter()
            .filter(move |limit| limit.commands >= commands)
    }
}

impl HostLimit {
    fn is_of_permissions(&self) -> bool {
        let owner = self.hosts.as_ref().map(|hosts| &hosts.owner);
        owner == Some(&codex_host_policy::ListOwner::Permissions)
    }
}

fn names<'a>(limits: impl Iterator<Item = &'a HostLimit>) -> String {
    let mut names = String::new();
    for limit in limits {
        let separator = if names.is_empty() { "" } else { ", " };
        let _ = write!(names, "{separator}{}", limit.setting);
    }
    names
}

#[cfg(test)]
mod tests {
    use codex_host_policy::ListOwner;

    use super::*;

    fn limits(commands: &[LimitedCommands]) -> NetworkLimits {
        let mut limits = NetworkLimits::default();
        for (index, commands) in commands.iter().enumerate() {
            limits.add(HostLimit::closing(format!("`s{index}`"), *commands));
        }
        limits
    }

    #[test]
    fn a_limit_closes_and_never_opens() {
        use LimitedCommands::{All, Confined, OfModel};
        use NetworkMode::{Enabled, Restricted};
        for (present, asked, expected) in [
            (&[][..], Confined, Enabled),
            (&[], All, Enabled),
            (&[Confined], Confined, Restricted),
            (&[Confined], OfModel, Enabled),
            (&[OfModel], Confined, Restricted),
            (&[OfModel], OfModel, Restricted),
            (&[OfModel], All, Enabled),
            (&[All], Confined, Restricted),
            (&[All], All, Restricted),
            (&[Confined, All], All, Restricted),
        ] {
            let limits = limits(present);
            for by_host in [false, true] {
                let network = |wanted| limits.network(wanted, asked, by_host);
                assert_eq!(network(Enabled), expected, "{present:?}");
                assert_eq!(network(Restricted), Restricted);
            }
            let is_explained = limits.explanation_if(asked, || true).is_some();
            assert_eq!(is_explained, expected == Restricted, "{present:?}");
        }
    }

    #[test]
    fn model_rules_limit_user_commands_in_the_sandbox_only() {
        use LimitedCommands::{All, Confined, OfModel};
        for (present, in_sandbox, outside) in [
            (Confined, true, false),
            (OfModel, true, false),
            (All, true, true),
        ] {
            let limits = limits(&[present]).for_people();
            assert_eq!(
                limits.explanation_if(Confined, || true).is_some(),
                in_sandbox
            );
            assert_eq!(limits.explanation_if(OfModel, || true).is_some(), outside);
        }
    }

    #[test]
    fn the_explanation_names_every_setting_that_limits() {
        use LimitedCommands::{All, Confined};
        let limits = limits(&[Confined, All]);
        let explained = |commands| limits.explanation_if(commands, || true).unwrap();
        assert!(explained(Confined).contains("by `s0`, `s1`, and"));
        assert!(explained(All).contains("by `s1`, and"));
    }

    fn listed(setting: &str, owner: ListOwner, opens: bool) -> HostLimit {
        HostLimit {
            hosts: Some(HostList::new(owner, Vec::new())),
            opens,
            ..HostLimit::closing(setting, LimitedCommands::Confined)
        }
    }

    #[test]
    fn unenforceable_host_lists_open_the_network_only_on_request() {
        use LimitedCommands::Confined;
        use NetworkMode::{ByHost, Enabled, Restricted};
        for (limit, wanted, by_host, expected) in [
            (
                listed("f", ListOwner::Feature, false),
                Enabled,
                true,
                ByHost,
            ),
            (
                listed("f", ListOwner::Feature, false),
                Enabled,
                false,
                Restricted,
            ),
            (
                listed("f", ListOwner::Feature, false),
                Restricted,
                true,
                Restricted,
            ),
            (
                listed("p", ListOwner::Permissions, true),
                Restricted,
                true,
                ByHost,
            ),
            (
                listed("p", ListOwner::Permissions, true),
                Restricted,
                false,
                Restricted,
            ),
        ] {
            let mut limits = NetworkLimits::default();
            limits.add(limit);
            assert_eq!(
                limits.network(wanted, Confined, by_host),
                expected,
                "{limits:?}"
            );
            let told = limits.explanation_if(Confined, || by_host);
            assert_eq!(told.is_some(), !by_host);
            limits.add(HostLimit::closing("other", Confined));
            assert_eq!(limits.network(wanted, Confined, by_host), Restricted);
            let told = limits.explanation_if(Confined, || by_host).unwrap();
            assert!(told.contains("by other, and this program"), "{told}");
        }
    }

    #[test]
    fn unknown_permission_settings_deny() {
        let mut limits = NetworkLimits::default();
        limits.add_of_permissions(listed("p", ListOwner::Permissions, true));
        let network = |settings: &[&str]| {
            let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
            let limits = limits.clone().with_settings(&settings);
            limits.network(NetworkMode::Restricted, LimitedCommands::Confined, true)
        };
        assert_eq!(network(&[]), NetworkMode::Restricted);
        assert_eq!(network(&["p"]), NetworkMode::ByHost);
        assert_eq!(network(&["p", "q"]), NetworkMode::Restricted);
    }

    #[test]
    fn limits_of_two_sets_of_permissions_close() {
        let of = |setting: &str| {
            let mut limits = NetworkLimits::default();
            limits.add(listed(setting, ListOwner::Permissions, true));
            limits
        };
        let network = |limits: NetworkLimits| {
            limits.network(NetworkMode::Enabled, LimitedCommands::Confined, true)
        };
        assert_eq!(network(of("p").and(&of("p"))), NetworkMode::ByHost);
        assert_eq!(network(of("p").and(&of("q"))), NetworkMode::Restricted);
        let none = NetworkLimits::default();
        assert_eq!(network(of("p").and(&none)), NetworkMode::Restricted);
        assert_eq!(network(none.and(&of("p"))), NetworkMode::Restricted);
    }

    #[test]
    fn stored_network_limits_round_trip_with_older_formats() {
        let mut limits = limits(&[LimitedCommands::All]);
        let again = |limits: &NetworkLimits| {
            let text = serde_json::to_string(limits).unwrap();
            serde_json::from_str::<NetworkLimits>(&text).unwrap()
        };
        assert_eq!(again(&limits), limits);
        limits.add_of_permissions(listed("p", ListOwner::Permissions, true));
        assert_eq!(again(&limits), limits);
        let old = r#"[{"setting":"`s0`","commands":"all"}]"#;
        let old: NetworkLimits = serde_json::from_str(old).unwrap();
        let network = old.network(NetworkMode::Enabled, LimitedCommands::All, true);
        assert_eq!(network, NetworkMode::Restricted);
    }
}
