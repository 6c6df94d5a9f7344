//! The threads of the simulated process: one runs at a time, and which one is decided by the seed.
//!
//! A thread runs until it calls a function of `functions`, where it may have to wait or may be exchanged for another one. Time is
//! a number: it advances by a little with each look at the clock, and to the next deadline when no thread can run. If there is no
//! deadline either, nothing will ever happen again: the process ends as [`Ending::Deadlock`].

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::peer::PeerProcess;
use super::random::SeededRandom;
use super::system_call::system_call;

/// The time of day at which every simulation begins, in seconds.
pub(super) const BEGIN_TIME: u64 = 2_000_000_000;

/// Above this number of steps the process is taken for one that gets nowhere.
const MAX_STEPS: u64 = 30_000_000;

/// Nanoseconds that a look at the clock takes.
const CLOCK_READ_TIME: u64 = 1_000;

/// Why a simulated process has ended by itself. The number is its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has done everything.
    Done = 0,
    /// No thread can ever run again.
    Deadlock = 70,
    /// It runs and runs.
    NoProgress = 71,
    /// It was killed as planned.
    Killed = 72,
}

impl Ending {
    /// The ending with this exit code.
    #[must_use]
    pub(crate) fn of_code(code: i32) -> Option<Self> {
        let all = [Self::Done, Self::Deadlock, Self::NoProgress, Self::Killed];
        all.into_iter().find(|ending| *ending as i32 == code)
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Nothing: it can run.
    Ready,
    /// The word at this address is woken.
    Futex { address: usize },
    /// The mutex at this address is released.
    Mutex { address: usize },
    /// A descriptor has events.
    Events { epoll: i32 },
    /// Time passes.
    Time,
    /// A thread ends.
    End { thread: usize },
    /// It has ended.
    Over,
}

pub(super) struct SimulatedThread {
    waiting: Waiting,
    deadline: Option<u64>,
    was_late: bool,
    pub(super) handle: u64,
    /// The word on which the thread waits for its turn.
    turn: AtomicU32,
}

/// What a kill does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedKill {
    pub(super) after: u64,
    pub(super) seed: u64,
}

pub(super) struct Scheduler {
    #[expect(clippy::vec_box, reason = "threads wait on the address of their word")]
    threads: Vec<Box<SimulatedThread>>,
    random: SeededRandom,
    pub(super) bytes: SeededRandom,
    now: u64,
    steps: u64,
    /// A thread is exchanged at one of so many calls.
    exchange: u64,
    pub(super) kill: Option<PlannedKill>,
    pub(super) effects: u64,
    /// The kill is counted from the removal of a file: after so many others, and the number of effects from there.
    pub(super) kill_since_removal: Option<(u64, u64)>,
    pub(super) full_disk: Option<(u64, u64)>,
    pub(super) filled_at: Option<u64>,
    pub(super) peer: Option<PeerProcess>,
    pub(super) at_kill: fn(usize),
}

/// Accessed by the running thread alone.
struct Shared(UnsafeCell<Option<Scheduler>>);

// SAFETY: only the thread whose turn it is accesses the value, and turns are handed over with atomic words.
unsafe impl Sync for Shared {}

static SHARED_SCHEDULER: Shared = Shared(UnsafeCell::new(None));
static IS_ON: AtomicBool = AtomicBool::new(false);

const NO_THREAD: usize = usize::MAX;

thread_local! {
    static CURRENT_THREAD: Cell<usize> = const { Cell::new(NO_THREAD) };
}

/// Whether the calling thread is a simulated one.
pub(super) fn is_simulated() -> bool {
    IS_ON.load(Ordering::Relaxed) && CURRENT_THREAD.with(Cell::get) != NO_THREAD
}

/// The scheduler, for a simulated thread.
fn shared() -> &'static mut Scheduler {
    // SAFETY: only the running thread calls this, and it keeps no reference when it hands its turn over.
    #[expect(clippy::expect_used, reason = "set before any thread is simulated")]
    unsafe {
        (*SHARED_SCHEDULER.0.get())
            .as_mut()
            .expect("the simulation has begun")
    }
}

/// Makes the calling thread the first one of a simulated process.
pub(super) fn begin(seed: u64, now: u64, kill: Option<PlannedKill>) {
    let mut random = SeededRandom::for_purpose(seed, 1);
    let exchange = [4, 16, 64, 1_000_000][usize::try_from(random.below(4)).unwrap_or_default()];
    let scheduler = Scheduler {
        threads: Vec::new(),
        bytes: SeededRandom::for_purpose(seed, 2),
        random,
        now,
        steps: 0,
        exchange,
        kill,
        effects: 0,
        kill_since_removal: None,
        full_disk: None,
        filled_at: None,
        peer: None,
        at_kill: |_| {},
    };
    // SAFETY: there is no other simulated thread.
    unsafe { *SHARED_SCHEDULER.0.get() = Some(scheduler) };
    let first = add_thread();
    CURRENT_THREAD.with(|current| current.set(first));
    IS_ON.store(true, Ordering::SeqCst);
}

/// The scheduler, with the caller as the running thread.
pub(super) fn with_scheduler<T>(use_it: impl FnOnce(&mut Scheduler) -> T) -> T {
    use_it(shared())
}

/// Nanoseconds since the begin. Looking takes a little time.
pub(super) fn now() -> u64 {
    let scheduler = shared();
    scheduler.now += CLOCK_READ_TIME;
    scheduler.now
}

/// Adds a thread that can run.
pub(super) fn add_thread() -> usize {
    let scheduler = shared();
    scheduler.threads.push(Box::new(SimulatedThread {
        waiting: Waiting::Ready,
        deadline: None,
        was_late: false,
        handle: 0,
        turn: AtomicU32::new(0),
    }));
    scheduler.threads.len() - 1
}

/// Notes the handle of a thread.
pub(super) fn set_handle(thread: usize, handle: u64) {
    shared().threads[thread].handle = handle;
}

/// The thread with this handle that was added last.
pub(super) fn thread_with(handle: u64) -> Option<usize> {
    let threads = &shared().threads;
    (0..threads.len())
        .rev()
        .find(|thread| threads[*thread].handle == handle)
}

/// The first call of an added thread: waits for its turn.
pub(super) fn enter(thread: usize, turn: &AtomicU32) {
    CURRENT_THREAD.with(|current| current.set(thread));
    await_turn(turn);
}

/// The word of a thread. It lives as long as the process.
pub(super) fn turn_of(thread: usize) -> &'static AtomicU32 {
    let turn: *const AtomicU32 = &raw const shared().threads[thread].turn;
    // SAFETY: threads are boxed and never removed.
    unsafe { &*turn }
}

/// The running thread has ended. The caller must not call anything simulated afterwards.
pub(super) fn leave() {
    let current = CURRENT_THREAD.with(|current| current.replace(NO_THREAD));
    let scheduler = shared();
    for thread in &mut scheduler.threads {
        if thread.waiting == (Waiting::End { thread: current }) {
            thread.waiting = Waiting::Ready;
        }
    }
    scheduler.threads[current].waiting = Waiting::Over;
    let next = scheduler.choose();
    give_turn(&scheduler.threads[next].turn);
}

/// Whatever the calling thread does from here on is not simulated. No other thread runs any more.
pub(super) fn stop() {
    CURRENT_THREAD.with(|current| current.set(NO_THREAD));
}

/// Whether a thread has ended.
pub(super) fn is_over(thread: usize) -> bool {
    shared().threads[thread].waiting == Waiting::Over
}

/// Waits. Returns false if the deadline came first.
pub(super) fn wait(waiting: Waiting, deadline: Option<u64>) -> bool {
    let current = CURRENT_THREAD.with(Cell::get);
    let thread = &mut shared().threads[current];
    thread.waiting = waiting;
    thread.deadline = deadline;
    thread.was_late = false;
    exchange(current);
    !shared().threads[current].was_late
}

/// Lets another thread run, as the seed wants it.
pub(super) fn may_exchange() {
    let scheduler = shared();
    if scheduler.random.below(scheduler.exchange) == 0 {
        exchange(CURRENT_THREAD.with(Cell::get));
    }
}

/// Lets any thread run.
pub(super) fn pass() {
    exchange(CURRENT_THREAD.with(Cell::get));
}

/// Lets up to `count` of those who wait run.
pub(super) fn wake(waiting: Waiting, count: usize) -> usize {
    let scheduler = shared();
    let mut woken = 0;
    while woken < count {
        let threads = &scheduler.threads;
        let all: Vec<usize> = (0..threads.len())
            .filter(|thread| threads[*thread].waiting == waiting)
            .collect();
        if all.is_empty() {
            break;
        }
        let one = all[scheduler.random.index(all.len())];
        let thread = &mut scheduler.threads[one];
        thread.waiting = Waiting::Ready;
        thread.deadline = None;
        woken += 1;
    }
    woken
}

fn exchange(current: usize) {
    let scheduler = shared();
    let next = scheduler.choose();
    if next == current {
        return;
    }
    let turn: *const AtomicU32 = &raw const scheduler.threads[current].turn;
    give_turn(&scheduler.threads[next].turn);
    // SAFETY: threads are boxed and never removed.
    await_turn(unsafe { &*turn });
}

impl Scheduler {
    /// A file was removed.
    pub(super) fn note_removal(&mut self) {
        match self.kill_since_removal.take() {
            Some((0, after)) => self.kill_after(after),
            Some((others, after)) => self.kill_since_removal = Some((others - 1, after)),
            None => {}
        }
    }

    /// Kills the process after so many effects from now, if it is to be killed.
    pub(super) fn kill_after(&mut self, effects: u64) {
        if let Some(kill) = &mut self.kill {
            kill.after = self.effects + effects;
        }
    }

    /// The time, without looking at the clock.
    pub(super) const fn time(&self) -> u64 {
        self.now
    }

    /// Chooses the next thread to run; time advances until there is one.
    fn choose(&mut self) -> usize {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.end(Ending::NoProgress);
        }
        loop {
            let mut next = None;
            let mut ready = Vec::new();
            for (index, thread) in self.threads.iter_mut().enumerate() {
                if thread.waiting == Waiting::Ready {
                    ready.push(index);
                    continue;
                }
                if let Waiting::Events { epoll } = thread.waiting
                    && has_events(epoll)
                {
                    thread.waiting = Waiting::Ready;
                    thread.deadline = None;
                    ready.push(index);
                    continue;
                }
                match thread.deadline {
                    Some(deadline) if deadline <= self.now => {
                        thread.waiting = Waiting::Ready;
                        thread.deadline = None;
                        thread.was_late = true;
                        ready.push(index);
                    }
                    Some(deadline) => {
                        next = Some(next.map_or(deadline, |next: u64| next.min(deadline)))
                    }
                    None => {}
                }
            }
            if !ready.is_empty() {
                if !self.lets_peer_run() {
                    return ready[self.random.index(ready.len())];
                }
                self.hand_over(Some(self.now));
                continue;
            }
            let others = self.peer.and_then(PeerProcess::next);
            match next {
                Some(deadline) if others.is_none_or(|other| deadline <= other) => {
                    self.now = deadline
                }
                None if others.is_none() => self.end(Ending::Deadlock),
                _ => self.hand_over(next),
            }
        }
    }

    /// Whether the other process goes on now, as the seed wants it.
    fn lets_peer_run(&mut self) -> bool {
        let next = self.peer.and_then(PeerProcess::next);
        next.is_some_and(|next| next <= self.now) && self.random.chance(1, 8)
    }

    /// Lets the other process go on until it can not, or this one is to.
    fn hand_over(&mut self, next: Option<u64>) {
        if let Some(peer) = self.peer {
            self.now = self.now.max(peer.hand_over(self.now, next));
            if peer.is_cut() {
                end_process(Ending::Killed);
            }
        }
    }

    fn end(&self, ending: Ending) -> ! {
        for (index, thread) in self.threads.iter().enumerate() {
            if thread.waiting != Waiting::Over {
                let line = format!("thread {index}: {:?}\n", thread.waiting);
                write_error(&line);
            }
        }
        end_process(ending)
    }
}

impl SeededRandom {
    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }
}

/// Ends the process at once.
pub(super) fn end_process(ending: Ending) -> ! {
    // SAFETY: only the running thread calls this.
    if let Some(scheduler) = unsafe { (*SHARED_SCHEDULER.0.get()).as_ref() }
        && let Some(peer) = scheduler.peer
    {
        peer.note_time(scheduler.now);
    }
    loop {
        // SAFETY: the call has no memory arguments.
        unsafe { system_call(libc::SYS_exit_group, [ending as usize, 0, 0, 0, 0, 0]) };
    }
}

fn write_error(line: &str) {
    let arguments = [2, line.as_ptr() as usize, line.len(), 0, 0, 0];
    // SAFETY: the kernel only reads the bytes.
    unsafe { system_call(libc::SYS_write, arguments) };
}

fn has_events(epoll: i32) -> bool {
    let mut descriptor = libc::pollfd {
        fd: epoll,
        events: libc::POLLIN,
        revents: 0,
    };
    let limit = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let arguments = [
        &raw mut descriptor as usize,
        1,
        &raw const limit as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the arguments are valid during the call.
    unsafe { system_call(libc::SYS_ppoll, arguments) > 0 }
}

fn give_turn(turn: &AtomicU32) {
    turn.store(1, Ordering::Release);
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let arguments = [turn.as_ptr() as usize, operation, 1, 0, 0, 0];
    // SAFETY: the word is valid.
    unsafe { system_call(libc::SYS_futex, arguments) };
}

fn await_turn(turn: &AtomicU32) {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    while turn.swap(0, Ordering::Acquire) == 0 {
        let arguments = [turn.as_ptr() as usize, operation, 0, 0, 0, 0];
        // SAFETY: the word is valid.
        unsafe { system_call(libc::SYS_futex, arguments) };
    }
}
