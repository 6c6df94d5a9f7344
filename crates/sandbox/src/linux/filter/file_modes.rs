//! Refuses file modes that sandboxed commands may not set.
//!
//! A file created by a command belongs to the engine's user, which is root in a container. With the set-user-id bit it
//! would grant that user's rights to everyone who can access it, even after the sandbox has ended; the set-group-id bit
//! does the same for the group. Both bits are refused wherever a mode is passed to the kernel. Devices would give access to
//! hardware independent of file rules; creating one also needs a privilege that is dropped.

use super::program::{ArgumentCheck, FilterProgram};

const SET_ID_BITS: u32 = libc::S_ISUID | libc::S_ISGID;

/// Set in the modes of both kinds of devices and of no other file that can be created with a mode.
const DEVICE_BIT: u32 = libc::S_IFCHR;

/// The flags with which `open` uses its mode argument. Without them the argument may have any value.
const CREATING_FLAGS: u32 =
    // Without the bit of `O_TMPFILE` that is shared with `O_DIRECTORY`.
    libc::O_CREAT.cast_unsigned() | (libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();

/// Adds the checks.
pub(super) fn check(program: &mut FilterProgram) {
    let lending = |argument| ArgumentCheck::any_bit(argument, SET_ID_BITS, libc::EPERM);
    let node = |argument| ArgumentCheck::any_bit(argument, SET_ID_BITS | DEVICE_BIT, libc::EPERM);
    program.check(
        &[libc::SYS_openat],
        &lending(3).only_for_bits(2, CREATING_FLAGS),
    );
    program.check(&[libc::SYS_fchmodat, super::SYS_FCHMODAT2], &lending(2));
    program.check(&[libc::SYS_mknodat], &node(2));
    program.check(&[libc::SYS_fchmod], &lending(1));
    #[cfg(target_arch = "x86_64")]
    {
        program.check(
            &[libc::SYS_open],
            &lending(2).only_for_bits(1, CREATING_FLAGS),
        );
        program.check(&[libc::SYS_chmod, libc::SYS_creat], &lending(1));
        program.check(&[libc::SYS_mknod], &node(1));
    }
}
