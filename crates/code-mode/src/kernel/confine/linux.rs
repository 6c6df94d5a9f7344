//! The calls that cells may make.

/// What cells enter, made before the first of them.
pub(crate) struct CellFilter(seccompiler::BpfProgram);

impl CellFilter {
    /// None if the system has no filters for calls.
    pub(crate) fn new() -> Option<Self> {
        filter().map(Self)
    }

    /// Leaves a cell its memory and what it has open. False if that fails.
    #[expect(unsafe_code, reason = "calls of the system")]
    pub(crate) fn enter(&self) -> bool {
        // SAFETY: the call has numbers as arguments.
        let dies_with_kernel = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0;
        dies_with_kernel && seccompiler::apply_filter(&self.0).is_ok()
    }
}

/// Closes descriptors, both ends included. False if the system cannot, before Linux 5.9.
#[expect(unsafe_code, reason = "calls of the system")]
pub(super) fn close_range(first: i32, last: i32) -> bool {
    let flags = 0;
    // SAFETY: the cell uses no descriptor but its socket, which is outside of the range.
    last < first || unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } == 0
}

fn filter() -> Option<seccompiler::BpfProgram> {
    use seccompiler::{SeccompAction, SeccompFilter};

    let allowed = ALLOWED_CALLS
        .iter()
        .map(|call| (*call, Vec::new()))
        .collect();
    let filter = SeccompFilter::new(
        allowed,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into().ok()?,
    );
    filter.ok()?.try_into().ok()
}

/// Memory, time, the socket of the cell, and its end.
const ALLOWED_CALLS: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_close,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What is mapped already, in bytes: the allocator of static builds reserves space that it does not use.
pub(super) fn mapped_space() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = sizes.split(' ').next().and_then(|size| size.parse().ok());
    let page = rustix::param::page_size() as u64;
    page.saturating_mul(pages.unwrap_or(0))
}
