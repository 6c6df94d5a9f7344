//! The enforcement mechanisms of a system, and those that a plan uses.

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
pub struct EnforcementLevels {
    /// The version of Landlock's interface, 0 without Landlock.
    pub landlock: u32,
    /// Whether system call filters are available.
    pub seccomp: bool,
    pub namespaces: Namespaces,
    /// Whether macOS's sandbox is available.
    pub seatbelt: bool,
}

impl EnforcementLevels {
    /// Whether a command can be confined at all. A policy may still need more than there is.
    #[must_use]
    pub fn can_confine(self) -> bool {
        let has_files = self.landlock > 0 || self.namespaces != Namespaces::Unavailable;
        self.seatbelt || (self.seccomp && has_files)
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
}
