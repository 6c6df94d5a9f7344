//! System calls that no safe library offers. The only unsafe code of this crate.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

fn result(value: libc::c_long) -> Result<libc::c_long, Errno> {
    if value < 0 {
        let number = std::io::Error::last_os_error().raw_os_error();
        Err(Errno::from_raw_os_error(number.unwrap_or(libc::EIO)))
    } else {
        Ok(value)
    }
}

/// How far [`set_mount_read_only`] reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    ThisMount,
    AllBelow,
}

/// Makes the mount that `tree` refers to read-only.
pub(super) fn set_mount_read_only(tree: impl AsFd, reach: Reach) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let recursive = match reach {
        Reach::ThisMount => 0,
        Reach::AllBelow => libc::AT_RECURSIVE,
    };
    // SAFETY: the path is an empty C string and the attributes are a valid structure of the size
    // that is given; the kernel only reads both.
    let value = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    result(value).map(drop)
}

/// What a Landlock ruleset decides about. Older kernels know only the first fields, and take the
/// structure as long as the rest is zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LandlockScope {
    pub(super) files: u64,
    pub(super) network: u64,
    pub(super) scoped: u64,
}

#[repr(C, packed)]
struct LandlockPathBeneath {
    allowed: u64,
    parent: i32,
}

const LANDLOCK_VERSION: u32 = 1;
const LANDLOCK_PATH_BENEATH: u32 = 1;

/// The version of Landlock's interface; an error if there is no Landlock.
pub(super) fn landlock_version() -> Result<u32, Errno> {
    // SAFETY: with this flag the kernel takes no structure.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<LandlockScope>(),
            0_usize,
            LANDLOCK_VERSION,
        )
    };
    result(value).map(|version| u32::try_from(version).unwrap_or(0))
}

/// A ruleset that forbids everything in its scope.
pub(super) fn landlock_ruleset(scope: LandlockScope) -> Result<OwnedFd, Errno> {
    // SAFETY: the structure is valid, of the size that is given, and only read.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const scope,
            size_of::<LandlockScope>(),
            0_u32,
        )
    };
    let descriptor = i32::try_from(result(value)?).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Allows `access` to what `parent` refers to and everything below.
pub(super) fn landlock_allow(
    ruleset: impl AsFd,
    parent: impl AsFd,
    access: u64,
) -> Result<(), Errno> {
    let rule = LandlockPathBeneath {
        allowed: access,
        parent: parent.as_fd().as_raw_fd(),
    };
    // SAFETY: the structure has the layout of this kind of rule and is only read.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_fd().as_raw_fd(),
            LANDLOCK_PATH_BENEATH,
            &raw const rule,
            0_u32,
        )
    };
    result(value).map(drop)
}

/// Applies a ruleset to this thread for good.
pub(super) fn landlock_restrict_self(ruleset: impl AsFd) -> Result<(), Errno> {
    // SAFETY: takes a descriptor and flags, no memory.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_restrict_self,
            ruleset.as_fd().as_raw_fd(),
            0_u32,
        )
    };
    result(value).map(drop)
}

/// Whether filters may answer with an error number, which every filter here does.
pub(super) fn seccomp_can_answer_errno() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the operation only reads the number that is pointed to.
    let value = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0_u32,
            &raw const action,
        )
    };
    value == 0
}

/// Runs `trial` in a child process with new namespaces and answers its number.
///
/// `trial` runs in a copy of a process that may have had other threads: it must not allocate,
/// lock, or touch anything but the kernel.
pub(super) fn try_in_namespaces(flags: i32, trial: fn() -> u8) -> Result<u8, Errno> {
    // SAFETY: without a stack of its own the child continues here on a copy of our memory, as with
    // `fork`; it calls only `trial`, which keeps to system calls, and `_exit`, so no lock that
    // another thread held at this moment is touched.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        let answer = trial();
        // SAFETY: ends the child without running anybody's exit handlers.
        unsafe { libc::_exit(i32::from(answer)) };
    }
    let child = i32::try_from(result(child)?).map_err(|_| Errno::CHILD)?;
    let child = rustix::process::Pid::from_raw(child).ok_or(Errno::CHILD)?;
    let options = rustix::process::WaitOptions::empty();
    let ended = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), options))?;
    let code = ended.and_then(|(_, status)| status.exit_status());
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0))
}
