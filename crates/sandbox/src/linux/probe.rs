//! Determines what this kernel allows this process, by trying.
//!
//! On some systems creating a namespace succeeds, but everything inside it fails, so asking is not enough.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::set_no_new_privs;

use super::namespaces::clone_flags;
use super::sys;
use crate::enforcement::{EnforcementLevels, Namespaces};

const NO_SUPPORT: u8 = 0;
const MOUNTS: u8 = 1;
const MOUNTS_AND_PROCESSES: u8 = 2;

/// All that a network by host needs.
const OWN_NETWORK: u8 = 3;

pub(crate) fn probe() -> EnforcementLevels {
    let seccomp = super::filter::supported() && sys::seccomp_can_return_errno();
    let namespaces = probe_namespaces();
    EnforcementLevels {
        landlock: sys::landlock_version().unwrap_or(0),
        seccomp,
        namespaces,
        hosts: seccomp && namespaces == Namespaces::MountsAndProcesses && probe_own_network(),
        ..EnforcementLevels::default()
    }
}

/// Whether a process can have a network of its own whose connections are reported.
fn probe_own_network() -> bool {
    let flags = clone_flags(Namespaces::MountsAndProcesses).map(|flags| flags | libc::CLONE_NEWNET);
    flags.is_some_and(|flags| sys::try_in_namespaces(flags, network_trial) == Ok(OWN_NETWORK))
}

/// As [`trial`], it may only make system calls.
fn network_trial() -> u8 {
    if super::network::try_set_up().is_err() || set_no_new_privs(true).is_err() {
        return NO_SUPPORT;
    }
    match sys::install_with_listener(&super::filter::ALLOWING_ALL) {
        Ok(_) => OWN_NETWORK,
        Err(_) => NO_SUPPORT,
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
        return NO_SUPPORT;
    }
    let tree =
        rustix::mount::open_tree(root, c"/", rustix::mount::OpenTreeFlags::OPEN_TREE_CLOEXEC);
    let Ok(tree) = tree else {
        return NO_SUPPORT;
    };
    if sys::set_mount_read_only(&tree, sys::MountScope::AllBelow).is_err() {
        return NO_SUPPORT;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    let first = rustix::process::getpid() == rustix::process::Pid::INIT;
    if first && mount(c"proc", c"/proc", c"proc", flags, None).is_ok() {
        MOUNTS_AND_PROCESSES
    } else {
        MOUNTS
    }
}
