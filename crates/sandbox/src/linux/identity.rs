//! The user and group of a process.

/// The user and group of a process. Must be read before the namespaces are created, because ids are unmapped inside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessIdentity {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl ProcessIdentity {
    /// The identity of this process.
    #[must_use]
    pub fn current() -> Self {
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
        }
    }
}
