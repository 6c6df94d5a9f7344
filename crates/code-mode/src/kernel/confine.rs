//! What the system refuses cells. The kernel already runs in the sandbox for commands that only read; this is for cells alone.

#[cfg_attr(target_os = "linux", path = "confine/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "confine/elsewhere.rs")]
mod filter;

use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::process::{Resource, Rlimit};

pub(super) use filter::CellFilter;

/// The address space that the kernel and each cell may still use, in bytes. The heap of the JavaScript engine has a lower limit
/// of its own.
const ADDRESS_SPACE: u64 = 1 << 30;

/// Sets the limits that cells inherit.
pub(super) fn limit_resources() {
    limit(
        Resource::As,
        filter::mapped_space().saturating_add(ADDRESS_SPACE),
    );
    limit(Resource::Core, 0);
    limit(Resource::Fsize, 0);
}

/// Closes everything but the socket of a cell. The pipes of the kernel carry the lines of other cells.
#[expect(unsafe_code, reason = "calls of the system")]
pub(super) fn close_all_but(socket: &OwnedFd) {
    let own = socket.as_raw_fd();
    if filter::close_range(0, own - 1) && filter::close_range(own + 1, i32::MAX) {
        return;
    }
    // SAFETY: the call has no arguments.
    let most = unsafe { libc::getdtablesize() };
    for descriptor in (0..most).filter(|descriptor| *descriptor != own) {
        // SAFETY: the cell uses no descriptor but its socket, and closing one that is not open fails.
        unsafe { libc::close(descriptor) };
    }
}

fn limit(resource: Resource, most: u64) {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // A limit that cannot be set leaves the other ones.
    let _ = rustix::process::setrlimit(resource, limit);
}
