//! Handles and results of system calls.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::os::windows::io::{FromRawHandle as _, OwnedHandle, RawHandle};

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;

/// Takes a handle that a call returned.
///
/// # Safety
/// Nobody else owns it.
pub(super) unsafe fn owned(handle: RawHandle) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a valid handle, which nobody else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The error of a call that returned false.
pub(super) fn check(done: i32) -> io::Result<()> {
    if done == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

pub(super) fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}

/// Text as the system takes it, ended by a zero.
pub(super) fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}
