//! Which network commands have.

/// Network access of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkMode {
    /// Sockets cannot be created or connected.
    Restricted,
    /// Not restricted.
    Enabled,
    /// A network of its own, which leads to hosts that a [`HostPolicy`](codex_host_policy::HostPolicy) or a person allows.
    /// Only limits choose it.
    ByHost,
}
