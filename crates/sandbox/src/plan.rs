//! Decides whether and how a policy can be enforced.
//!
//! [`probe`] determines once what the system offers. [`plan`] converts a policy to a [`LaunchPlan`] or refuses it. A plan
//! names its level of enforcement; a weaker level is never used if it would not enforce the whole policy.

use std::sync::OnceLock;

use crate::bindings::record_writable;
use crate::enforcement::{Enforcement, EnforcementLevels};
use crate::file_rules::FileRules;
use crate::hidden_now::HiddenNow;
use crate::network_limits::{LimitedCommands, NetworkLimits};
use crate::network_mode::NetworkMode;
use crate::plan_error::LaunchPlanError;
use crate::platform::{self, Confinement};
use crate::policy::{ConfinementPolicy, PolicyContext};
use crate::requested_roots::effective_network;
use crate::unanswered;

/// How to launch a command under a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchPlan {
    /// Without a sandbox.
    Unconfined,
    /// In the sandbox of this system.
    Confined(Box<Confinement>),
}

impl LaunchPlan {
    /// The mechanisms that the plan uses.
    #[must_use]
    pub fn enforcement(&self) -> Enforcement {
        match self {
            Self::Unconfined => Enforcement::Nothing,
            Self::Confined(confinement) => confinement.enforcement(),
        }
    }
}

/// The mechanisms of this system, determined once by trying.
#[must_use]
pub fn probe() -> EnforcementLevels {
    static LEVELS: OnceLock<EnforcementLevels> = OnceLock::new();
    *LEVELS.get_or_init(platform::probe)
}

impl NetworkLimits {
    /// Why commands have no network although their policy allows it; none if nothing limits it, or if this system can enforce
    /// the limits.
    #[must_use]
    pub fn explanation(&self, commands: LimitedCommands) -> Option<String> {
        self.explanation_if(commands, || probe().limits_hosts())
    }
}

/// Whether the number of a command's processes can be limited with these levels.
#[must_use]
pub fn limits_processes(levels: EnforcementLevels) -> bool {
    platform::limits_processes(levels)
}

/// Decides how to enforce `policy` with `levels`.
///
/// # Errors
/// The policy cannot be enforced completely.
pub fn plan(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
    levels: EnforcementLevels,
) -> Result<LaunchPlan, LaunchPlanError> {
    unanswered::check(policy, policy_context)?;
    let network = effective_network(policy, policy_context, levels.limits_hosts());
    let commands = policy.limited_commands();
    let limits = &policy_context.network_limits;
    let hidden = HiddenNow::find(policy, policy_context, levels)?;
    let mut rules = match FileRules::from_policy(policy, policy_context) {
        Some(rules) if rules.untrusted.contains(&policy_context.cwd) => {
            return Err(LaunchPlanError::WorkingFolder);
        }
        Some(rules) => {
            record_writable(&rules.writable);
            rules
        }
        None if limits.apply(commands) || !hidden.is_empty() => FileRules::everything(),
        None => return Ok(LaunchPlan::Unconfined),
    };
    hidden.add_to(&mut rules)?;
    let by_host = network == NetworkMode::ByHost;
    let hosts = by_host.then(|| limits.hosts(commands));
    let confinement = platform::confine(rules, network, hosts, levels)?;
    Ok(LaunchPlan::Confined(Box::new(confinement)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::enforcement::Namespaces;
    use crate::network_limits::HostLimit;
    use crate::policy::{ReadAccess, WorkspaceWrite};

    const ALL_LEVELS: EnforcementLevels = EnforcementLevels {
        landlock: 7,
        seccomp: true,
        namespaces: Namespaces::MountsAndProcesses,
        seatbelt: false,
        restricted_token: false,
        hosts: true,
    };

    fn outcome(
        policy: &ConfinementPolicy,
        levels: EnforcementLevels,
    ) -> Result<Enforcement, LaunchPlanError> {
        plan(policy, &PolicyContext::in_folder("/usr"), levels).map(|plan| plan.enforcement())
    }

    #[test]
    fn the_strongest_levels_are_used_and_named() {
        let used = Enforcement::Linux {
            namespaces: Namespaces::MountsAndProcesses,
            landlock: 7,
        };
        assert_eq!(
            outcome(&ConfinementPolicy::read_only(), ALL_LEVELS),
            Ok(used)
        );
        assert_eq!(
            outcome(&ConfinementPolicy::DangerFullAccess, ALL_LEVELS),
            Ok(Enforcement::Nothing)
        );
    }

    #[test]
    fn unenforceable_policies_are_refused() {
        let writing = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default());
        let reading = ConfinementPolicy::ReadOnly {
            read: ReadAccess::Restricted {
                platform_defaults: true,
                roots: vec![],
                denied: Vec::new(),
            },
            network: NetworkMode::Enabled,
        };
        let landlock_only = EnforcementLevels {
            namespaces: Namespaces::Unavailable,
            ..ALL_LEVELS
        };
        let neither = EnforcementLevels {
            landlock: 2,
            ..landlock_only
        };
        let no_filter = EnforcementLevels {
            seccomp: false,
            ..ALL_LEVELS
        };
        let no_landlock = EnforcementLevels {
            landlock: 0,
            ..ALL_LEVELS
        };
        assert!(outcome(&ConfinementPolicy::read_only(), landlock_only).is_ok());
        assert!(outcome(&writing, no_landlock).is_ok());
        assert_eq!(
            outcome(&writing, landlock_only),
            Err(LaunchPlanError::ProtectedPaths)
        );
        assert_eq!(
            outcome(&ConfinementPolicy::read_only(), neither),
            Err(LaunchPlanError::Files)
        );
        assert_eq!(outcome(&writing, no_filter), Err(LaunchPlanError::Seccomp));
        assert_eq!(
            outcome(&reading, no_landlock),
            Err(LaunchPlanError::Reading)
        );
        assert!(outcome(&ConfinementPolicy::DangerFullAccess, no_filter).is_ok());
    }

    #[test]
    fn limited_network_closes_or_refuses_unsandboxed_commands() {
        let no_filter = EnforcementLevels {
            seccomp: false,
            ..ALL_LEVELS
        };
        let open = ConfinementPolicy::External {
            network: NetworkMode::Enabled,
        };
        for policy in [ConfinementPolicy::DangerFullAccess, open] {
            for (commands, is_limited) in [
                (LimitedCommands::All, true),
                (LimitedCommands::OfModel, true),
                (LimitedCommands::Confined, false),
            ] {
                let mut limits = NetworkLimits::default();
                limits.add(HostLimit::closing("`s`", commands));
                let policy_context = PolicyContext {
                    network_limits: Arc::new(limits),
                    ..PolicyContext::in_folder("/usr")
                };
                let plan = |levels| plan(&policy, &policy_context, levels);
                let is_confined = matches!(plan(ALL_LEVELS), Ok(LaunchPlan::Confined(_)));
                assert_eq!(is_confined, is_limited, "{policy:?} {commands:?}");
                let refused = plan(no_filter) == Err(LaunchPlanError::Seccomp);
                assert_eq!(refused, is_limited, "{policy:?} {commands:?}");
            }
        }
    }

    #[test]
    fn the_system_is_probed_once_and_the_same() {
        assert_eq!(probe(), probe());
        println!("this system: {:?}", probe());
    }
}
