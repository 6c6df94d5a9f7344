//! The worker thread that owns all watches.
//!
//! It owns the system's watcher too: that one's thread only hands events over, so that neither waits
//! for the other.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Instant;

use notify::{Error, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::batch::Batch;
use crate::target::Target;

/// Events that wait for the worker. When more come, every watched path is reported as changed.
const EVENTS_LIMIT: usize = 4096;

/// How often the folders of a path are looked at again because they changed meanwhile.
const OBSERVE_ATTEMPTS: usize = 100;

/// Watches paths. One is enough for a program: it keeps two threads.
#[derive(Debug)]
pub struct Watcher {
    messages: SyncSender<Message>,
}

/// A path that is watched until this is dropped.
#[derive(Debug)]
pub struct Watch {
    id: u64,
    messages: SyncSender<Message>,
}

type Report = Box<dyn FnMut(Vec<PathBuf>) + Send>;

enum Message {
    Add {
        target: Target,
        report: Report,
        reply: SyncSender<io::Result<u64>>,
    },
    Remove(u64),
    Event(notify::Result<Event>),
    Stop,
}

impl Watcher {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no more watchers, or no more threads.
    pub fn new() -> io::Result<Self> {
        let (messages, inbox) = sync_channel(EVENTS_LIMIT);
        let has_lost = Arc::new(AtomicBool::new(false));
        let system = notify::recommended_watcher({
            let (messages, has_lost) = (messages.clone(), Arc::clone(&has_lost));
            move |event| {
                if let Err(TrySendError::Full(_)) = messages.try_send(Message::Event(event)) {
                    has_lost.store(true, Ordering::Relaxed);
                }
            }
        });
        let worker = Worker {
            system: system.map_err(io_error)?,
            watches: HashMap::new(),
            observers: HashMap::new(),
            next: 0,
            has_lost,
        };
        let thread = std::thread::Builder::new().name("file-watch".to_owned());
        thread.spawn(move || worker.work(&inbox))?;
        Ok(Self { messages })
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
        let (reply, answer) = sync_channel(1);
        let message = Message::Add {
            target: Target::new(path),
            report: Box::new(report),
            reply,
        };
        let stopped = || io::Error::other("the file watcher has stopped");
        self.messages.send(message).map_err(|_| stopped())?;
        let id = answer.recv().map_err(|_| stopped())??;
        let messages = self.messages.clone();
        Ok(Watch { id, messages })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.messages.send(Message::Stop).ok();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.messages.send(Message::Remove(self.id)).ok();
    }
}

struct Worker {
    system: RecommendedWatcher,
    watches: HashMap<u64, WatchedPath>,
    /// The watches that need a path to be observed.
    observers: HashMap<PathBuf, Vec<u64>>,
    next: u64,
    /// Events were dropped because too many were waiting.
    has_lost: Arc<AtomicBool>,
}

struct WatchedPath {
    target: Target,
    existed: bool,
    batch: Batch,
    report: Report,
}

impl Worker {
    fn work(mut self, inbox: &Receiver<Message>) {
        loop {
            let due = self.watches.values().filter_map(|watch| watch.batch.due());
            let message = match due.min() {
                Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Add {
                    target,
                    report,
                    reply,
                }) => {
                    reply.send(self.add(target, report)).ok();
                }
                Ok(Message::Remove(id)) => {
                    self.stop_observing(id);
                    self.watches.remove(&id);
                }
                Ok(Message::Event(event)) => self.handle(event),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.has_lost.swap(false, Ordering::Relaxed) {
                self.report_everything();
            }
            let now = Instant::now();
            for watch in self.watches.values_mut() {
                if let Some(paths) = watch.batch.take(now) {
                    (watch.report)(paths);
                }
            }
        }
    }

    fn add(&mut self, target: Target, report: Report) -> io::Result<u64> {
        let id = self.next;
        self.next += 1;
        let watch = WatchedPath {
            existed: target.exists(),
            target,
            batch: Batch::default(),
            report,
        };
        self.watches.insert(id, watch);
        match self.observe(id) {
            Ok(()) => Ok(id),
            Err(error) => {
                self.stop_observing(id);
                self.watches.remove(&id);
                Err(error)
            }
        }
    }

    /// Observes the folders that a watch needs at present.
    fn observe(&mut self, id: u64) -> io::Result<()> {
        for _ in 0..OBSERVE_ATTEMPTS {
            let Some(watch) = self.watches.get(&id) else {
                return Ok(());
            };
            let paths = watch.target.observed_paths();
            self.observe_paths(id, &paths)?;
            // What was made or removed before the system observed it is not reported.
            let is_current = |watch: &WatchedPath| watch.target.observed_paths() == paths;
            if self.watches.get(&id).is_none_or(is_current) {
                return Ok(());
            }
            self.stop_observing(id);
        }
        Err(io::Error::other("the folders of the path keep changing"))
    }

    fn observe_paths(&mut self, id: u64, paths: &[PathBuf]) -> io::Result<()> {
        for path in paths {
            if let Some(observers) = self.observers.get_mut(path) {
                observers.push(id);
                continue;
            }
            match self.system.watch(path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.observers.insert(path.clone(), vec![id]);
                }
                Err(error) if is_not_found(&error) => {}
                Err(error) => return Err(io_error(error)),
            }
        }
        Ok(())
    }

    fn stop_observing(&mut self, id: u64) {
        let system = &mut self.system;
        self.observers.retain(|path, observers| {
            observers.retain(|observer| *observer != id);
            if observers.is_empty() {
                // Fails if the path is gone already.
                system.unwatch(path).ok();
            }
            !observers.is_empty()
        });
    }

    fn handle(&mut self, event: notify::Result<Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.report_everything(),
            Ok(event) => {
                for path in &event.paths {
                    self.handle_change(event.kind, path);
                }
            }
            Err(_) => self.report_everything(),
        }
    }

    fn handle_change(&mut self, kind: notify::EventKind, path: &Path) {
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
            self.system.unwatch(path).ok();
            refreshed.extend(observers);
        }
        refreshed.sort_unstable();
        refreshed.dedup();
        for id in refreshed {
            self.refresh(id);
        }
    }

    /// Observes the folders as they are now. A path that appeared or disappeared meanwhile has
    /// changed.
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
}

fn is_not_found(error: &Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
        _ => false,
    }
}

fn io_error(error: Error) -> io::Error {
    match error.kind {
        ErrorKind::Io(error) => error,
        _ => io::Error::other(error),
    }
}
