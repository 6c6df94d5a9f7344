//! The thread that writes all rollouts.
//!
//! One for the whole process, fed by a queue; sessions come and go. What is appended to a file within a
//! moment is one write, in the order sent: lines come in bursts, and waking a thread costs more than
//! writing a line. Whoever flushes does not wait for that moment. What could not be written is kept and
//! tried again with what comes next for the same file, in front of it; the failure is told to whoever
//! flushes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::amend::ends_a_line;
use crate::chain::Chain;
use crate::claim::Returning;

/// Files kept open. Above it, one that is not needed now is closed.
const OPEN_FILES: usize = 64;
/// What is kept for a file that cannot be written. Above it the oldest part is given up.
const BACKLOG: usize = 16 * 1024 * 1024;

/// How long what is appended may wait for more.
const GATHER: Duration = Duration::from_millis(10);

/// What the thread is asked to do.
pub(crate) enum Order {
    /// Append to a file. Bounded by its senders: a session flushes at the end of every turn.
    Append { path: PathBuf, bytes: Vec<u8> },
    /// Append the beginning of another file.
    Copy {
        path: PathBuf,
        source: PathBuf,
        length: u64,
    },
    /// Say when everything before is written.
    Flush {
        path: PathBuf,
        done: oneshot::Sender<io::Result<()>>,
    },
    /// Give the right to write a file back, once everything before is written.
    Return { path: PathBuf, right: Returning },
    /// Forget a file.
    Close { path: PathBuf },
}

/// The handle of the writing thread. It ends when the last handle and the last log are gone.
#[derive(Clone, Debug)]
pub struct Writer {
    orders: Sender<Order>,
    thread: Thread,
    /// Set where what was sent is not to wait for more.
    hurry: Arc<AtomicBool>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> io::Result<Self> {
        Self::start_heard(Box::new(|_| {}))
    }

    /// Starts the thread, and tells `heard` of each file that was written to: when it is flushed,
    /// before whoever flushes knows, and when it is closed.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start_heard(heard: Heard) -> io::Result<Self> {
        let (orders, received) = channel();
        let mut files = Files {
            open: HashMap::new(),
            gathered: HashMap::new(),
            backlog: HashMap::new(),
            untold: HashSet::new(),
            heard,
        };
        let hurry = Arc::new(AtomicBool::new(false));
        let hurried = Arc::clone(&hurry);
        let thread = thread::Builder::new()
            .name("rollout-writer".to_owned())
            .spawn(move || files.serve(&received, &hurried))?;
        Ok(Self {
            orders,
            thread: thread.thread().clone(),
            hurry,
        })
    }

    pub(crate) fn send(&self, order: Order) -> bool {
        let hurries = !matches!(order, Order::Append { .. });
        let sent = self.orders.send(order).is_ok();
        if hurries {
            self.hurry();
        }
        sent
    }

    /// What was sent is written at once.
    pub(crate) fn hurry(&self) {
        self.hurry.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Who is told of a file that was written to. Must not wait.
pub type Heard = Box<dyn Fn(&Path) + Send>;

struct Files {
    open: HashMap<PathBuf, File>,
    /// What is to be written next.
    gathered: HashMap<PathBuf, Vec<u8>>,
    backlog: HashMap<PathBuf, Backlog>,
    /// Written to since `heard` was told.
    untold: HashSet<PathBuf>,
    heard: Heard,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").finish_non_exhaustive()
    }
}

struct Backlog {
    bytes: Vec<u8>,
    error: io::Error,
}

impl Files {
    fn serve(&mut self, orders: &Receiver<Order>, hurry: &AtomicBool) {
        while let Ok(first) = orders.recv() {
            let until = Instant::now() + GATHER;
            while !hurry.swap(false, Ordering::Acquire)
                && let Some(left) = until.checked_duration_since(Instant::now())
            {
                thread::park_timeout(left);
            }
            self.take(first);
            orders.try_iter().for_each(|order| self.take(order));
            for (path, bytes) in std::mem::take(&mut self.gathered) {
                self.append(path, bytes);
            }
        }
    }

    fn take(&mut self, order: Order) {
        let (Order::Append { path, .. }
        | Order::Copy { path, .. }
        | Order::Flush { path, .. }
        | Order::Return { path, .. }
        | Order::Close { path }) = &order;
        if !matches!(order, Order::Append { .. })
            && let Some((path, bytes)) = self.gathered.remove_entry(path)
        {
            self.append(path, bytes);
        }
        match order {
            Order::Append { path, bytes } => match self.gathered.entry(path) {
                Entry::Occupied(mut gathered) => gathered.get_mut().extend_from_slice(&bytes),
                Entry::Vacant(first) => {
                    first.insert(bytes);
                }
            },
            Order::Copy {
                path,
                source,
                length,
            } => self.copy(path, &source, length),
            Order::Flush { path, done } => {
                let _ = done.send(self.flush(path));
            }
            Order::Return { path, right } => {
                // What could not be written is still to come.
                if !self.backlog.contains_key(&path) {
                    right.complete(&path);
                }
            }
            Order::Close { path } => {
                self.tell(&path);
                self.open.remove(&path);
                self.backlog.remove(&path);
            }
        }
    }

    /// What cannot be copied is told to whoever flushes; it is not tried again.
    fn copy(&mut self, path: PathBuf, source: &Path, length: u64) {
        let opened = self.write(&path, &[]).map_err(|failed| failed.error);
        let copied = opened.and_then(|()| match self.open.get_mut(&path) {
            Some(file) => Chain::open(source)?.copy(length, file),
            None => Ok(()),
        });
        match copied {
            Ok(()) => drop(self.untold.insert(path)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot copy a rollout");
                let bytes = Vec::new();
                self.backlog.insert(path, Backlog { bytes, error });
            }
        }
    }

    fn append(&mut self, path: PathBuf, bytes: Vec<u8>) {
        let bytes = match self.backlog.remove(&path) {
            Some(mut backlog) => {
                backlog.bytes.extend_from_slice(&bytes);
                backlog.bytes
            }
            None => bytes,
        };
        match self.write(&path, &bytes) {
            Ok(()) => {
                self.untold.insert(path);
            }
            Err(Unwritten { from, error }) => {
                tracing::warn!(path = %path.display(), %error, "cannot write a rollout");
                self.open.remove(&path);
                let rest = bytes.get(from..).unwrap_or_default();
                let bytes = newest_lines(rest).to_vec();
                self.backlog.insert(path, Backlog { bytes, error });
            }
        }
    }

    fn flush(&mut self, path: PathBuf) -> io::Result<()> {
        if self.backlog.contains_key(&path) {
            self.append(path.clone(), Vec::new());
        }
        self.tell(&path);
        match self.backlog.get(&path) {
            Some(backlog) => Err(io::Error::new(
                backlog.error.kind(),
                backlog.error.to_string(),
            )),
            None => Ok(()),
        }
    }

    fn tell(&mut self, path: &Path) {
        if self.untold.remove(path) {
            (self.heard)(path);
        }
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Unwritten> {
        let unwritten = |from| move |error| Unwritten { from, error };
        if !self.open.contains_key(path) {
            if self.open.len() >= OPEN_FILES {
                self.open.clear();
            }
            let file = open(path).map_err(unwritten(0))?;
            self.open.insert(path.to_owned(), file);
        }
        let Some(file) = self.open.get_mut(path) else {
            return Ok(());
        };
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => return Err(unwritten(written)(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unwritten(written)(error)),
            }
        }
        Ok(())
    }
}

struct Unwritten {
    from: usize,
    error: io::Error,
}

/// The part of `bytes` that fits into the backlog, from the start of a line.
fn newest_lines(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= BACKLOG {
        return bytes;
    }
    let tail = &bytes[bytes.len() - BACKLOG..];
    let start = tail
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(tail.len(), |end| end + 1);
    &tail[start..]
}

/// Opens for appending, on a line of its own if the last one was torn.
fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        codex_private_files::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = codex_private_files::open(path, &mut options)?;
    if !ends_a_line(&mut file)? {
        file.write_all(b"\n")?;
    }
    Ok(file)
}
