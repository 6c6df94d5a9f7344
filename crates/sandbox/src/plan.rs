//! Decides whether and how a policy can be enforced.
//!
//! [`probe`] determines once what the system offers. [`plan`] converts a policy to a [`LaunchPlan`] or refuses it. A plan
//! names its level of enforcement; a weaker level is never used if it would not enforce the whole policy.

use std::sync::OnceLock;

use crate::bindings::hand_out;
use crate::policy::{Policy, Surroundings};
use crate::roots::{FileRules, ReadScope, effective_network};
use crate::seatbelt::SeatbeltProfile;

/// The namespaces that this process can create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespaces {
    /// None.
    Unavailable,
    /// Mount namespaces, for read-only mounts.
    Mounts,
    /// Also process id namespaces, which hide other processes.
    MountsAndProcesses,
}

/// The enforcement mechanisms of this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Levels {
    /// The version of Landlock's interface, 0 without Landlock.
    pub landlock: u32,
    /// Whether system call filters are available.
    pub seccomp: bool,
    pub namespaces: Namespaces,
    /// Whether macOS's sandbox is available.
    pub seatbelt: bool,
}

/// The mechanisms that a plan uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// None: the policy restricts nothing.
    Nothing,
    /// The system call filter, and the others that are available.
    Linux {
        /// The namespaces.
        namespaces: Namespaces,
        /// The version of Landlock, 0 if not used.
        landlock: u32,
    },
    /// macOS's sandbox.
    Seatbelt,
}

/// How to launch a command under a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchPlan {
    /// Without a sandbox.
    Unconfined,
    /// In a helper process that applies the sandbox to itself before it runs the command.
    #[cfg(target_os = "linux")]
    Confined(Box<crate::linux::Confinement>),
    /// Through macOS's sandbox launcher.
    Seatbelt(Box<SeatbeltProfile>),
}

impl LaunchPlan {
    /// The mechanisms that the plan uses.
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
    /// There is no implementation for this system.
    #[error("sandboxing is not available on this system")]
    System,
    /// There are no system call filters to restrict the network.
    #[error("the kernel has no seccomp filters")]
    Seccomp,
    /// There are neither namespaces nor a sufficient version of Landlock.
    #[error("the kernel offers neither user namespaces nor Landlock version 3 to this process")]
    Files,
    /// Landlock alone cannot make a part of a writable folder read-only.
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
    /// The working folder is reached through a link that a command may have created.
    #[error(
        "the working folder is reached through a link that a confined command may have made; use the \
         path that it leads to, if that is what you want"
    )]
    WorkingFolder,
    /// There is no Landlock to limit reading.
    #[error("the kernel has no Landlock, so reading cannot be limited")]
    Reading,
}

/// The first version of Landlock that can prevent truncation of files.
const SUFFICIENT_LANDLOCK: u32 = 3;

/// The mechanisms of this system, determined once by trying.
#[must_use]
pub fn probe() -> Levels {
    static LEVELS: OnceLock<Levels> = OnceLock::new();
    *LEVELS.get_or_init(probe_now)
}

/// Whether the number of a command's processes can be limited with these levels.
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

/// Decides how to enforce `policy` with `levels`.
///
/// # Errors
/// The policy cannot be enforced completely.
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
