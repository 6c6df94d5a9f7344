//! The list of all processes.

#![expect(unsafe_code, reason = "calls of the system")]

use std::mem::MaybeUninit;

use rustix::process::{Pid, getsid};

use crate::descendants::ListedProcess;

/// How many more processes may start between the two calls that read the list.
const SPARE_ENTRIES: usize = 64;

/// All processes that this user may ask about, except those that have ended and are not reaped.
pub(super) fn processes() -> Vec<ListedProcess> {
    ids().into_iter().filter_map(process).collect()
}

fn ids() -> Vec<i32> {
    // SAFETY: without a buffer the call returns the number of processes.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut ids = vec![0_i32; usize::try_from(count).unwrap_or_default() + SPARE_ENTRIES];
    let size = i32::try_from(size_of_val(ids.as_slice())).unwrap_or(i32::MAX);
    // SAFETY: the buffer has this size in bytes.
    let count = unsafe { libc::proc_listallpids(ids.as_mut_ptr().cast(), size) };
    ids.truncate(usize::try_from(count).unwrap_or_default());
    ids
}

fn process(id: i32) -> Option<ListedProcess> {
    let mut facts = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    let size = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    // SAFETY: the buffer has this size in bytes.
    let written = unsafe {
        let buffer = facts.as_mut_ptr().cast();
        libc::proc_pidinfo(id, libc::PROC_PIDTBSDINFO, 0, buffer, size)
    };
    if written != size {
        return None;
    }
    // SAFETY: the call has written the whole value, which consists of numbers.
    let facts = unsafe { facts.assume_init() };
    Some(ListedProcess {
        id,
        parent: i32::try_from(facts.pbi_ppid).ok()?,
        session: getsid(Some(Pid::from_raw(id)?)).ok()?.as_raw_pid(),
        started: (facts.pbi_start_tvsec, facts.pbi_start_tvusec),
    })
}
