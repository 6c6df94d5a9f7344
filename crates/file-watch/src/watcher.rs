//! One thread that hears of all changes, and everybody who wants to know.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::burst::Burst;
use crate::target::{Place, Target};

/// One for a program is enough: it keeps a thread, which begins with the first watch.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
}

/// A path that is watched until this is dropped.
#[derive(Debug)]
pub struct Watch {
    id: u64,
    shared: Arc<Shared>,
}

type Tell = Box<dyn FnMut(Vec<PathBuf>) + Send>;

#[derive(Debug)]
struct Shared {
    events: OwnedFd,
    /// Written to when the thread is to look up: there is no watcher any more, or a new watch.
    wake: OwnedFd,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    watches: HashMap<u64, Watched>,
    /// Which watches observe what the system knows by a number.
    observed: HashMap<i32, Vec<(u64, Place)>>,
    next: u64,
    is_over: bool,
}

struct Watched {
    target: Target,
    existed: bool,
    burst: Burst,
    tell: Arc<Mutex<Tell>>,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Watched")
            .field(&self.target)
            .finish()
    }
}

fn interesting() -> WatchFlags {
    WatchFlags::ATTRIB
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MODIFY
        | WatchFlags::MOVE
        | WatchFlags::MOVE_SELF
}

impl Watcher {
    /// Ready to watch.
    ///
    /// # Errors
    /// The system has no more watchers, or no thread.
    pub fn new() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            events: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            state: Mutex::default(),
        });
        let thread = std::thread::Builder::new().name("file-watch".to_owned());
        thread.spawn({
            let shared = Arc::clone(&shared);
            move || shared.work()
        })?;
        Ok(Self { shared })
    }

    /// Watches a path. `tell` is called on the watcher's thread, with absolute paths if `path` is
    /// absolute; when the watch is dropped it may be called once more.
    ///
    /// # Errors
    /// The system does not let us observe it.
    pub fn watch(
        &self,
        path: &Path,
        tell: impl FnMut(Vec<PathBuf>) + Send + 'static,
    ) -> io::Result<Watch> {
        let mut state = self.shared.lock();
        let id = state.next;
        state.next += 1;
        let target = Target::new(path);
        let watched = Watched {
            existed: target.exists(),
            target,
            burst: Burst::default(),
            tell: Arc::new(Mutex::new(Box::new(tell))),
        };
        state.watches.insert(id, watched);
        let observed = state.observe(id, &self.shared.events);
        drop(state);
        let shared = Arc::clone(&self.shared);
        // If it could not be observed, dropping it clears up.
        let watch = Watch { id, shared };
        observed.map(|()| watch)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.wake();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.forget_places(self.id, &self.shared.events);
        let removed = state.watches.remove(&self.id);
        drop(state);
        drop(removed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It fails when it was woken often and has not looked yet: then it will.
        rustix::io::write(&self.wake, &1_u64.to_ne_bytes()).ok();
    }

    fn work(&self) {
        let mut due = None;
        loop {
            self.wait(due);
            let mut state = self.lock();
            if state.is_over {
                return;
            }
            state.hear(&self.events);
            let news = state.news(Instant::now());
            due = state.next_due();
            drop(state);
            for (tell, paths) in news {
                let mut tell = tell.lock().unwrap_or_else(PoisonError::into_inner);
                tell(paths);
            }
        }
    }

    fn wait(&self, due: Option<Instant>) {
        let time = due.map(|due| due.saturating_duration_since(Instant::now()));
        // Rather a little late than too early.
        let time = time.map(|time| time + std::time::Duration::from_millis(1));
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let mut wanted = [&self.events, &self.wake].map(|fd| PollFd::new(fd, PollFlags::IN));
        poll(&mut wanted, time.as_ref()).ok();
        rustix::io::read(&self.wake, &mut [0; 8]).ok();
    }
}

impl State {
    /// Observes what there is of a path's places.
    fn observe(&mut self, id: u64, events: &OwnedFd) -> io::Result<()> {
        let Some(watched) = self.watches.get(&id) else {
            return Ok(());
        };
        for place in watched.target.places() {
            match inotify::add_watch(events, &place.path, interesting()) {
                Ok(number) => self.observed.entry(number).or_default().push((id, place)),
                // It has just gone; whoever is above tells when it comes back.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn forget_places(&mut self, id: u64, events: &OwnedFd) {
        self.observed.retain(|number, observers| {
            observers.retain(|(observer, _)| *observer != id);
            if observers.is_empty() {
                // It fails if what was observed is gone already.
                inotify::remove_watch(events, *number).ok();
            }
            !observers.is_empty()
        });
    }

    /// Reads what has happened.
    fn hear(&mut self, events: &OwnedFd) {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(events, &mut buffer);
        let mut happened = Vec::new();
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_bytes().to_vec());
            happened.push((event.wd(), event.events(), name));
        }
        for (number, flags, name) in happened {
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.suspect_everything();
            }
            self.take(number, flags, name.as_deref(), events);
        }
    }

    fn take(&mut self, number: i32, flags: ReadFlags, name: Option<&[u8]>, events: &OwnedFd) {
        let ends = flags.intersects(
            ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT,
        );
        let observers = self.observed.get(&number).cloned().unwrap_or_default();
        if flags.contains(ReadFlags::IGNORED) {
            self.observed.remove(&number);
        }
        for (id, place) in observers {
            let Some(watched) = self.watches.get_mut(&id) else {
                continue;
            };
            let name = name.map(OsStr::from_bytes);
            let meaning = watched.target.meaning(&place, name, ends);
            if let Some(path) = meaning.changed {
                watched.burst.add(path, Instant::now());
            }
            if meaning.look_again {
                self.look_again(id, events);
            }
        }
    }

    /// Observes the places as they are now. A path that came or went meanwhile has changed.
    fn look_again(&mut self, id: u64, events: &OwnedFd) {
        self.forget_places(id, events);
        // What cannot be observed any more, was observed before: there is nobody to tell.
        self.observe(id, events).ok();
        if let Some(watched) = self.watches.get_mut(&id) {
            let exists = watched.target.exists();
            if exists != watched.existed {
                watched.existed = exists;
                let path = watched.target.path().to_path_buf();
                watched.burst.add(path, Instant::now());
            }
        }
    }

    /// Too much happened to be told of all of it.
    fn suspect_everything(&mut self) {
        for watched in self.watches.values_mut() {
            let path = watched.target.path().to_path_buf();
            watched.burst.add(path, Instant::now());
        }
    }

    fn news(&mut self, now: Instant) -> Vec<(Arc<Mutex<Tell>>, Vec<PathBuf>)> {
        let watches = self.watches.values_mut();
        let news = watches.filter_map(|watched| {
            let paths = watched.burst.take(now)?;
            Some((Arc::clone(&watched.tell), paths))
        });
        news.collect()
    }

    fn next_due(&self) -> Option<Instant> {
        let watches = self.watches.values();
        watches.filter_map(|watched| watched.burst.due()).min()
    }
}
