//! Kernel watches by path.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use crate::observed::{ObservedEvent, PathChange, WatchInterest};

/// Waits for events. Shared by the worker and the handles.
#[derive(Debug)]
pub(crate) struct Wakeup {
    /// Readable when the kernel has events.
    events: OwnedFd,
    /// Written to in order to wake the worker.
    wake: OwnedFd,
}

impl Wakeup {
    /// Waits for events or for [`wake`](Self::wake), at most this long.
    pub(crate) fn wait(&self, time: Option<Duration>) {
        // Rounded up, or the worker would spin until the time is over.
        let time = time.map(|time| time + Duration::from_millis(1));
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let mut wanted = [&self.events, &self.wake].map(|fd| PollFd::new(fd, PollFlags::IN));
        poll(&mut wanted, time.as_ref()).ok();
        rustix::io::read(&self.wake, &mut [0; 8]).ok();
    }

    pub(crate) fn wake(&self) {
        // Fails when it was written to often: then the worker is awake.
        rustix::io::write(&self.wake, &1_u64.to_ne_bytes()).ok();
    }
}

pub(crate) use Inotify as Observer;

/// An inotify instance.
#[derive(Debug)]
pub(crate) struct Inotify {
    descriptor: OwnedFd,
    numbers: HashMap<PathBuf, i32>,
    /// Several paths of one file have the same number.
    paths: HashMap<i32, Vec<PathBuf>>,
}

impl Inotify {
    pub(crate) fn new() -> io::Result<(Self, Wakeup)> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let wakeup = Wakeup {
            events: descriptor.try_clone()?,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        let observer = Self {
            descriptor,
            numbers: HashMap::new(),
            paths: HashMap::new(),
        };
        Ok((observer, wakeup))
    }

    /// Observes a path in addition to existing observations.
    pub(crate) fn watch(&mut self, path: &Path, interest: WatchInterest) -> io::Result<()> {
        let flags = flags_of(interest) | WatchFlags::MASK_ADD;
        let number = inotify::add_watch(&self.descriptor, path, flags)?;
        if self.numbers.insert(path.to_path_buf(), number) != Some(number) {
            self.paths
                .entry(number)
                .or_default()
                .push(path.to_path_buf());
        }
        Ok(())
    }

    pub(crate) fn unwatch(&mut self, path: &Path) {
        let Some(number) = self.numbers.remove(path) else {
            return;
        };
        if let Some(paths) = self.paths.get_mut(&number) {
            paths.retain(|other| other != path);
            if paths.is_empty() {
                self.paths.remove(&number);
                // Fails if the file no longer exists.
                inotify::remove_watch(&self.descriptor, number).ok();
            }
        }
    }

    /// Reads the pending events.
    pub(crate) fn read(&mut self) -> Vec<ObservedEvent> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        let mut events = Vec::new();
        while let Ok(event) = reader.next() {
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                events.push(ObservedEvent::Lost);
                continue;
            }
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            let folders = self.paths.get(&event.wd()).into_iter().flatten();
            events.extend(folders.map(|folder| {
                let path = name.map_or_else(|| folder.clone(), |name| folder.join(name));
                ObservedEvent::At(kind(flags), path)
            }));
        }
        events
    }
}

fn flags_of(interest: WatchInterest) -> WatchFlags {
    let entries = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE
        | WatchFlags::MOVE_SELF;
    match interest {
        WatchInterest::Entries => entries,
        WatchInterest::Contents => {
            entries | WatchFlags::ATTRIB | WatchFlags::CLOSE_WRITE | WatchFlags::MODIFY
        }
    }
}

fn kind(flags: ReadFlags) -> PathChange {
    let contents = ReadFlags::ATTRIB | ReadFlags::CLOSE_WRITE | ReadFlags::MODIFY;
    if flags.intersects(contents) {
        PathChange::Changed
    } else {
        PathChange::Replaced
    }
}
