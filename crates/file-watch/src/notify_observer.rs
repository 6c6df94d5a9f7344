//! Observes folders through the crate `notify`, where there is no inotify.
//!
//! Only folders are observed, because not all systems can observe a file that is replaced. Some systems report paths with
//! links resolved; they are converted to the paths as they were named.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::{Condvar, Mutex};

use crate::observed::{ObservedEvent, PathChange, WatchInterest};

/// Further events are dropped, and reported as lost.
const EVENTS_LIMIT: usize = 100_000;

/// Waits for events. Shared by the worker, the handles and the thread of `notify`.
#[derive(Debug)]
pub(crate) struct Wakeup {
    shared: Arc<EventQueue>,
}

#[derive(Debug, Default)]
struct EventQueue {
    state: Mutex<EventQueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct EventQueueState {
    events: Vec<(PathChange, PathBuf)>,
    is_lost: bool,
    is_awake: bool,
}

impl EventQueue {
    fn push(&self, event: notify::Result<Event>) {
        let mut state = self.state.lock();
        match event {
            Ok(event) if !event.need_rescan() && state.events.len() < EVENTS_LIMIT => {
                let Some(change) = change(event.kind) else {
                    return;
                };
                let paths = event.paths.into_iter().map(|path| (change, path));
                state.events.extend(paths);
            }
            _ => state.is_lost = true,
        }
        state.is_awake = true;
        self.changed.notify_one();
    }
}

/// What an event means. None for reading a file.
fn change(kind: EventKind) -> Option<PathChange> {
    match kind {
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
            Some(PathChange::Changed)
        }
        // One event of macOS may stand for several changes, and says of which kind only one of them was.
        _ => Some(PathChange::Replaced),
    }
}

impl Wakeup {
    /// Waits for events or for [`wake`](Self::wake), at most this long.
    pub(crate) fn wait(&self, time: Option<Duration>) {
        let mut state = self.shared.state.lock();
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        while !state.is_awake {
            match deadline {
                Some(deadline) => {
                    let waited = self.shared.changed.wait_until(&mut state, deadline);
                    if waited.timed_out() {
                        return;
                    }
                }
                None => self.shared.changed.wait(&mut state),
            }
        }
        state.is_awake = false;
    }

    pub(crate) fn wake(&self) {
        self.shared.state.lock().is_awake = true;
        self.shared.changed.notify_one();
    }
}

pub(crate) use NotifyObserver as Observer;

/// The observed folders.
#[derive(Debug)]
pub(crate) struct NotifyObserver {
    watcher: RecommendedWatcher,
    shared: Arc<EventQueue>,
    /// The observed folder for each path.
    folders: HashMap<PathBuf, ObservedFolder>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ObservedFolder {
    named: PathBuf,
    real: PathBuf,
}

impl NotifyObserver {
    pub(crate) fn new() -> io::Result<(Self, Wakeup)> {
        let shared = Arc::new(EventQueue::default());
        let queue = Arc::clone(&shared);
        let watcher = notify::recommended_watcher(move |event| queue.push(event));
        let observer = Self {
            watcher: watcher.map_err(io_error)?,
            shared: Arc::clone(&shared),
            folders: HashMap::new(),
        };
        Ok((observer, Wakeup { shared }))
    }

    /// Observes a folder, or the folder that a file is in.
    pub(crate) fn watch(&mut self, path: &Path, _: WatchInterest) -> io::Result<()> {
        let named = match path.parent() {
            Some(parent) if !codex_mounts::is_dir(path) => parent,
            _ => path,
        };
        let folder = ObservedFolder {
            real: codex_mounts::canonicalize(named)?,
            named: named.to_path_buf(),
        };
        let is_observed = self.folders.values().any(|other| other.real == folder.real);
        if !is_observed {
            let mode = RecursiveMode::NonRecursive;
            self.watcher.watch(&folder.real, mode).map_err(io_error)?;
        }
        self.folders.insert(path.to_path_buf(), folder);
        Ok(())
    }

    pub(crate) fn unwatch(&mut self, path: &Path) {
        let Some(folder) = self.folders.remove(path) else {
            return;
        };
        if !self.folders.values().any(|other| other.real == folder.real) {
            // Fails if the folder no longer exists.
            self.watcher.unwatch(&folder.real).ok();
        }
    }

    /// Takes the pending events.
    pub(crate) fn read(&mut self) -> Vec<ObservedEvent> {
        let (seen, is_lost) = {
            let mut state = self.shared.state.lock();
            let is_lost = std::mem::take(&mut state.is_lost);
            (std::mem::take(&mut state.events), is_lost)
        };
        let named = seen.into_iter().flat_map(|(change, path)| {
            let names = self.names(&path);
            names.into_iter().map(move |path| (change, path))
        });
        let mut events: Vec<_> = named
            .map(|(change, path)| ObservedEvent::At(change, path))
            .collect();
        if is_lost {
            events.push(ObservedEvent::Lost);
        }
        events
    }

    /// The names of a path that has its links resolved.
    fn names(&self, path: &Path) -> Vec<PathBuf> {
        let mut names: Vec<_> = self
            .folders
            .values()
            .filter_map(|folder| {
                let rest = path.strip_prefix(&folder.real).ok()?;
                let is_at_top = rest.components().count() <= 1;
                is_at_top.then(|| joined(&folder.named, rest))
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Without the slash that joining an empty path adds.
fn joined(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        folder.to_path_buf()
    } else {
        folder.join(rest)
    }
}

fn io_error(error: notify::Error) -> io::Error {
    match error.kind {
        notify::ErrorKind::Io(error) => error,
        notify::ErrorKind::PathNotFound => io::ErrorKind::NotFound.into(),
        _ => io::Error::other(error),
    }
}
