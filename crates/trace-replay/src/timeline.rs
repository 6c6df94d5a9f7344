//! The order of what was recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How often other tasks may run before the next recorded thing happens. What follows from an event, such as the notice
/// that an agent is done, passes through a few tasks.
const TURNS_OF_OTHERS: usize = 16;

/// When something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) seq: u64,
    pub(crate) unix_ms: i64,
}

/// Something that a replay must bring about before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Milestone {
    seq: u64,
    is_after: bool,
}

impl Milestone {
    /// A recorded event.
    pub(crate) fn event(seq: u64) -> Self {
        let is_after = false;
        Self { seq, is_after }
    }

    /// What follows a recorded event without an event of its own.
    pub(crate) fn after(seq: u64) -> Self {
        let is_after = true;
        Self { seq, is_after }
    }
}

/// What happens within this time in two threads may have been recorded in another order than it happened in.
const UNSURE_MS: i64 = 5;

/// The recorded events that the engine must bring about, and how far it is.
#[derive(Debug)]
pub(crate) struct Timeline {
    pending: Mutex<BTreeSet<Milestone>>,
    /// The numbers that are waited for, and how often.
    waiting: Mutex<BTreeMap<u64, usize>>,
    /// The numbers that are no longer waited for, because what was recorded before does not come first.
    released: Mutex<BTreeSet<u64>>,
    /// When each event was recorded.
    times: HashMap<u64, i64>,
    changed: Notify,
    now: AtomicI64,
    started: i64,
    progress: AtomicU64,
}

impl Timeline {
    pub(crate) fn new(
        pending: BTreeSet<Milestone>,
        times: HashMap<u64, i64>,
        started: i64,
    ) -> Self {
        Self {
            pending: Mutex::new(pending),
            waiting: Mutex::default(),
            released: Mutex::default(),
            times,
            changed: Notify::new(),
            now: AtomicI64::new(started),
            started,
            progress: AtomicU64::new(0),
        }
    }

    /// The engine has brought an event about.
    pub(crate) fn reach(&self, moment: Moment) {
        self.pending.lock().remove(&Milestone::event(moment.seq));
        self.pass(moment);
        self.changed.notify_waiters();
    }

    /// What follows an event has come about.
    pub(crate) fn reach_after(&self, moment: Moment) {
        self.pending.lock().remove(&Milestone::after(moment.seq));
        self.pass(moment);
        self.changed.notify_waiters();
    }

    /// Waits until everything that was recorded before a moment has come about.
    pub(crate) async fn wait(&self, moment: Moment) {
        self.wait_before(moment.seq).await;
        self.pass(moment);
    }

    /// Waits until everything has come about.
    pub(crate) async fn wait_for_all(&self) {
        self.wait_before(u64::MAX).await;
    }

    /// Waits until everything with a lower number has come about.
    pub(crate) async fn wait_before(&self, seq: u64) {
        let _waiting = Waiting::new(&self.waiting, seq);
        loop {
            let changed = self.changed.notified();
            if self
                .pending
                .lock()
                .first()
                .is_none_or(|first| *first >= Milestone::event(seq))
                || self.released.lock().contains(&seq)
            {
                break;
            }
            changed.await;
        }
        for _ in 0..TURNS_OF_OTHERS {
            tokio::task::yield_now().await;
        }
    }

    /// Lets the first thing happen that waits for something of about the same time. Two threads record at once, so their
    /// events may be in the other order.
    pub(crate) fn release_one(&self) {
        let Some(first) = self.first_pending() else {
            return;
        };
        let next = self.waiting.lock().keys().next().copied();
        let time = |seq: u64| self.times.get(&seq).copied();
        let Some((next, at)) = next.and_then(|next| Some((next, time(next)?))) else {
            return;
        };
        if time(first).is_some_and(|first| at - first <= UNSURE_MS)
            && self.released.lock().insert(next)
        {
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn pass(&self, moment: Moment) {
        self.now.fetch_max(moment.unix_ms, Ordering::Relaxed);
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// The recorded time of what happened last.
    pub(crate) fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// When the recording began.
    pub(crate) fn started(&self) -> i64 {
        self.started
    }

    /// A number that changes whenever something happens.
    pub(crate) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// The first event that has not come about.
    pub(crate) fn first_pending(&self) -> Option<u64> {
        self.pending.lock().first().map(|milestone| milestone.seq)
    }
}

/// A number that is waited for.
struct Waiting<'t> {
    all: &'t Mutex<BTreeMap<u64, usize>>,
    seq: u64,
}

impl<'t> Waiting<'t> {
    fn new(all: &'t Mutex<BTreeMap<u64, usize>>, seq: u64) -> Self {
        *all.lock().entry(seq).or_default() += 1;
        Self { all, seq }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(count) = all.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.seq);
            }
        }
    }
}
