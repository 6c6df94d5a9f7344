//! Limits the number of processes and threads of a command.
//!
//! Without a limit a fork bomb could fill the machine's process table. There are two limits, at least one of which applies:
//!
//! - The highest process id of the namespace, since Linux 6.14. It also applies to root.
//! - The user's resource limit, which since Linux 5.14 counts per user namespace, so only the command's processes. The
//!   kernel exempts the machine's root user.
//!
//! On older kernels both would count or limit processes of others, so no limit is set.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::enforcement::{EnforcementLevels, Namespaces};

/// Far more than builds need, and far less than the smallest process table in use (32768).
const LIMIT: u64 = 4096;

const HIGHEST_ID: &str = "/proc/sys/kernel/pid_max";

/// Whether the number of processes can be limited with these levels.
pub(crate) fn limits_processes(levels: EnforcementLevels) -> bool {
    let kernel = KernelVersion::running();
    let by_namespace = levels.namespaces == Namespaces::MountsAndProcesses
        && kernel >= KernelVersion::WITH_HIGHEST_ID_BY_NAMESPACE;
    let by_user = levels.namespaces != Namespaces::Unavailable
        && kernel >= KernelVersion::WITH_RESOURCES_BY_NAMESPACE
        && !rustix::process::geteuid().is_root();
    by_namespace || by_user
}

/// Limits the process id namespace of which this process is the first. Must be called while `/proc` is writable.
pub(super) fn limit_namespace() {
    if KernelVersion::running() >= KernelVersion::WITH_HIGHEST_ID_BY_NAMESPACE {
        // A lower limit of an outer namespace also applies, so a failure weakens nothing.
        std::fs::write(HIGHEST_ID, LIMIT.to_string()).ok();
    }
}

/// Limits the user's processes in this user namespace.
pub(super) fn limit_user() {
    if KernelVersion::running() < KernelVersion::WITH_RESOURCES_BY_NAMESPACE {
        return;
    }
    let old = getrlimit(Resource::Nproc);
    let lower = |limit: Option<u64>| Some(limit.map_or(LIMIT, |limit| limit.min(LIMIT)));
    let new = Rlimit {
        current: lower(old.current),
        maximum: lower(old.maximum),
    };
    // Lowering a limit is always permitted.
    setrlimit(Resource::Nproc, new).ok();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KernelVersion {
    major: u32,
    minor: u32,
}

impl KernelVersion {
    const WITH_RESOURCES_BY_NAMESPACE: Self = Self {
        major: 5,
        minor: 14,
    };
    const WITH_HIGHEST_ID_BY_NAMESPACE: Self = Self {
        major: 6,
        minor: 14,
    };

    fn running() -> Self {
        let system = rustix::system::uname();
        let release = system.release().to_str().unwrap_or_default();
        Self::parse(release).unwrap_or(Self { major: 0, minor: 0 })
    }

    fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|character: char| !character.is_ascii_digit());
        Some(Self {
            major: numbers.next()?.parse().ok()?,
            minor: numbers.next()?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        let parse = |release| KernelVersion::parse(release).unwrap();
        assert!(parse("6.8.0-51-generic") < KernelVersion::WITH_HIGHEST_ID_BY_NAMESPACE);
        assert!(parse("6.14.1") >= KernelVersion::WITH_HIGHEST_ID_BY_NAMESPACE);
        assert!(parse("6.2-rc1") > parse("5.14"));
        assert_eq!(KernelVersion::parse("unknown"), None);
    }
}
