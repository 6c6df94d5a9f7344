//! Determines what this kernel allows this process, by trying.
//!
//! On some systems creating a namespace succeeds, but everything inside it fails, so asking is not enough.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use super::namespaces::clone_flags;
use super::sys;
use crate::enforcement::{EnforcementLevels, Namespaces};

const NOTHING: u8 = 0;
const MOUNTS: u8 = 1;
const MOUNTS_AND_PROCESSES: u8 = 2;

pub(crate) fn probe() -> EnforcementLevels {
    EnforcementLevels {
        landlock: sys::landlock_version().unwrap_or(0),
        seccomp: super::filter::supported() && sys::seccomp_can_return_errno(),
        namespaces: probe_namespaces(),
        ..EnforcementLevels::default()
    }
}

fn probe_namespaces() -> Namespaces {
    let wanted = [Namespaces::MountsAndProcesses, Namespaces::Mounts];
    for flags in wanted.into_iter().filter_map(clone_flags) {
        match sys::try_in_namespaces(flags, trial) {
            Ok(MOUNTS_AND_PROCESSES) => return Namespaces::MountsAndProcesses,
            Ok(MOUNTS) => return Namespaces::Mounts,
            _ => {}
        }
    }
    Namespaces::Unavailable
}

/// Runs in the child of a possibly multi-threaded process, so it may only make system calls.
fn trial() -> u8 {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    let root = rustix::fs::CWD;
    if mount_change(c"/", private).is_err() {
        return NOTHING;
    }
    let tree =
        rustix::mount::open_tree(root, c"/", rustix::mount::OpenTreeFlags::OPEN_TREE_CLOEXEC);
    let Ok(tree) = tree else {
        return NOTHING;
    };
    if sys::set_mount_read_only(&tree, sys::MountScope::AllBelow).is_err() {
        return NOTHING;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    let first = rustix::process::getpid() == rustix::process::Pid::INIT;
    if first && mount(c"proc", c"/proc", c"proc", flags, None).is_ok() {
        MOUNTS_AND_PROCESSES
    } else {
        MOUNTS
    }
}
