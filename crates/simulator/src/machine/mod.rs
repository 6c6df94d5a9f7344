//! A simulated machine for the program itself: one thread runs at a time, time advances when nobody can run, and every random
//! number follows from a seed.
//!
//! It takes the place of functions of the C library (`functions`), so that all code runs as it is, with its threads, its locks, its
//! database and its files. What it does not see: system calls that do not go through the C library. None of them waits or is random
//! in code that is simulated.
#![expect(
    unsafe_code,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "calls of the system"
)]

mod files;
mod functions;
mod peer;
mod power;
mod random;
mod scheduler;
mod system_call;

use std::path::Path;

pub(crate) use peer::{PeerProcess, SharedTurn};
pub(crate) use power::DiskJournal;
pub(crate) use random::SeededRandom;
pub(crate) use scheduler::Ending;
pub(crate) use system_call::append as record;

/// How a simulated process runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineSetup {
    /// Decides about everything that is random.
    pub seed: u64,
    /// The time at its begin, in nanoseconds since that of the simulation.
    pub now: u64,
    /// After so many effects on files the process is killed.
    pub kill_after: Option<u64>,
    /// The effects on files that find no room: after how many, and how many.
    pub full_disk: Option<(u64, u64)>,
    /// The journal of the disk, if the kill is a power cut: what was not synchronised is in any state, and the other process ends
    /// too.
    pub journal: Option<i32>,
    /// The other process, if there are two.
    pub peer: Option<PeerProcess>,
    /// Called before the process is killed.
    pub at_kill: fn(usize),
}

impl MachineSetup {
    /// The number of the process, from 0.
    #[must_use]
    pub(crate) fn process(&self) -> usize {
        self.peer.map_or(0, |peer| peer.number)
    }
}

/// Makes the rest of the process a simulated one. The calling thread must be the only one. Files below
/// `folder` have times of the simulation.
pub(crate) fn begin(setup: MachineSetup, folder: &'static Path) {
    if let Some(journal) = setup.journal {
        power::begin(journal, folder);
    }
    files::set_folder(folder);
    let kill = setup.kill_after.map(|after| scheduler::PlannedKill {
        after,
        seed: setup.seed,
    });
    let now = setup.peer.map_or(setup.now, PeerProcess::begin);
    if setup.peer.is_some_and(PeerProcess::is_cut) {
        end(Ending::Killed);
    }
    scheduler::begin(setup.seed, now, kill);
    scheduler::with_scheduler(|scheduler| {
        scheduler.full_disk = setup.full_disk;
        scheduler.peer = setup.peer;
        scheduler.at_kill = setup.at_kill;
    });
}

/// When something found no room on the disk for the first time, in nanoseconds.
#[must_use]
pub(crate) fn disk_filled_at() -> Option<u64> {
    scheduler::with_scheduler(|scheduler| scheduler.filled_at)
}

/// Kills the process after so many effects on files from now, if it is to be killed.
pub(crate) fn kill_after(effects: u64) {
    scheduler::with_scheduler(|scheduler| scheduler.kill_after(effects));
}

/// Kills the process after so many effects on files since it removed a file, after so many others.
pub(crate) fn kill_since_removal(others: u64, effects: u64) {
    scheduler::with_scheduler(|scheduler| scheduler.kill_since_removal = Some((others, effects)));
}

/// Ends the simulated process as the plan wants it, though it has done everything.
pub(crate) fn end_killed() -> ! {
    files::end_killed()
}

/// Ends the simulated process at once.
pub(crate) fn end(ending: Ending) -> ! {
    scheduler::end_process(ending)
}

/// Nanoseconds since the begin of the simulation.
#[must_use]
pub(crate) fn now() -> u64 {
    scheduler::with_scheduler(|scheduler| scheduler.time())
}
