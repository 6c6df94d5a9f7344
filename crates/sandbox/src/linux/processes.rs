//! How many processes and threads a command may have at once.
//!
//! Without a limit a storm of forks fills the process table of the machine, and nobody else can start
//! anything. There are two limits, of which at least one holds:
//!
//! - The highest process id of the own namespace, since Linux 6.14. It holds for root too.
//! - The resource limit of the user, which since Linux 5.14 counts by user namespace, so only what
//!   the command itself started. The kernel exempts root of the machine from it.
//!
//! On older kernels both count everybody's processes, or change everybody's limit: there none is set.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::plan::{Levels, Namespaces};

/// Far more than builds need, far less than the smallest table in use has (32768).
const LIMIT: u64 = 4096;

const HIGHEST_ID: &str = "/proc/sys/kernel/pid_max";

/// Whether commands are limited with what `levels` offer.
pub(crate) fn limits_processes(levels: Levels) -> bool {
    let kernel = KernelVersion::running();
    let by_namespace = levels.namespaces == Namespaces::MountsAndProcesses
        && kernel >= KernelVersion::WITH_HIGHEST_ID_BY_NAMESPACE;
    let by_user = levels.namespaces != Namespaces::Unavailable
        && kernel >= KernelVersion::WITH_RESOURCES_BY_NAMESPACE
        && !rustix::process::geteuid().is_root();
    by_namespace || by_user
}

/// Limits everything in the namespace of process ids that this process is the first of. To be called
/// while `/proc` can be written to.
pub(super) fn limit_namespace() {
    if KernelVersion::running() >= KernelVersion::WITH_HIGHEST_ID_BY_NAMESPACE {
        // A lower limit from outside counts as well, so a refusal here weakens nothing else.
        std::fs::write(HIGHEST_ID, LIMIT.to_string()).ok();
    }
}

/// Limits this process and everything that it starts in its user namespace.
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
    // Lowering a limit is always allowed.
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
