//! The signal mask of helper processes, which have a single thread.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::mem::MaybeUninit;

use rustix::io::Errno;

/// The error of the last system call.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Blocks all signals that can be blocked.
pub(crate) fn block_signals() -> Result<(), Errno> {
    set_mask(libc::sigfillset)
}

/// Restores the default signal state for a command: no signal blocked, and none ignored that this program ignores.
pub(crate) fn default_signals() -> Result<(), Errno> {
    // SAFETY: sets no handler; all arguments are numbers.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(last_errno());
    }
    set_mask(libc::sigemptyset)
}

fn set_mask(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> libc::c_int) -> Result<(), Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `fill` initializes the set that it is given; the other call reads it and does not return the old set.
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
