//! What the system refuses cells. The kernel already runs in the sandbox for commands that only read; this is for cells alone.

#[cfg_attr(target_os = "linux", path = "confine/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "confine/elsewhere.rs")]
mod filter;

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

fn limit(resource: Resource, most: u64) {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // A limit that cannot be set leaves the other ones.
    let _ = rustix::process::setrlimit(resource, limit);
}
