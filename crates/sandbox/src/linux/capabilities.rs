//! Drops all privileges, and any way to regain them, also for root.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use super::error::{ConfineError, ConfineStep, WithStep as _};

pub(super) fn drop_all() -> Result<(), ConfineError> {
    try_drop_all().with_step(|| ConfineStep::DropCapabilities)
}

fn try_drop_all() -> Result<(), Errno> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    // Executing a file as root then grants no privileges. Without privileges this cannot be set and is not needed.
    let bits = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
    match set_capabilities_secure_bits(bits) {
        Ok(()) | Err(Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none)
}
