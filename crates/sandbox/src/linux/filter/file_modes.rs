//! Modes of files that no confined command may set.
//!
//! A file that a command makes belongs to the user that the engine runs as, root in a container. With
//! the set-user-id bit it would lend that user's rights to everybody who can reach it, long after the
//! sandbox is gone; with the set-group-id bit those of the group. The bits are refused wherever a mode
//! is given to the kernel. Devices would reach hardware past all file rules; making one needs a
//! privilege that is dropped as well.

use rustix::io::Errno;
use seccompiler::{SeccompCmpOp, SeccompRule};

use super::{Rules, all_of, condition, rule};

const LENDING_BITS: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
const DEVICE_KINDS: [u64; 2] = [libc::S_IFCHR as u64, libc::S_IFBLK as u64];

/// What makes `open` look at its mode. Without them it may hold anything.
const CREATING_FLAGS: [u64; 2] = [
    libc::O_CREAT.cast_unsigned() as u64,
    // Without the part that it shares with `O_DIRECTORY`.
    (libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned() as u64,
];

/// Calls that take a mode, and which argument it is.
const WITH_MODE: &[(libc::c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
];
#[cfg(target_arch = "x86_64")]
const OLD_WITH_MODE: &[(libc::c_long, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_WITH_MODE: &[(libc::c_long, u8)] = &[];

/// Calls that make what their mode names, and which argument it is.
const MAKING_NODES: &[(libc::c_long, u8)] = &[(libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
const OLD_MAKING_NODES: &[(libc::c_long, u8)] = &[(libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MAKING_NODES: &[(libc::c_long, u8)] = &[];

/// Calls that take a mode after flags, and which argument the flags are.
const OPENING: &[(libc::c_long, u8)] = &[(libc::SYS_openat, 2)];
#[cfg(target_arch = "x86_64")]
const OLD_OPENING: &[(libc::c_long, u8)] = &[(libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_OPENING: &[(libc::c_long, u8)] = &[];

pub(super) fn rules() -> Result<Rules, Errno> {
    let mut rules = Rules::new();
    for (call, mode) in WITH_MODE.iter().chain(OLD_WITH_MODE) {
        rules.insert(*call, lending(*mode)?);
    }
    for (call, mode) in MAKING_NODES.iter().chain(OLD_MAKING_NODES) {
        let mut refused = lending(*mode)?;
        let kind = SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT));
        for device in DEVICE_KINDS {
            refused.push(rule(*mode, kind.clone(), device)?);
        }
        rules.insert(*call, refused);
    }
    for (call, flags) in OPENING.iter().chain(OLD_OPENING) {
        rules.insert(*call, lending_when_creating(*flags)?);
    }
    Ok(rules)
}

fn lending(mode: u8) -> Result<Vec<SeccompRule>, Errno> {
    let bits = LENDING_BITS.iter();
    bits.map(|bit| rule(mode, SeccompCmpOp::MaskedEq(*bit), *bit))
        .collect()
}

fn lending_when_creating(flags: u8) -> Result<Vec<SeccompRule>, Errno> {
    let mut rules = Vec::new();
    for flag in CREATING_FLAGS {
        for bit in LENDING_BITS {
            rules.push(all_of(vec![
                condition(flags, SeccompCmpOp::MaskedEq(flag), flag)?,
                condition(flags + 1, SeccompCmpOp::MaskedEq(bit), bit)?,
            ])?);
        }
    }
    Ok(rules)
}
