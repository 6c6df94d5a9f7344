//! Record locks, which the standard library does not have.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::{HeldLock, LockHolder};

pub(super) fn take(file: &File, offset: u64) -> bool {
    let mut lock = record(libc::F_WRLCK as libc::c_short, offset, 1);
    control(file, libc::F_SETLK, &mut lock)
}

pub(super) fn release(file: &File, offset: u64) {
    let mut lock = record(libc::F_UNLCK as libc::c_short, offset, 1);
    control(file, libc::F_SETLK, &mut lock);
}

/// The first lock of another process at or after `offset`; `length` 0 means up to the end.
pub(super) fn first(file: &File, offset: u64, length: i64) -> Option<HeldLock> {
    let mut lock = record(libc::F_WRLCK as libc::c_short, offset, length);
    let answered = control(file, libc::F_GETLK, &mut lock);
    if !answered || lock.l_type == libc::F_UNLCK as libc::c_short {
        return None;
    }
    let pid = u32::try_from(lock.l_pid).ok().filter(|pid| *pid != 0);
    Some(HeldLock {
        offset: lock.l_start.unsigned_abs(),
        holder: LockHolder { pid },
    })
}

#[expect(unsafe_code, reason = "calls of the system")]
fn record(kind: libc::c_short, offset: u64, length: i64) -> libc::flock {
    // SAFETY: `flock` is a plain structure of integers, for which all zeros is a valid value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = libc::off_t::try_from(offset).unwrap_or_default();
    lock.l_len = length;
    lock
}

#[expect(unsafe_code, reason = "calls of the system")]
fn control(file: &File, command: libc::c_int, lock: &mut libc::flock) -> bool {
    // SAFETY: the descriptor stays open while `file` is borrowed, and the call accesses only the
    // structure.
    unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) == 0 }
}
