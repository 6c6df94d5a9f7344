//! Kernel watches by path.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// Which events of a path are needed. Every event wakes the worker, and files in the home folder, which is above
/// most watched paths, are written all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchInterest {
    /// Created and removed entries.
    Entries,
    /// Also changed contents.
    Contents,
}

impl WatchInterest {
    fn flags(self) -> WatchFlags {
        let entries = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE
            | WatchFlags::MOVE_SELF;
        match self {
            Self::Entries => entries,
            Self::Contents => {
                entries | WatchFlags::ATTRIB | WatchFlags::CLOSE_WRITE | WatchFlags::MODIFY
            }
        }
    }
}

/// What happened at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathChange {
    /// It was created, removed or replaced.
    Replaced,
    /// Its content or attributes changed.
    Changed,
}

/// An event of the kernel.
#[derive(Debug)]
pub(crate) enum InotifyEvent {
    At(PathChange, PathBuf),
    /// The kernel dropped events.
    Lost,
}

/// An inotify instance.
#[derive(Debug)]
pub(crate) struct Inotify {
    descriptor: OwnedFd,
    numbers: HashMap<PathBuf, i32>,
    /// Several paths of one file have the same number.
    paths: HashMap<i32, Vec<PathBuf>>,
}

impl Inotify {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            descriptor: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            numbers: HashMap::new(),
            paths: HashMap::new(),
        })
    }

    /// A second descriptor of the same instance, to wait for events.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }

    /// Observes a path in addition to existing observations.
    pub(crate) fn watch(&mut self, path: &Path, interest: WatchInterest) -> io::Result<()> {
        let flags = interest.flags() | WatchFlags::MASK_ADD;
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
    pub(crate) fn read(&mut self) -> Vec<InotifyEvent> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        let mut events = Vec::new();
        while let Ok(event) = reader.next() {
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                events.push(InotifyEvent::Lost);
                continue;
            }
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            let folders = self.paths.get(&event.wd()).into_iter().flatten();
            events.extend(folders.map(|folder| {
                let path = name.map_or_else(|| folder.clone(), |name| folder.join(name));
                InotifyEvent::At(kind(flags), path)
            }));
        }
        events
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
