//! The enforcement mechanisms of a system, and those that a plan uses.

use crate::network_mode::NetworkMode;

/// The namespaces that this process can create.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespaces {
    /// None.
    #[default]
    Unavailable,
    /// Mount namespaces, for read-only mounts.
    Mounts,
    /// Also process id namespaces, which hide other processes.
    MountsAndProcesses,
}

/// The enforcement mechanisms of a system; none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EnforcementLevels {
    /// The version of Landlock's interface, 0 without Landlock.
    pub landlock: u32,
    /// Whether system call filters are available.
    pub seccomp: bool,
    pub namespaces: Namespaces,
    /// Whether macOS's sandbox is available.
    pub seatbelt: bool,
    /// Whether Windows enforces restricted tokens. They do not limit the network.
    pub restricted_token: bool,
    /// Whether the network can be limited to hosts.
    pub hosts: bool,
}

impl EnforcementLevels {
    /// Whether a command with this network access can be confined at all. A policy may still need more than there is.
    #[must_use]
    pub fn can_confine(self, network: NetworkMode) -> bool {
        let has_files = self.landlock > 0 || self.namespaces != Namespaces::Unavailable;
        let by_token = self.restricted_token && network == NetworkMode::Enabled;
        self.seatbelt || (self.seccomp && has_files) || by_token
    }

    /// Whether the network of a command can be limited to hosts.
    #[must_use]
    pub fn limits_hosts(self) -> bool {
        self.hosts && self.seccomp && self.namespaces != Namespaces::Unavailable
    }

    /// Without the mechanisms that change access lists of the user's folders, unless the user chose them.
    #[must_use]
    pub fn with_choice(self, restricted_token: bool) -> Self {
        Self {
            restricted_token: self.restricted_token && restricted_token,
            ..self
        }
    }
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
    /// A restricted token of Windows.
    RestrictedToken,
}
