//! What no safe library offers. The only unsafe code of this crate.
//!
//! Everything here runs in processes that have one thread: a fork there copies no lock that
//! somebody else holds.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

/// After the standard streams.
const FIRST_OF_OURS: libc::c_uint = 3;

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Like `fork`, with the namespaces that `flags` name: `None` in the child.
pub(super) fn fork_with(flags: i32) -> Result<Option<Pid>, Errno> {
    // SAFETY: without a stack of its own the child continues here on a copy of our memory, as
    // with `fork`. There is only one thread, so the copy is consistent.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    match child {
        0 => Ok(None),
        child if child < 0 => Err(last_errno()),
        child => Ok(i32::try_from(child).ok().and_then(Pid::from_raw)),
    }
}

/// Closes everything but the standard streams. To be called before anything else is opened: what
/// is open then was left open by accident, and a command could use it to reach what it must not.
pub(super) fn close_inherited() -> Result<(), Errno> {
    // SAFETY: nothing in this process owns a descriptor yet but the standard streams.
    let failed =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST_OF_OURS, libc::c_uint::MAX, 0) };
    if failed == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Closes everything but the standard streams and `kept`, in a child that does not go on with the
/// rest of what its parent had open.
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
            // SAFETY: the owners of these descriptors are copies of the parent's, which the child
            // neither uses nor drops: it leaves by `exit_now`.
            unsafe { libc::syscall(libc::SYS_close_range, first, next - 1, 0) };
        }
        first = next.saturating_add(1);
    }
}

/// Ends this process without running exit handlers that were meant for its parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: never returns and touches no memory.
    unsafe { libc::_exit(code) }
}

/// No signal that can be held back ends the supervisor any more.
pub(super) fn block_signals() -> Result<(), Errno> {
    set_mask(libc::sigfillset)
}

/// As a command expects to be started: nothing is held back, and nothing ignored that this program
/// ignores.
pub(super) fn default_signals() -> Result<(), Errno> {
    // SAFETY: no handler is set, the call is given numbers.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(last_errno());
    }
    set_mask(libc::sigemptyset)
}

fn set_mask(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> libc::c_int) -> Result<(), Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `fill` initialises the set that it is given, the other call reads it; the old set is
    // not asked for.
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

/// Becomes readable when a child changes state.
pub(super) fn child_signals() -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises the set, the others are given an initialised one, and the
    // descriptor is new and ours.
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

/// Reads away what has made [`child_signals`] readable. Signals of children that end together are
/// one; only that there was any matters.
pub(super) fn drain_signals(child_signals: &OwnedFd) {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(child_signals, &mut record).is_ok_and(|read| read > 0) {}
}

/// Texts as the system takes them.
pub(super) struct Strings {
    pointers: Vec<*const libc::c_char>,
    /// What the pointers point to.
    _texts: Vec<CString>,
}

impl Strings {
    pub(super) fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr());
        Self {
            pointers: pointers.chain([std::ptr::null()]).collect(),
            _texts: texts,
        }
    }
}

/// The child needs little, but what confines it encodes filters there.
const STACK_SIZE: usize = 512 * 1024;

/// Starts a process that runs on our memory, on a stack of its own, while this one stands still until
/// it has become a command or failed: nothing has to be copied for it, no page table either. `work`
/// is run there and returns only if it failed. The variables stay as they were in this process.
pub(super) fn start_sharing<F, E>(work: F) -> Result<Pid, E>
where
    F: FnOnce() -> E,
    E: From<Errno>,
{
    struct Shared<F, E> {
        work: Option<F>,
        failed: Option<E>,
    }
    extern "C" fn child<F: FnOnce() -> E, E>(shared: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is the parent's, which does not touch it before this process has let go of it.
        let shared = unsafe { &mut *shared.cast::<Shared<F, E>>() };
        shared.failed = shared.work.take().map(|work| work());
        0
    }
    let mut shared = Shared {
        work: Some(work),
        failed: None,
    };
    // Of a type that is aligned as stacks have to be. Only what is used of it becomes memory.
    let mut stack = Vec::<u128>::with_capacity(STACK_SIZE / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: `child` gets what it expects. The stack and `shared` outlive its use of them, for this
    // process goes on only when the child has its own memory or is gone. There is one thread here,
    // so nobody else uses the memory meanwhile.
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
            // It has ended; nobody else is to find it.
            rustix::process::waitpid(Some(process), WaitOptions::empty()).ok();
            Err(problem)
        }
    }
}

unsafe extern "C" {
    /// The variables of this process.
    static mut environ: *const *const libc::c_char;
}

/// Becomes another program, which is looked up in the `PATH` that it gets. Returns only if that fails.
/// For the process that [`start_sharing`] starts.
pub(super) fn execute(arguments: &Strings, environment: &Strings) -> io::Error {
    let program = arguments.pointers.first().copied();
    let Some(program) = program.filter(|program| !program.is_null()) else {
        return Errno::INVAL.into();
    };
    // SAFETY: both lists end with null and live as long as this function, after which nobody reads
    // variables before the old ones are back.
    unsafe {
        environ = environment.pointers.as_ptr();
        libc::execvp(program, arguments.pointers.as_ptr());
    }
    io::Error::last_os_error()
}
