//! Modes of files that no confined command may set.
//!
//! A file that a command makes belongs to the user that the engine runs as, root in a container. With
//! the set-user-id bit it would lend that user's rights to everybody who can reach it, long after the
//! sandbox is gone; with the set-group-id bit those of the group. The bits are refused wherever a mode
//! is given to the kernel. Devices would reach hardware past all file rules; making one needs a
//! privilege that is dropped as well.

use super::program::{Check, Program};

const LENDING_BITS: u32 = libc::S_ISUID | libc::S_ISGID;

/// In both kinds of devices, and in no other kind of file that can be made with a mode.
const DEVICE_BIT: u32 = libc::S_IFCHR;

/// What makes `open` look at its mode. Without them it may hold anything.
const CREATING_FLAGS: u32 =
    // Without the part of `O_TMPFILE` that it shares with `O_DIRECTORY`.
    libc::O_CREAT.cast_unsigned() | (libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();

/// Adds the checks.
pub(super) fn check(program: &mut Program) {
    let lending = |argument| Check::any_bit(argument, LENDING_BITS, libc::EPERM);
    let node = |argument| Check::any_bit(argument, LENDING_BITS | DEVICE_BIT, libc::EPERM);
    program.check(
        &[libc::SYS_openat],
        &lending(3).if_any_bit(2, CREATING_FLAGS),
    );
    program.check(&[libc::SYS_fchmodat, libc::SYS_fchmodat2], &lending(2));
    program.check(&[libc::SYS_mknodat], &node(2));
    program.check(&[libc::SYS_fchmod], &lending(1));
    #[cfg(target_arch = "x86_64")]
    {
        program.check(&[libc::SYS_open], &lending(2).if_any_bit(1, CREATING_FLAGS));
        program.check(&[libc::SYS_chmod, libc::SYS_creat], &lending(1));
        program.check(&[libc::SYS_mknod], &node(1));
    }
}
