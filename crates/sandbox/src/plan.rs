//! Can a policy be enforced here, and by what?
//!
//! [`probe`] finds out once what the system offers, [`plan`] turns a policy into a [`LaunchPlan`]
//! or refuses. A plan says at which level it enforces; a weaker one is never used silently where
//! it would leave something of the policy out.

use std::sync::OnceLock;

use crate::bindings::hand_out;
use crate::policy::{Policy, Surroundings};
use crate::roots::{FileRules, ReadScope, effective_network};
use crate::seatbelt::SeatbeltProfile;

/// What the system can isolate with namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespaces {
    /// None that this process may create.
    Unavailable,
    /// Own mounts, so read-only views.
    Mounts,
    /// Also own process ids, so no process of others can be seen.
    MountsAndProcesses,
}

/// What this system offers for enforcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Levels {
    /// Version of Landlock's interface, 0 if there is none.
    pub landlock: u32,
    /// System call filters.
    pub seccomp: bool,
    /// Namespaces.
    pub namespaces: Namespaces,
    /// macOS's own sandbox.
    pub seatbelt: bool,
}

/// What a plan enforces with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// Nothing: the policy asks for nothing.
    Nothing,
    /// System call filter, and what there is of the rest.
    Linux {
        /// Namespaces used.
        namespaces: Namespaces,
        /// Version of Landlock used, 0 if none.
        landlock: u32,
    },
    /// macOS's own sandbox.
    Seatbelt,
}

/// How to launch a command under a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchPlan {
    /// As it is.
    Unconfined,
    /// In a helper process that confines itself before it runs the command.
    #[cfg(target_os = "linux")]
    Confined(Box<crate::linux::Confinement>),
    /// Through macOS's launcher.
    Seatbelt(Box<SeatbeltProfile>),
}

impl LaunchPlan {
    /// What the plan enforces with.
    #[must_use]
    pub fn enforcement(&self) -> Enforcement {
        match self {
            Self::Unconfined => Enforcement::Nothing,
            #[cfg(target_os = "linux")]
            Self::Confined(confinement) => confinement.enforcement(),
            Self::Seatbelt(_) => Enforcement::Seatbelt,
        }
    }
}

/// Why a policy cannot be enforced. The command must not be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing is implemented for this system.
    #[error("sandboxing is not available on this system")]
    System,
    /// No system call filter, so no way to keep commands off the network.
    #[error("the kernel has no seccomp filters")]
    Seccomp,
    /// Neither namespaces nor a sufficient Landlock.
    #[error("the kernel offers neither user namespaces nor Landlock version 3 to this process")]
    Files,
    /// Landlock alone cannot keep a part of a writable folder read-only.
    #[error(
        "user namespaces are not available to this process, and without them `.git` and `.codex` \
         inside a writable folder cannot be kept read-only"
    )]
    ProtectedPaths,
    /// Landlock alone cannot hide a part of a readable folder.
    #[error(
        "user namespaces are not available to this process, and without them a path inside a \
         readable folder cannot be hidden"
    )]
    HiddenPaths,
    /// What the working folder leads to may have been decided by a command.
    #[error(
        "the working folder is reached through a link that a confined command may have made; use the \
         path that it leads to, if that is what you want"
    )]
    WorkingFolder,
    /// Reading is limited through Landlock.
    #[error("the kernel has no Landlock, so reading cannot be limited")]
    Reading,
}

/// The first version of Landlock that can keep a file from being truncated.
const SUFFICIENT_LANDLOCK: u32 = 3;

/// What this system offers. Found out once, by trying.
#[must_use]
pub fn probe() -> Levels {
    static LEVELS: OnceLock<Levels> = OnceLock::new();
    *LEVELS.get_or_init(probe_now)
}

/// Whether the number of processes of a command is limited with what `levels` offer.
#[must_use]
pub fn limits_processes(levels: Levels) -> bool {
    #[cfg(target_os = "linux")]
    return crate::linux::limits_processes(levels);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = levels;
        false
    }
}

#[cfg(target_os = "linux")]
fn probe_now() -> Levels {
    crate::linux::probe()
}

#[cfg(not(target_os = "linux"))]
fn probe_now() -> Levels {
    Levels {
        landlock: 0,
        seccomp: false,
        namespaces: Namespaces::Unavailable,
        seatbelt: cfg!(target_os = "macos"),
    }
}

/// Decides how to enforce `policy` with what `levels` offer.
///
/// # Errors
/// The policy cannot be enforced as a whole.
pub fn plan(
    policy: &Policy,
    surroundings: &Surroundings,
    levels: Levels,
) -> Result<LaunchPlan, Refusal> {
    let Some(rules) = FileRules::of(policy, surroundings) else {
        return Ok(LaunchPlan::Unconfined);
    };
    let network = effective_network(policy, surroundings);
    if rules.untrusted.contains(&surroundings.cwd) {
        return Err(Refusal::WorkingFolder);
    }
    hand_out(&rules.writable);
    if levels.seatbelt {
        let profile = SeatbeltProfile::new(&rules, network);
        return Ok(LaunchPlan::Seatbelt(Box::new(profile)));
    }
    check(&rules, levels)?;
    #[cfg(target_os = "linux")]
    return Ok(LaunchPlan::Confined(Box::new(
        crate::linux::Confinement::new(rules, network, levels),
    )));
    #[cfg(not(target_os = "linux"))]
    Err(Refusal::System)
}

fn check(rules: &FileRules, levels: Levels) -> Result<(), Refusal> {
    if cfg!(not(target_os = "linux")) {
        return Err(Refusal::System);
    }
    if !levels.seccomp {
        return Err(Refusal::Seccomp);
    }
    if levels.namespaces == Namespaces::Unavailable {
        if levels.landlock < SUFFICIENT_LANDLOCK {
            return Err(Refusal::Files);
        }
        if !rules.protected.is_empty() {
            return Err(Refusal::ProtectedPaths);
        }
        if !rules.hidden.is_empty() {
            return Err(Refusal::HiddenPaths);
        }
    }
    if levels.landlock == 0 && rules.read != ReadScope::Everything {
        return Err(Refusal::Reading);
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::policy::{Network, ReadAccess, WorkspaceWrite};

    const ALL: Levels = Levels {
        landlock: 7,
        seccomp: true,
        namespaces: Namespaces::MountsAndProcesses,
        seatbelt: false,
    };

    fn outcome(policy: &Policy, levels: Levels) -> Result<Enforcement, Refusal> {
        plan(policy, &Surroundings::of("/usr"), levels).map(|plan| plan.enforcement())
    }

    #[test]
    fn the_strongest_levels_are_used_and_named() {
        let used = Enforcement::Linux {
            namespaces: Namespaces::MountsAndProcesses,
            landlock: 7,
        };
        assert_eq!(outcome(&Policy::read_only(), ALL), Ok(used));
        assert_eq!(
            outcome(&Policy::DangerFullAccess, ALL),
            Ok(Enforcement::Nothing)
        );
    }

    #[test]
    fn what_cannot_be_enforced_is_refused() {
        let writing = Policy::WorkspaceWrite(WorkspaceWrite::default());
        let reading = Policy::ReadOnly {
            read: ReadAccess::Restricted {
                platform_defaults: true,
                roots: vec![],
            },
            network: Network::Enabled,
        };
        let landlock_only = Levels {
            namespaces: Namespaces::Unavailable,
            ..ALL
        };
        let neither = Levels {
            landlock: 2,
            ..landlock_only
        };
        let no_filter = Levels {
            seccomp: false,
            ..ALL
        };
        let no_landlock = Levels { landlock: 0, ..ALL };
        assert!(outcome(&Policy::read_only(), landlock_only).is_ok());
        assert!(outcome(&writing, no_landlock).is_ok());
        assert_eq!(
            outcome(&writing, landlock_only),
            Err(Refusal::ProtectedPaths)
        );
        assert_eq!(outcome(&Policy::read_only(), neither), Err(Refusal::Files));
        assert_eq!(outcome(&writing, no_filter), Err(Refusal::Seccomp));
        assert_eq!(outcome(&reading, no_landlock), Err(Refusal::Reading));
        assert!(outcome(&Policy::DangerFullAccess, no_filter).is_ok());
    }

    #[test]
    fn the_system_is_probed_once_and_the_same() {
        assert_eq!(probe(), probe());
        println!("this system: {:?}", probe());
    }
}
