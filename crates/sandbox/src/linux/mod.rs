//! Enforcement on Linux, by a process that confines itself and then runs the command.
//!
//! The layers, from the outside in:
//!
//! 1. **Namespaces** (`namespaces`): a user namespace takes away what root could do, own mounts
//!    make everything read-only but the writable roots, own process ids hide everybody else.
//! 2. **Landlock** (`landlock`): the same file rules a second time, limited reading, no connection
//!    to abstract sockets, no signal to processes outside.
//! 3. **No privileges** (`capabilities`): no capability is left and none can come back.
//! 4. **System call filter** (`filter`): no sockets where the network is restricted, and none of
//!    the calls that reach into other processes or the kernel.
//!
//! Beside them stands a limit of processes (`processes`).
//!
//! The helper is single-threaded and freshly executed, so nothing here needs to be safe between
//! fork and exec of a threaded program. The order of calls is [`Confinement`]'s documentation.

mod capabilities;
mod error;
mod filter;
mod landlock;
mod namespaces;
mod placeholders;
mod probe;
mod processes;
mod sys;

use std::path::PathBuf;

pub use error::{ConfineError, Step};
pub use placeholders::Placeholders;
pub(crate) use placeholders::{is_placeholder_at, remove_if_abandoned};
pub(crate) use probe::probe;
pub(crate) use processes::limits_processes;

use crate::plan::{Enforcement, Levels, Namespaces};
use crate::policy::Network;
use crate::roots::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
use crate::wire::{Decoder, Encoder, Malformed};

/// Everything that a helper process needs to know to confine a command.
///
/// If there are [`clone_flags`](Self::clone_flags), the helper starts a process with them, and
/// that one calls [`enter`](Self::enter). The placeholders that it answers have to be held by
/// somebody outside as well, who is the last to drop them, when every process of the command is
/// gone. In the process that becomes the command, last before `exec`, comes
/// [`restrict`](Self::restrict).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    rules: FileRules,
    network: Network,
    levels: Levels,
}

impl Confinement {
    pub(crate) fn new(rules: FileRules, network: Network, levels: Levels) -> Self {
        Self {
            rules,
            network,
            levels,
        }
    }

    pub(crate) fn enforcement(&self) -> Enforcement {
        Enforcement::Linux {
            namespaces: self.levels.namespaces,
            landlock: self.levels.landlock,
        }
    }

    /// The flags for `clone` that make the namespaces, or `None` if there are none to be made.
    #[must_use]
    pub fn clone_flags(&self) -> Option<i32> {
        namespaces::clone_flags(self.levels.namespaces)
    }

    /// Sets up the namespaces that this process was started in. Answers what keeps the protected
    /// paths absent that do not exist.
    ///
    /// # Errors
    /// The kernel refuses a step.
    pub fn enter(&self, identity: Identity) -> Result<Placeholders, ConfineError> {
        namespaces::map_user(identity)?;
        let placeholders = Placeholders::of(&self.rules.protected)?;
        let processes = self.levels.namespaces == Namespaces::MountsAndProcesses;
        if processes {
            processes::limit_namespace();
        }
        namespaces::enter(&self.rules, processes)?;
        Ok(placeholders)
    }

    /// Gives up everything that the policy does not allow. What this process executes next is
    /// confined for good.
    ///
    /// # Errors
    /// The kernel refuses a step.
    pub fn restrict(&self) -> Result<(), ConfineError> {
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
        encoder.flag(self.network == Network::Enabled);
        encoder.number(self.levels.landlock);
        encoder.number(self.levels.namespaces as u32);
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// Something else was written.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
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
        let network = if decoder.flag()? {
            Network::Enabled
        } else {
            Network::Restricted
        };
        let landlock = decoder.number()?;
        let namespaces = match decoder.number()? {
            0 => Namespaces::Unavailable,
            1 => Namespaces::Mounts,
            2 => Namespaces::MountsAndProcesses,
            _ => return Err(Malformed),
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
            levels: Levels {
                landlock,
                seccomp: true,
                namespaces,
                seatbelt: false,
            },
        })
    }
}

/// The user and group of a process. To be taken before the namespaces are made: inside of them
/// nobody has a name yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    user: u32,
    group: u32,
}

impl Identity {
    /// Of this process.
    #[must_use]
    pub fn current() -> Self {
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, Surroundings, WorkspaceWrite};
    use crate::{LaunchPlan, plan};

    #[test]
    fn a_confinement_survives_the_way_to_the_helper() {
        let levels = Levels {
            landlock: 5,
            seccomp: true,
            namespaces: Namespaces::Mounts,
            seatbelt: false,
        };
        let surroundings = Surroundings {
            hidden: vec!["/etc".into()],
            ..Surroundings::of("/usr")
        };
        let policy = Policy::WorkspaceWrite(WorkspaceWrite::default());
        let Ok(LaunchPlan::Confined(confinement)) = plan(&policy, &surroundings, levels) else {
            panic!("nothing to confine");
        };
        let mut encoder = Encoder::default();
        confinement.encode(&mut encoder);
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(Confinement::decode(&mut decoder), Ok(*confinement));
        assert_eq!(decoder.finish(), Ok(()));
    }
}
