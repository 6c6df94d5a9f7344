//! System calls without a safe wrapper. The only unsafe code of this crate.

#![expect(unsafe_code, reason = "calls of the system")]

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

/// Which mounts [`set_mount_read_only`] changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountScope {
    ThisMount,
    AllBelow,
}

/// Makes the mount of `tree` read-only.
pub(super) fn set_mount_read_only(tree: impl AsFd, scope: MountScope) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let recursive = match scope {
        MountScope::ThisMount => 0,
        MountScope::AllBelow => libc::AT_RECURSIVE,
    };
    // SAFETY: the path is an empty C string and the attributes are a valid structure of the given size; the kernel only
    // reads both.
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

/// The scope of a Landlock ruleset. Older kernels know only the first fields and accept the structure if the rest is zero.
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

/// The version of Landlock's interface; an error without Landlock.
pub(super) fn landlock_version() -> Result<u32, Errno> {
    // SAFETY: with this flag the kernel accesses no structure.
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

/// Creates a ruleset that forbids everything in its scope.
pub(super) fn landlock_ruleset(scope: LandlockScope) -> Result<OwnedFd, Errno> {
    // SAFETY: the structure is valid, of the given size, and only read.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const scope,
            size_of::<LandlockScope>(),
            0_u32,
        )
    };
    let descriptor = i32::try_from(result(value)?).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just created this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Allows `access` to `parent` and everything below it.
pub(super) fn landlock_allow(
    ruleset: impl AsFd,
    parent: impl AsFd,
    access: u64,
) -> Result<(), Errno> {
    let rule = LandlockPathBeneath {
        allowed: access,
        parent: parent.as_fd().as_raw_fd(),
    };
    // SAFETY: the structure has the layout for this rule type and is only read.
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

/// Applies a ruleset to this thread permanently.
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

/// Installs a filter for this thread permanently and returns its listener, from which reported calls are read. Only one
/// filter of a process can have a listener.
pub(super) fn install_with_listener(filter: &[seccompiler::sock_filter]) -> Result<OwnedFd, Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        // Both types are that of the kernel.
        filter: filter.as_ptr().cast_mut().cast(),
    };
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Without it, signals that arrive while a call waits for its answer repeat the call.
    let uninterrupted = listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let install = |flags: libc::c_ulong| {
        // SAFETY: the program and the instructions that it points to are valid for the call; the kernel only reads them.
        let value = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        result(value)
    };
    let value = match install(uninterrupted) {
        // Kernels before 5.19 do not know the flag.
        Err(Errno::INVAL) => install(listener)?,
        value => value?,
    };
    let descriptor = i32::try_from(value).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just created this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Has a socket report the address that each datagram was sent to.
pub(super) fn report_destinations(socket: impl AsFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the kernel only reads the number at the pointer, which has the given size.
    let value = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_PKTINFO,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    result(value.into()).map(drop)
}

/// Whether filters can return error numbers, which all filters here do.
pub(super) fn seccomp_can_return_errno() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the operation only reads the number at the pointer.
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

/// Runs `trial` in a child process in new namespaces and returns its exit code.
///
/// The child is a copy of a possibly multi-threaded process, so `trial` must not allocate, lock, or access anything except
/// the kernel.
pub(super) fn try_in_namespaces(flags: i32, trial: fn() -> u8) -> Result<u8, Errno> {
    // SAFETY: without an own stack the child continues on a copy of the memory, as after `fork`. It calls only `trial`,
    // which makes system calls only, and `_exit`, so it touches no lock that another thread held.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        let answer = trial();
        // SAFETY: exits the child without running exit handlers.
        unsafe { libc::_exit(i32::from(answer)) };
    }
    let child = i32::try_from(result(child)?).map_err(|_| Errno::CHILD)?;
    let child = rustix::process::Pid::from_raw(child).ok_or(Errno::CHILD)?;
    let options = rustix::process::WaitOptions::empty();
    let ended = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), options))?;
    let code = ended.and_then(|(_, status)| status.exit_status());
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0))
}
