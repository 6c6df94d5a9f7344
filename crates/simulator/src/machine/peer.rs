//! The other process of the machine: two processes run in turns, at one time, and meet in files only.
//!
//! The turn, the time, and when the other process wants to go on are in memory that both share. Who has the turn goes on until it
//! gives it away; the program that has started both does that for one that has ended, so that its locks are free by then.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::system_call::system_call;

/// Nothing will ever happen in a process by itself.
const NEVER_TIME: u64 = u64::MAX;

/// What two processes share.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct SharedTurn {
    turn: AtomicU32,
    ended: [AtomicU32; 2],
    /// Whether the power was cut.
    is_cut: AtomicU32,
    /// The time of the machine, in nanoseconds.
    now: AtomicU64,
    /// When the process that does not have its turn can go on.
    next: [AtomicU64; 2],
}

impl SharedTurn {
    /// Makes the memory, before the processes are started. The first one has the turn.
    pub(crate) fn new(now: u64) -> Option<&'static Self> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let size = std::mem::size_of::<Self>();
        // SAFETY: the arguments ask for new memory, which is all zeros: a valid value.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        // SAFETY: the memory is there until `remove`, aligned to a page.
        let shared = (memory != libc::MAP_FAILED).then(|| unsafe { &*memory.cast::<Self>() })?;
        shared.now.store(now, Ordering::SeqCst);
        Some(shared)
    }

    /// Gives the memory back.
    pub(crate) fn remove(&'static self) {
        let address = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: `new` made it, and the caller uses it no more.
        unsafe { libc::munmap(address, std::mem::size_of::<Self>()) };
    }

    /// A process has ended, at the latest time that it has noted.
    pub(crate) fn end(&self, process: usize) {
        self.ended[process].store(1, Ordering::SeqCst);
        self.give(1 - process);
    }

    fn give(&self, process: usize) {
        self.turn.store(process as u32, Ordering::SeqCst);
        let arguments = [
            self.turn.as_ptr() as usize,
            libc::FUTEX_WAKE as usize,
            2,
            0,
            0,
            0,
        ];
        // SAFETY: the word is valid.
        unsafe { system_call(libc::SYS_futex, arguments) };
    }

    fn await_turn(&self, process: usize) {
        loop {
            let turn = self.turn.load(Ordering::SeqCst);
            if turn == process as u32 {
                return;
            }
            let word = self.turn.as_ptr() as usize;
            let arguments = [word, libc::FUTEX_WAIT as usize, turn as usize, 0, 0, 0];
            // SAFETY: the word is valid.
            unsafe { system_call(libc::SYS_futex, arguments) };
        }
    }
}

/// One of two processes, as it sees the other one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerProcess {
    pub shared: &'static SharedTurn,
    /// The number of this process, 0 or 1.
    pub number: usize,
}

impl PeerProcess {
    /// Waits for the first turn. Returns the time.
    pub(super) fn begin(self) -> u64 {
        self.shared.await_turn(self.number);
        self.shared.now.load(Ordering::SeqCst)
    }

    /// When the other process can go on, if it can without this one.
    pub(super) fn next(self) -> Option<u64> {
        let other = 1 - self.number;
        let has_ended = self.shared.ended[other].load(Ordering::SeqCst) != 0;
        let next = self.shared.next[other].load(Ordering::SeqCst);
        (!has_ended && next != NEVER_TIME).then_some(next)
    }

    /// Lets the other process go on, until it gives the turn back. This one can go on at `next`. Returns the time.
    pub(super) fn hand_over(self, now: u64, next: Option<u64>) -> u64 {
        self.note_time(now);
        self.shared.next[self.number].store(next.unwrap_or(NEVER_TIME), Ordering::SeqCst);
        self.shared.give(1 - self.number);
        self.begin()
    }

    /// The power is cut for both processes. Returns the number of the other one if it has not ended.
    pub(super) fn cut(self) -> Option<usize> {
        self.shared.is_cut.store(1, Ordering::SeqCst);
        let other = 1 - self.number;
        let has_ended = self.shared.ended[other].load(Ordering::SeqCst) != 0;
        (!has_ended).then_some(other)
    }

    /// Whether the power was cut.
    pub(super) fn is_cut(self) -> bool {
        self.shared.is_cut.load(Ordering::SeqCst) != 0
    }

    /// Notes the time for the other process, before this one ends.
    pub(super) fn note_time(self, now: u64) {
        self.shared.now.store(now, Ordering::SeqCst);
    }
}
