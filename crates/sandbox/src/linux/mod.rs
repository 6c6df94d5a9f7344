//! Enforcement on Linux: a helper process applies the sandbox to itself and then runs the command.
//!
//! The layers, from the outside in:
//!
//! 1. **Namespaces** (`namespaces`): a user namespace removes the power of root, mounts make everything read-only except
//!    the writable roots, and a process id namespace hides other processes.
//! 2. **Landlock** (`landlock`): the same file rules again, limited reading, no connections to abstract sockets, no
//!    signals to outside processes.
//! 3. **No privileges** (`capabilities`): all capabilities are dropped and cannot be regained.
//! 4. **System call filter** (`filter`): no sockets if the network is restricted, and no calls that access other processes
//!    or risky kernel interfaces.
//!
//! A command whose network is limited to hosts gets a network namespace of its own, which leads nowhere (`network`). Its
//! attempts to connect are reported to the launcher, which may relay them.
//!
//! In addition the number of processes is limited (`processes`).
//!
//! The helper is single-threaded and freshly executed, so this code need not be safe between fork and exec of a threaded
//! program. [`LinuxConfinement`] documents the order of calls.

mod capabilities;
mod error;
mod filter;
mod identity;
mod landlock;
mod namespaces;
mod network;
mod paths;
mod probe;
mod processes;
mod sys;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use codex_host_policy::HostPolicy;

pub use LinuxConfinement as Confinement;
pub use error::{ConfineError, ConfineStep};
pub use identity::ProcessIdentity;
pub use network::CommandSockets;
pub(crate) use paths::{PLATFORM_DEFAULTS, as_stored, comparable};
pub(crate) use probe::probe;
pub(crate) use processes::limits_processes;

use codex_project_markers::Placeholders;

use crate::enforcement::{Enforcement, EnforcementLevels, Namespaces};
use crate::file_rules::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
use crate::network_mode::NetworkMode;
use crate::plan_error::LaunchPlanError;
pub use crate::unix::temporary_folder;
pub(crate) use crate::unix::{OWN_DENIAL_MESSAGES, SHARED_TEMPORARY_FOLDER, changed, set_up, user};
use crate::wire::{Decoder, Encoder, MalformedMessage};

/// The name of the sandbox in metadata of turns.
pub const SANDBOX_NAME: &str = "seccomp";

/// The first version of Landlock that can prevent truncation of files.
const SUFFICIENT_LANDLOCK: u32 = 3;

/// How to enforce these rules.
///
/// # Errors
/// They cannot be enforced completely.
pub(crate) fn confine(
    rules: FileRules,
    network: NetworkMode,
    hosts: Option<HostPolicy>,
    levels: EnforcementLevels,
) -> Result<LinuxConfinement, LaunchPlanError> {
    check(&rules, levels)?;
    Ok(LinuxConfinement {
        rules,
        network,
        hosts: hosts.map(Arc::new),
        levels,
    })
}

fn check(rules: &FileRules, levels: EnforcementLevels) -> Result<(), LaunchPlanError> {
    if !levels.seccomp {
        return Err(LaunchPlanError::Seccomp);
    }
    if levels.namespaces == Namespaces::Unavailable {
        if levels.landlock < SUFFICIENT_LANDLOCK {
            return Err(LaunchPlanError::Files);
        }
        if !rules.protected.is_empty() {
            return Err(LaunchPlanError::ProtectedPaths);
        }
        if !rules.hidden.is_empty() {
            return Err(LaunchPlanError::HiddenPaths);
        }
    }
    if levels.landlock == 0 && rules.read != ReadScope::Everything {
        return Err(LaunchPlanError::Reading);
    }
    Ok(())
}

/// Everything that a helper process needs to sandbox a command.
///
/// If there are [`clone_flags`](Self::clone_flags), the helper creates a process with them, which calls
/// [`enter`](Self::enter). The returned placeholders must also be held by a process outside, which drops them last, when
/// all processes of the command have ended. The process that becomes the command calls [`restrict`](Self::restrict) just
/// before `exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinuxConfinement {
    rules: FileRules,
    network: NetworkMode,
    /// Which hosts the command may reach, for the program that relays its connections. The helper does not get it.
    hosts: Option<Arc<HostPolicy>>,
    levels: EnforcementLevels,
}

impl LinuxConfinement {
    pub(crate) fn enforcement(&self) -> Enforcement {
        Enforcement::Linux {
            namespaces: self.levels.namespaces,
            landlock: self.levels.landlock,
        }
    }

    /// The flags for `clone` that create the namespaces, or `None` if there are none.
    #[must_use]
    pub fn clone_flags(&self) -> Option<i32> {
        let network = match self.network {
            NetworkMode::ByHost => libc::CLONE_NEWNET,
            NetworkMode::Restricted | NetworkMode::Enabled => 0,
        };
        Some(namespaces::clone_flags(self.levels.namespaces)? | network)
    }

    /// Which hosts the command may reach, if its network is limited to hosts.
    #[must_use]
    pub fn hosts(&self) -> Option<&Arc<HostPolicy>> {
        self.hosts.as_ref()
    }

    /// Whether the command has a network of its own, so that somebody must relay its connections.
    #[must_use]
    pub fn has_own_network(&self) -> bool {
        self.network == NetworkMode::ByHost
    }

    /// The sockets of the command's own network, for whoever relays its connections. Must be called in the process that
    /// called [`enter`](Self::enter).
    ///
    /// # Errors
    /// A system call failed.
    pub fn open_sockets(&self) -> Result<CommandSockets, ConfineError> {
        CommandSockets::open()
    }

    /// Sets up the namespaces that this process was created in. Returns the placeholders for protected paths that do not
    /// exist.
    ///
    /// # Errors
    /// A system call failed.
    pub fn enter(&self, identity: ProcessIdentity) -> Result<Placeholders, ConfineError> {
        namespaces::map_user(identity)?;
        let placeholders = hold_placeholders(&self.rules.protected)?;
        let processes = self.levels.namespaces == Namespaces::MountsAndProcesses;
        if processes {
            processes::limit_namespace();
        }
        let by_host = self.has_own_network();
        if by_host {
            network::set_up()?;
        }
        namespaces::enter(&self.rules, processes, by_host)?;
        Ok(placeholders)
    }

    /// Applies all restrictions of the policy permanently to this process and what it executes. If the command has a network
    /// of its own, returns the descriptor from which its attempts to connect are read; they wait until somebody answers.
    ///
    /// # Errors
    /// A system call failed.
    pub fn restrict(&self) -> Result<Option<OwnedFd>, ConfineError> {
        let mounts = self.levels.namespaces != Namespaces::Unavailable;
        if mounts {
            processes::limit_user();
        }
        landlock::restrict(&self.rules, self.network, self.levels.landlock, mounts)?;
        capabilities::drop_all()?;
        let metadata = if mounts {
            filter::Metadata::Changeable
        } else {
            filter::Metadata::Fixed
        };
        filter::install(self.network, metadata)
    }

    /// Appends this value to a message for the helper.
    pub fn encode(&self, encoder: &mut Encoder) {
        let path = |encoder: &mut Encoder, path: &PathBuf| {
            encoder.string(path.as_os_str());
        };
        match &self.rules.read {
            ReadScope::Everything => encoder.flag(false),
            ReadScope::Only(paths) => encoder.flag(true).list(paths, path),
        };
        encoder.list(&self.rules.writable, path);
        encoder.list(&self.rules.protected, |encoder, entry| {
            encoder.string(entry.path.as_os_str());
            encoder.flag(entry.when_absent == WhenAbsent::KeepAbsent);
        });
        encoder.list(&self.rules.hidden, path);
        encoder.list(&self.rules.masked, path);
        encoder.number(match self.network {
            NetworkMode::Restricted => 0,
            NetworkMode::Enabled => 1,
            NetworkMode::ByHost => 2,
        });
        encoder.number(self.levels.landlock);
        encoder.number(self.levels.namespaces as u32);
    }

    /// Decodes a value written by [`encode`](Self::encode).
    ///
    /// # Errors
    /// The bytes are not such a value.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, MalformedMessage> {
        let path = |decoder: &mut Decoder<'_>| decoder.string().map(PathBuf::from);
        let read = if decoder.flag()? {
            ReadScope::Only(decoder.list(path)?)
        } else {
            ReadScope::Everything
        };
        let writable = decoder.list(path)?;
        let protected = decoder.list(|decoder| {
            Ok(ProtectedPath {
                path: path(decoder)?,
                when_absent: if decoder.flag()? {
                    WhenAbsent::KeepAbsent
                } else {
                    WhenAbsent::Ignore
                },
            })
        })?;
        let hidden = decoder.list(path)?;
        let masked = decoder.list(path)?;
        let network = match decoder.number()? {
            0 => NetworkMode::Restricted,
            1 => NetworkMode::Enabled,
            2 => NetworkMode::ByHost,
            _ => return Err(MalformedMessage),
        };
        let landlock = decoder.number()?;
        let namespaces = match decoder.number()? {
            0 => Namespaces::Unavailable,
            1 => Namespaces::Mounts,
            2 => Namespaces::MountsAndProcesses,
            _ => return Err(MalformedMessage),
        };
        Ok(Self {
            rules: FileRules {
                read,
                writable,
                protected,
                hidden,
                masked,
                untrusted: Vec::new(),
            },
            network,
            hosts: None,
            levels: EnforcementLevels {
                landlock,
                seccomp: true,
                namespaces,
                ..EnforcementLevels::default()
            },
        })
    }
}

/// Prevents commands from creating protected paths that do not exist: only an existing path can be made read-only.
fn hold_placeholders(protected: &[ProtectedPath]) -> Result<Placeholders, ConfineError> {
    let mut placeholders = Placeholders::default();
    for entry in protected {
        if entry.when_absent == WhenAbsent::KeepAbsent {
            placeholders.hold(&entry.path)?;
        }
    }
    Ok(placeholders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{ConfinementPolicy, PolicyContext, WorkspaceWrite};
    use crate::{LaunchPlan, plan};

    #[test]
    fn a_confinement_is_decoded_as_it_was_encoded() {
        let levels = EnforcementLevels {
            landlock: 5,
            seccomp: true,
            namespaces: Namespaces::Mounts,
            ..EnforcementLevels::default()
        };
        let policy_context = PolicyContext {
            hidden: vec!["/etc".into()],
            ..PolicyContext::in_folder("/usr")
        };
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default());
        let Ok(LaunchPlan::Confined(confinement)) = plan(&policy, &policy_context, levels) else {
            panic!("nothing to confine");
        };
        let mut encoder = Encoder::default();
        confinement.encode(&mut encoder);
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(LinuxConfinement::decode(&mut decoder), Ok(*confinement));
        assert_eq!(decoder.finish(), Ok(()));
    }
}
