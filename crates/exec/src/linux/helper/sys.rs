//! System calls without a safe wrapper. The only unsafe code of this crate.
//!
//! All of it runs in single-threaded processes, so a fork copies no lock that another thread holds.

#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use crate::unix::signals::last_errno;

/// The first descriptor after the standard streams.
const FIRST_OF_OURS: libc::c_uint = 3;

/// Like `fork`, with new namespaces as given by `flags`. Returns `None` in the child.
pub(super) fn fork_with(flags: i32) -> Result<Option<Pid>, Errno> {
    // SAFETY: without an own stack the child continues here on a copy of the memory, as after `fork`. The process has a
    // single thread, so the copy is consistent.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    match child {
        0 => Ok(None),
        child if child < 0 => Err(last_errno()),
        child => Ok(i32::try_from(child).ok().and_then(Pid::from_raw)),
    }
}

/// Closes all descriptors except the standard streams. Must be called before anything is opened: descriptors that are open
/// then were inherited by accident, and a command could use them to escape the sandbox.
pub(super) fn close_inherited() -> Result<(), Errno> {
    // SAFETY: no value in this process owns a descriptor yet except the standard streams.
    let failed =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST_OF_OURS, libc::c_uint::MAX, 0) };
    if failed == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Closes all descriptors except the standard streams and `kept`, in a child that uses nothing else of its parent.
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
            // SAFETY: the owners of these descriptors are copies of the parent's, which the child neither uses nor drops,
            // because it exits with `exit_now`.
            unsafe { libc::syscall(libc::SYS_close_range, first, next - 1, 0) };
        }
        first = next.saturating_add(1);
    }
}

/// Exits without running exit handlers of the parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: never returns and accesses no memory.
    unsafe { libc::_exit(code) }
}

/// A descriptor that becomes readable when a child changes state.
pub(super) fn child_signals() -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initializes the set, the others read it, and the returned descriptor is new and owned here.
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

/// Clears the readable state of [`child_signals`]. Signals of several children may be merged, so their number is ignored.
pub(super) fn drain_signals(child_signals: &OwnedFd) {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(child_signals, &mut record).is_ok_and(|read| read > 0) {}
}

/// A null-terminated array of C strings.
pub(super) struct CStringArray {
    pointers: Vec<*const libc::c_char>,
    /// The strings that the pointers refer to.
    _texts: Vec<CString>,
}

impl CStringArray {
    pub(super) fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr());
        Self {
            pointers: pointers.chain([std::ptr::null()]).collect(),
            _texts: texts,
        }
    }
}

/// The child needs little stack, but encoding the sandbox's filters happens there.
const STACK_SIZE: usize = 512 * 1024;

/// Starts a process that shares this process's memory but has its own stack. This process is suspended until the child has
/// executed a command or failed, so no memory and no page table is copied. `work` runs in the child and returns only if it
/// failed. The environment variables of this process do not change.
pub(super) fn start_sharing<F, E>(work: F) -> Result<Pid, E>
where
    F: FnOnce() -> E,
    E: From<Errno>,
{
    struct SharedStart<F, E> {
        work: Option<F>,
        failed: Option<E>,
    }
    extern "C" fn child<F: FnOnce() -> E, E>(shared: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the value belongs to the parent, which is suspended while the child uses it.
        let shared = unsafe { &mut *shared.cast::<SharedStart<F, E>>() };
        shared.failed = shared.work.take().map(|work| work());
        0
    }
    let mut shared = SharedStart {
        work: Some(work),
        failed: None,
    };
    // An element type with the alignment of stacks. Only the used part of it takes memory.
    let mut stack = Vec::<u128>::with_capacity(STACK_SIZE / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: `child` gets the argument type it expects. The stack and `shared` outlive its use of them, because this
    // process continues only after the child has its own memory or has exited. This process has a single thread, so nobody
    // else uses the memory meanwhile.
    let process = unsafe {
        let variables = environ;
        let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
        let process = libc::clone(child::<F, E>, top.cast(), flags, (&raw mut shared).cast());
        environ = variables;
        process
    };
    let process = Pid::from_raw(process).ok_or(Errno::AGAIN)?;
    match shared.failed {
        None => Ok(process),
        Some(problem) => {
            // It has exited; it must be reaped here so that nobody else sees it.
            rustix::process::waitpid(Some(process), WaitOptions::empty()).ok();
            Err(problem)
        }
    }
}

unsafe extern "C" {
    /// The environment variables of this process.
    static mut environ: *const *const libc::c_char;
}

/// Executes another program, which is searched in the `PATH` of `environment`. Returns only on failure. For use in the
/// process that [`start_sharing`] creates.
pub(super) fn execute(arguments: &CStringArray, environment: &CStringArray) -> io::Error {
    let program = arguments.pointers.first().copied();
    let Some(program) = program.filter(|program| !program.is_null()) else {
        return Errno::INVAL.into();
    };
    // SAFETY: both arrays are null-terminated and outlive this function; nobody reads the variables before the old ones
    // are restored.
    unsafe {
        environ = environment.pointers.as_ptr();
        libc::execvp(program, arguments.pointers.as_ptr());
    }
    io::Error::last_os_error()
}
