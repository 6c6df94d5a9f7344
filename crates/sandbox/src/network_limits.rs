//! What limits the network of commands to certain hosts.
//!
//! Settings, rules and administrators can limit the network to hosts. [`NetworkLimits`] is the value for all of them, and
//! [`NetworkLimits::network`] is the only place that decides which network a command gets. Limits by host cannot be
//! enforced yet, so a network with a limit is closed; enforcement by host would be another [`NetworkMode`] that is
//! returned here. A limit never opens a network that is closed without it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::policy::NetworkMode;

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
}

/// All limits of the network to certain hosts that apply to a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkLimits(Vec<HostLimit>);

impl NetworkLimits {
    pub fn add(&mut self, limit: HostLimit) {
        if !self.0.contains(&limit) {
            self.0.push(limit);
        }
    }

    /// These limits, and those of the settings for commands in the sandbox.
    #[must_use]
    pub fn with_settings(mut self, settings: &[String]) -> Self {
        for setting in settings {
            self.add(HostLimit {
                setting: setting.clone(),
                commands: LimitedCommands::Confined,
            });
        }
        self
    }

    /// The limits of both.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        for limit in &others.0 {
            self.add(limit.clone());
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
        Self(self.0.iter().map(lower).collect())
    }

    /// The network of a command. `wanted` is what its policy and its permissions allow.
    #[must_use]
    pub fn network(&self, wanted: NetworkMode, commands: LimitedCommands) -> NetworkMode {
        if self.of(commands).next().is_some() {
            NetworkMode::Restricted
        } else {
            wanted
        }
    }

    /// Why commands have no network although their policy allows it; none if nothing limits it.
    #[must_use]
    pub fn explanation(&self, commands: LimitedCommands) -> Option<String> {
        let mut settings = self.of(commands).map(|limit| limit.setting.as_str());
        let mut names = settings.next()?.to_owned();
        for setting in settings {
            let _ = write!(names, ", {setting}");
        }
        Some(format!(
            "Commands have no network: it is limited to certain hosts by {names}, and this program cannot enforce that \
             yet."
        ))
    }

    fn of(&self, commands: LimitedCommands) -> impl Iterator<Item = &HostLimit> {
        self.0
            .iter()
            .filter(move |limit| limit.commands >= commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(commands: &[LimitedCommands]) -> NetworkLimits {
        let mut limits = NetworkLimits::default();
        for (index, commands) in commands.iter().enumerate() {
            limits.add(HostLimit {
                setting: format!("`s{index}`"),
                commands: *commands,
            });
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
            assert_eq!(limits.network(Enabled, asked), expected, "{present:?}");
            assert_eq!(limits.network(Restricted, asked), Restricted);
            let is_explained = limits.explanation(asked).is_some();
            assert_eq!(is_explained, expected == Restricted, "{present:?}");
        }
    }

    #[test]
    fn people_are_limited_by_rules_for_the_model_in_the_sandbox_only() {
        use LimitedCommands::{All, Confined, OfModel};
        for (present, in_sandbox, outside) in [
            (Confined, true, false),
            (OfModel, true, false),
            (All, true, true),
        ] {
            let limits = limits(&[present]).for_people();
            assert_eq!(limits.explanation(Confined).is_some(), in_sandbox);
            assert_eq!(limits.explanation(OfModel).is_some(), outside);
        }
    }

    #[test]
    fn the_explanation_names_every_setting_that_limits() {
        use LimitedCommands::{All, Confined};
        let limits = limits(&[Confined, All]);
        let explained = |commands| limits.explanation(commands).unwrap();
        assert!(explained(Confined).contains("by `s0`, `s1`, and"));
        assert!(explained(All).contains("by `s1`, and"));
    }
}
