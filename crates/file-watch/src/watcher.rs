//! The worker thread, and the state that it shares with the handles.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::batch::ChangeBatch;
use crate::observed::{ObservedEvent, PathChange};
use crate::platform::{Observer, Wakeup};
use crate::target::WatchTarget;

/// How often observing a path is retried because its folders changed meanwhile.
const OBSERVE_ATTEMPTS: usize = 100;

/// Watches paths, with one thread for all of them.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<WatcherShared>,
}

/// A path that is watched until this is dropped.
#[derive(Debug)]
pub struct Watch {
    id: u64,
    shared: Arc<WatcherShared>,
}

type ReportFn = Box<dyn FnMut(Vec<PathBuf>) + Send>;

#[derive(Debug)]
struct WatcherShared {
    wakeup: Wakeup,
    state: Mutex<WatcherState>,
}

#[derive(Debug)]
struct WatcherState {
    observer: Observer,
    watches: HashMap<u64, WatchedPath>,
    /// The watches that need a path to be observed.
    observers: HashMap<PathBuf, Vec<u64>>,
    next: u64,
    is_over: bool,
}

struct WatchedPath {
    target: WatchTarget,
    existed: bool,
    batch: ChangeBatch,
    report: Arc<Mutex<ReportFn>>,
}

impl std::fmt::Debug for WatchedPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("WatchedPath")
            .field(&self.target)
            .finish()
    }
}

impl Watcher {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no more watchers, or no more threads.
    pub fn new() -> io::Result<Self> {
        let (observer, wakeup) = Observer::new()?;
        let shared = Arc::new(WatcherShared {
            wakeup,
            state: Mutex::new(WatcherState {
                observer,
                watches: HashMap::new(),
                observers: HashMap::new(),
                next: 0,
                is_over: false,
            }),
        });
        let thread = std::thread::Builder::new().name("file-watch".to_owned());
        thread.spawn({
            let shared = Arc::clone(&shared);
            move || shared.work()
        })?;
        Ok(Self { shared })
    }

    /// Watches a path. `report` is called on the worker thread, with absolute paths if `path` is
    /// absolute. It may be called once more while the watch is dropped.
    ///
    /// # Errors
    /// The system does not allow the path to be observed.
    pub fn watch(
        &self,
        path: &Path,
        report: impl FnMut(Vec<PathBuf>) + Send + 'static,
    ) -> io::Result<Watch> {
        // Before the lock, which every change needs.
        codex_mounts::check(path)?;
        let mut state = self.shared.state.lock();
        let id = state.next;
        state.next += 1;
        let target = WatchTarget::new(path);
        let watched = WatchedPath {
            existed: target.exists(),
            target,
            batch: ChangeBatch::default(),
            report: Arc::new(Mutex::new(Box::new(report))),
        };
        state.watches.insert(id, watched);
        let observed = state.observe(id);
        drop(state);
        let shared = Arc::clone(&self.shared);
        // If it could not be observed, dropping the watch removes it.
        let watch = Watch { id, shared };
        observed.map(|()| watch)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.state.lock().is_over = true;
        self.shared.wakeup.wake();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.stop_observing(self.id);
        let removed = state.watches.remove(&self.id);
        drop(state);
        drop(removed);
    }
}

impl WatcherShared {
    fn work(&self) {
        let mut due = None;
        loop {
            let time = due.map(|due: Instant| due.saturating_duration_since(Instant::now()));
            self.wakeup.wait(time);
            let mut state = self.state.lock();
            if state.is_over {
                return;
            }
            state.read_events();
            let batches = state.take_batches(Instant::now());
            due = state.next_due();
            drop(state);
            for (report, paths) in batches {
                let mut report = report.lock();
                report(paths);
            }
        }
    }
}

impl WatcherState {
    /// Observes the folders that a watch needs at present.
    fn observe(&mut self, id: u64) -> io::Result<()> {
        for _ in 0..OBSERVE_ATTEMPTS {
            let Some(watch) = self.watches.get(&id) else {
                return Ok(());
            };
            let paths = watch.target.observed_paths();
            for (path, interest) in &paths {
                match self.observer.watch(path, *interest) {
                    Ok(()) => self.observers.entry(path.clone()).or_default().push(id),
                    Err(error) if is_not_found(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            // What was made or removed before the system observed it is not reported.
            let is_current = |watch: &WatchedPath| watch.target.observed_paths() == paths;
            if self.watches.get(&id).is_none_or(is_current) {
                return Ok(());
            }
            self.stop_observing(id);
        }
        Err(io::Error::other("the folders of the path keep changing"))
    }

    fn stop_observing(&mut self, id: u64) {
        let observer = &mut self.observer;
        self.observers.retain(|path, observers| {
            observers.retain(|other| *other != id);
            if observers.is_empty() {
                observer.unwatch(path);
            }
            !observers.is_empty()
        });
    }

    fn read_events(&mut self) {
        for event in self.observer.read() {
            match event {
                ObservedEvent::At(kind, path) => self.handle(kind, &path),
                ObservedEvent::Lost => self.report_everything(),
            }
        }
    }

    fn handle(&mut self, kind: PathChange, path: &Path) {
        let now = Instant::now();
        let mut refreshed = Vec::new();
        for (id, watch) in &mut self.watches {
            let effect = watch.target.effect(kind, path);
            if let Some(changed) = effect.changed {
                watch.batch.add(changed, now);
            }
            if effect.refresh {
                refreshed.push(*id);
            }
        }
        if refreshed.is_empty() {
            return;
        }
        // The system's watch belongs to the file that stood here before.
        if let Some(observers) = self.observers.remove(path) {
            self.observer.unwatch(path);
            refreshed.extend(observers);
        }
        refreshed.sort_unstable();
        refreshed.dedup();
        for id in refreshed {
            self.refresh(id);
        }
    }

    /// Updates the observed folders. A path that has appeared or disappeared since is reported.
    fn refresh(&mut self, id: u64) {
        self.stop_observing(id);
        // A path that can no longer be observed stays watched: the folders above may still be.
        self.observe(id).ok();
        if let Some(watch) = self.watches.get_mut(&id) {
            let exists = watch.target.exists();
            if exists != watch.existed {
                watch.existed = exists;
                let path = watch.target.path().to_path_buf();
                watch.batch.add(path, Instant::now());
            }
        }
    }

    /// Events were lost, so that any path may have changed.
    fn report_everything(&mut self) {
        for watch in self.watches.values_mut() {
            let path = watch.target.path().to_path_buf();
            watch.batch.add(path, Instant::now());
        }
    }

    fn take_batches(&mut self, now: Instant) -> Vec<(Arc<Mutex<ReportFn>>, Vec<PathBuf>)> {
        let watches = self.watches.values_mut();
        let due = watches.filter_map(|watch| {
            let paths = watch.batch.take(now)?;
            Some((Arc::clone(&watch.report), paths))
        });
        due.collect()
    }

    fn next_due(&self) -> Option<Instant> {
        let watches = self.watches.values();
        watches.filter_map(|watch| watch.batch.due()).min()
    }
}

fn is_not_found(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
