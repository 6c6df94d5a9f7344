//! File rules, abstract sockets and signals through Landlock.
//!
//! Landlock rules allow whole trees, so they cannot make a part of a writable root read-only; the mounts do that. Landlock
//! limits reading on its own. Features that the kernel's version lacks are left to the other layers.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::error::{ConfineError, ConfineStep, WithStep as _};
use super::paths::open_without_links;
use super::sys::{self, LandlockScope};
use crate::file_rules::{FileRules, ReadScope};
use crate::network_mode::NetworkMode;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// Creating and removing entries of all kinds: bits 4 to 12.
const CHANGE_ENTRIES: u64 = ((1 << 13) - 1) & !((1 << 4) - 1);

const READ_RIGHTS: u64 = EXECUTE | READ_FILE | READ_DIR;
const WRITE_RIGHTS: u64 = WRITE_FILE | CHANGE_ENTRIES | REFER | TRUNCATE | IOCTL_DEV;

/// Access rights that apply to files other than folders.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const NETWORK_BIND_TCP: u64 = 1 << 0;
const NETWORK_CONNECT_TCP: u64 = 1 << 1;
const SCOPE_ABSTRACT_SOCKETS: u64 = 1 << 0;
const SCOPE_SIGNALS: u64 = 1 << 1;

/// Devices that commands may use if they see the machine's `/dev`.
const SHARED_DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Applies the rules to this thread. `own_devices` says that `/dev` contains only harmless devices.
pub(super) fn restrict(
    rules: &FileRules,
    network: NetworkMode,
    version: u32,
    own_devices: bool,
) -> Result<(), ConfineError> {
    if version == 0 {
        return Ok(());
    }
    let handled = scope(&rules.read, network, version);
    let ruleset = sys::landlock_ruleset(handled).with_step(|| ConfineStep::Landlock)?;
    let allow = |path: &Path, access: u64| {
        allow(&ruleset, path, access & handled.files)
            .with_step(|| ConfineStep::LandlockRule(path.to_path_buf()))
    };
    for root in &rules.writable {
        // The path was resolved before, so a link in it now was created to escape.
        open_without_links(root, OFlags::PATH)
            .and_then(|root| {
                allow_open(
                    &ruleset,
                    &root,
                    (READ_RIGHTS | WRITE_RIGHTS) & handled.files,
                )
            })
            .with_step(|| ConfineStep::LandlockRule(root.clone()))?;
    }
    if own_devices {
        allow(Path::new("/dev"), READ_RIGHTS | WRITE_RIGHTS)?;
    } else {
        for device in SHARED_DEVICES {
            allow(Path::new(device), READ_RIGHTS | WRITE_RIGHTS)?;
        }
    }
    if let ReadScope::Only(readable) = &rules.read {
        for path in readable {
            allow(path, READ_RIGHTS)?;
        }
        allow(Path::new("/proc"), READ_RIGHTS)?;
    }
    allow_own_terminal(&ruleset, handled.files).with_step(|| ConfineStep::Landlock)?;
    rustix::thread::set_no_new_privs(true).with_step(|| ConfineStep::Landlock)?;
    sys::landlock_restrict_self(&ruleset).with_step(|| ConfineStep::Landlock)
}

fn scope(read: &ReadScope, network: NetworkMode, version: u32) -> LandlockScope {
    let mut files = WRITE_RIGHTS;
    if *read != ReadScope::Everything {
        files |= READ_RIGHTS;
    }
    for (right, since) in [(REFER, 2), (TRUNCATE, 3), (IOCTL_DEV, 5)] {
        if version < since {
            files &= !right;
        }
    }
    let restricted = network == NetworkMode::Restricted;
    let mut scoped = 0;
    if version >= 6 {
        // Services such as containers and the desktop listen on abstract sockets, which file rules do not cover. They are
        // blocked even if the network is enabled.
        scoped |= SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS;
    }
    LandlockScope {
        files,
        network: if restricted && version >= 4 {
            NETWORK_BIND_TCP | NETWORK_CONNECT_TCP
        } else {
            0
        },
        scoped,
    }
}

/// Adds a rule. A path that does not exist needs none.
fn allow(ruleset: &OwnedFd, path: &Path, access: u64) -> Result<(), Errno> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(parent) => allow_open(ruleset, &parent, access),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn allow_open(ruleset: &OwnedFd, parent: &OwnedFd, access: u64) -> Result<(), Errno> {
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(parent)?.st_mode);
    let meaningful = if kind == rustix::fs::FileType::Directory {
        access
    } else {
        access & OF_FILES
    };
    if meaningful == 0 {
        return Ok(());
    }
    sys::landlock_allow(ruleset, parent, meaningful)
}

/// Allows the command's terminal, whose `/dev` may no longer be visible; opening `/dev/stdout` must still work.
fn allow_own_terminal(ruleset: &OwnedFd, handled: u64) -> Result<(), Errno> {
    let input = rustix::stdio::stdin();
    if !rustix::termios::isatty(input) {
        return Ok(());
    }
    sys::landlock_allow(ruleset, input, OF_FILES & handled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_versions_get_no_unknown_rights() {
        let of = |version| scope(&ReadScope::Everything, NetworkMode::Restricted, version);
        assert_eq!(of(1).files & (REFER | TRUNCATE | IOCTL_DEV), 0);
        assert_eq!((of(3).network, of(3).scoped), (0, 0));
        assert_ne!(of(4).network, 0);
        assert_eq!(of(7).scoped, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS);
        assert_eq!(of(7).files & READ_RIGHTS, 0);
    }

    #[test]
    fn an_open_network_is_not_handled() {
        let scope = scope(&ReadScope::Only(vec![]), NetworkMode::Enabled, 7);
        let scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
        assert_eq!((scope.network, scope.scoped), (0, scoped));
        assert_eq!(scope.files & READ_RIGHTS, READ_RIGHTS);
    }
}
