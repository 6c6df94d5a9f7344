//! Byte-range locks of Windows. The system does not say who holds them, and lists none.

#![expect(unsafe_code, reason = "calls of the system")]

use std::fs::File;
use std::os::windows::io::AsRawHandle as _;
use std::time::Duration;

use windows_sys::Win32::Storage::FileSystem::{
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

use super::{HeldLock, LockHolder};

/// How often a lock is tried. Another process takes it for a moment to find out whether it is held.
const TRIES: u32 = 3;
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

pub(super) fn take(file: &File, offset: u64) -> bool {
    (0..TRIES).any(|number| {
        if number > 0 {
            std::thread::sleep(RETRY_INTERVAL);
        }
        try_take(file, offset)
    })
}

pub(super) fn release(file: &File, offset: u64) {
    let mut range = overlapped_at(offset);
    // SAFETY: the handle is open while the file is borrowed, and the structure lives until the call returns.
    unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut range) };
}

/// Whether another process holds the lock of one byte: it cannot be taken. A longer range is not searched.
pub(super) fn first(file: &File, offset: u64, length: i64) -> Option<HeldLock> {
    if length != 1 {
        return None;
    }
    if try_take(file, offset) {
        release(file, offset);
        return None;
    }
    let holder = LockHolder { pid: None };
    Some(HeldLock { offset, holder })
}

fn try_take(file: &File, offset: u64) -> bool {
    let mut range = overlapped_at(offset);
    let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open while the file is borrowed, and it was not opened for overlapped calls, so the structure
    // is only used until the call returns.
    unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut range) != 0 }
}

fn overlapped_at(offset: u64) -> OVERLAPPED {
    let mut range = OVERLAPPED::default();
    range.Anonymous.Anonymous.Offset = offset as u32;
    range.Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_seen_through_another_handle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).unwrap()
        };
        let (own, other) = (open(), open());
        let (one, two) = (u64::MAX >> 2, 7);
        assert!(take(&own, one));
        assert!(first(&other, one, 1).is_some() && !take(&other, one));
        assert!(first(&other, two, 1).is_none() && take(&other, two));
        release(&own, one);
        assert!(first(&other, one, 1).is_none() && take(&other, one));
    }
}
