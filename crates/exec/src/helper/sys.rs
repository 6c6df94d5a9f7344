//! What no safe library offers. The only unsafe code of this crate.
//!
//! Everything here runs in processes that have one thread: a fork there copies no lock that
//! somebody else holds.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::Pid;

/// After the standard streams.
const FIRST_OF_OURS: libc::c_uint = 3;

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Like `fork`, with the namespaces that `flags` name: `None` in the child.
pub(super) fn fork_with(flags: i32) -> Result<Option<Pid>, Errno> {
    // SAFETY: without a stack of its own the child continues here on a copy of our memory, as
    // with `fork`. There is only one thread, so the copy is consistent.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    match child {
        0 => Ok(None),
        child if child < 0 => Err(last_errno()),
        child => Ok(i32::try_from(child).ok().and_then(Pid::from_raw)),
    }
}

/// Closes everything but the standard streams. To be called before anything else is opened: what
/// is open then was left open by accident, and a command could use it to reach what it must not.
pub(super) fn close_inherited() -> Result<(), Errno> {
    // SAFETY: nothing in this process owns a descriptor yet but the standard streams.
    let failed =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST_OF_OURS, libc::c_uint::MAX, 0) };
    if failed == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Closes everything but the standard streams and `kept`, in a child that does not go on with the
/// rest of what its parent had open.
pub(super) fn close_others(kept: &[&dyn AsRawFd]) {
    let mut kept: Vec<_> = kept
        .iter()
        .filter_map(|descriptor| libc::c_uint::try_from(descriptor.as_raw_fd()).ok())
        .collect();
    kept.sort_unstable();
    kept.push(libc::c_uint::MAX);
    let mut first = FIRST_OF_OURS;
    for next in kept {
        if first < next {
            // SAFETY: the owners of these descriptors are copies of the parent's, which the child
            // neither uses nor drops: it leaves by `exit_now`.
            unsafe { libc::syscall(libc::SYS_close_range, first, next - 1, 0) };
        }
        first = next.saturating_add(1);
    }
}

/// Ends this process without running exit handlers that were meant for its parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: never returns and touches no memory.
    unsafe { libc::_exit(code) }
}

/// No signal that can be held back ends the supervisor any more.
pub(super) fn block_signals() -> Result<(), Errno> {
    set_mask(libc::sigfillset)
}

/// As a command expects to be started.
pub(super) fn unblock_signals() -> Result<(), Errno> {
    set_mask(libc::sigemptyset)
}

fn set_mask(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> libc::c_int) -> Result<(), Errno> {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: `fill` initialises the set that it is given, the other call reads it; the old set is
    // not asked for.
    let failed = unsafe {
        fill(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut())
    };
    if failed == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Becomes readable when a child changes state.
pub(super) fn child_signals() -> Result<OwnedFd, Errno> {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the first call initialises the set, the others are given an initialised one, and the
    // descriptor is new and ours.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        let descriptor = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if descriptor < 0 {
            return Err(last_errno());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Reads away what has made [`child_signals`] readable. Signals of children that end together are
/// one; only that there was any matters.
pub(super) fn drain_signals(child_signals: &OwnedFd) {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(child_signals, &mut record).is_ok_and(|read| read > 0) {}
}

/// Has the child call `prepare` last before it becomes the command.
pub(super) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: this process has one thread, so that nothing is locked in the child that could not
    // be unlocked there: the hook may do whatever ordinary code may do.
    unsafe {
        command.pre_exec(prepare);
    }
}
