//! The thread that writes all rollouts.
//!
//! There is one per process, fed by a queue. Everything appended to a file within [`GATHER`] becomes one
//! write, in order: lines come in bursts, and waking a thread costs more than writing a line. A flush does not
//! wait for that time. Data that cannot be written is kept and retried before the next write to the same
//! file; the error is returned by the next flush.

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
use crate::chain::RolloutChain;
use crate::claim::PendingRelease;
use crate::ordinals::{
    begin_with_ordinal, first_line_length, has_ordinals, next_ordinal, number_lines,
};

/// Limit on open files. Above it, a file that is not in use is closed.
const OPEN_FILES: usize = 64;
/// Limit on the data kept for a file that cannot be written. Above it the oldest lines are dropped.
const BACKLOG: usize = 16 * 1024 * 1024;

/// How long appended data may wait for more.
const GATHER: Duration = Duration::from_millis(10);

/// A request to the writer thread.
pub(crate) enum WriteRequest {
    /// Append to a file. The amount is bounded by the senders: a session flushes at the end of every turn.
    Append { path: PathBuf, bytes: Vec<u8> },
    /// Append the first `length` bytes of another file.
    Copy {
        path: PathBuf,
        source: PathBuf,
        length: u64,
    },
    /// Reply when everything before this request is written.
    Flush {
        path: PathBuf,
        done: oneshot::Sender<io::Result<()>>,
    },
    /// Release a lock once everything before this request is written.
    Return {
        path: PathBuf,
        right: PendingRelease,
    },
    /// Close a file.
    Close { path: PathBuf },
}

/// The handle of the writer thread, which ends when the last handle and the last log are dropped.
#[derive(Clone, Debug)]
pub struct RolloutWriter {
    requests: Sender<WriteRequest>,
    thread: Thread,
    /// Set when the queue must be written without waiting for more.
    urgent: Arc<AtomicBool>,
}

impl RolloutWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start() -> io::Result<Self> {
        Self::start_observed(Box::new(|_| {}))
    }

    /// Starts the thread. `observer` is called for each file that was written to: before a flush returns, and
    /// when the file is closed.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_observed(observer: WriteObserver) -> io::Result<Self> {
        let (requests, received) = channel();
        let mut files = WriterFiles {
            open: HashMap::new(),
            gathered: HashMap::new(),
            backlog: HashMap::new(),
            numbers: HashMap::new(),
            unreported: HashSet::new(),
            observer,
        };
        let urgent = Arc::new(AtomicBool::new(false));
        let urgency = Arc::clone(&urgent);
        let thread = thread::Builder::new()
            .name("rollout-writer".to_owned())
            .spawn(move || files.serve(&received, &urgency))?;
        Ok(Self {
            requests,
            thread: thread.thread().clone(),
            urgent,
        })
    }

    pub(crate) fn send(&self, request: WriteRequest) -> bool {
        let is_urgent = !matches!(request, WriteRequest::Append { .. });
        let sent = self.requests.send(request).is_ok();
        if is_urgent {
            self.urgent();
        }
        sent
    }

    /// Writes the queue without waiting for more.
    pub(crate) fn urgent(&self) {
        self.urgent.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Called with the path of a file that was written to. Must not block.
pub type WriteObserver = Box<dyn Fn(&Path) + Send>;

struct WriterFiles {
    open: HashMap<PathBuf, File>,
    /// Data of the current batch.
    gathered: HashMap<PathBuf, Vec<u8>>,
    backlog: HashMap<PathBuf, Backlog>,
    /// The numbers of lines, by file.
    numbers: HashMap<PathBuf, LineNumbers>,
    /// Files written to since the observer was last called for them.
    unreported: HashSet<PathBuf>,
    observer: WriteObserver,
}

impl fmt::Debug for WriterFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").finish_non_exhaustive()
    }
}

/// The next number of a file's lines; none if they have none.
#[derive(Clone, Copy)]
struct LineNumbers {
    next: Option<u64>,
    /// The length of the file for which this holds, with what is not written yet.
    length: u64,
}

struct Backlog {
    bytes: Vec<u8>,
    error: io::Error,
}

impl WriterFiles {
    fn serve(&mut self, requests: &Receiver<WriteRequest>, urgent: &AtomicBool) {
        while let Ok(first) = requests.recv() {
            let until = Instant::now() + GATHER;
            while !urgent.swap(false, Ordering::Acquire)
                && let Some(left) = until.checked_duration_since(Instant::now())
            {
                thread::park_timeout(left);
            }
            self.take(first);
            requests.try_iter().for_each(|request| self.take(request));
            for (path, bytes) in std::mem::take(&mut self.gathered) {
                self.append(path, bytes);
            }
        }
    }

    fn take(&mut self, request: WriteRequest) {
        let (WriteRequest::Append { path, .. }
        | WriteRequest::Copy { path, .. }
        | WriteRequest::Flush { path, .. }
        | WriteRequest::Return { path, .. }
        | WriteRequest::Close { path }) = &request;
        if !matches!(request, WriteRequest::Append { .. })
            && let Some((path, bytes)) = self.gathered.remove_entry(path)
        {
            self.append(path, bytes);
        }
        match request {
            WriteRequest::Append { path, bytes } => match self.gathered.entry(path) {
                Entry::Occupied(mut gathered) => gathered.get_mut().extend_from_slice(&bytes),
                Entry::Vacant(first) => {
                    first.insert(bytes);
                }
            },
            WriteRequest::Copy {
                path,
                source,
                length,
            } => self.copy(path, &source, length),
            WriteRequest::Flush { path, done } => {
                let _ = done.send(self.flush(path));
            }
            WriteRequest::Return { path, right } => {
                // The earlier data could not be written, so the backlog goes first.
                if !self.backlog.contains_key(&path) {
                    right.complete(&path);
                }
            }
            WriteRequest::Close { path } => {
                self.report(&path);
                self.open.remove(&path);
                self.backlog.remove(&path);
                self.numbers.remove(&path);
            }
        }
    }

    /// Adds the numbers of lines, where the file has them.
    fn numbered(&mut self, path: &Path, bytes: Vec<u8>) -> Vec<u8> {
        if bytes.is_empty() {
            return bytes;
        }
        let known = self.numbers.get(path).copied();
        if known.is_some_and(|known| known.next.is_none()) {
            return bytes;
        }
        let waiting = self
            .backlog
            .get(path)
            .map_or(0, |backlog| backlog.bytes.len());
        let written = path.metadata().map_or(0, |metadata| metadata.len());
        let length = written + waiting as u64;
        // Another process may have added lines since.
        let next = match known {
            Some(known) if known.length == length => known.next,
            _ if length == 0 => begin_with_ordinal(&bytes).then_some(0),
            _ => next_ordinal_of(path),
        };
        let (next, bytes) = match next {
            None => (None, bytes),
            Some(mut next) => {
                let bytes = number_lines(&bytes, &mut next);
                (Some(next), bytes)
            }
        };
        let length = length + bytes.len() as u64;
        self.numbers
            .insert(path.to_owned(), LineNumbers { next, length });
        bytes
    }

    /// Copies part of another file. An error is returned by the next flush; the copy is not retried.
    fn copy(&mut self, path: PathBuf, source: &Path, length: u64) {
        let opened = self.write(&path, &[]).map_err(|failed| failed.error);
        let copied = opened.and_then(|()| match self.open.get_mut(&path) {
            Some(file) => {
                // In a file with numbers the new first line takes the place of the old one, so that the rest keeps its numbers.
                let begin = if has_ordinals(&path) {
                    first_line_length(source)?
                } else {
                    0
                };
                RolloutChain::open(source)?.copy(begin..length, file)
            }
            None => Ok(()),
        });
        match copied {
            Ok(()) => drop(self.unreported.insert(path)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot copy a rollout");
                let bytes = Vec::new();
                self.backlog.insert(path, Backlog { bytes, error });
            }
        }
    }

    fn append(&mut self, path: PathBuf, bytes: Vec<u8>) {
        let bytes = self.numbered(&path, bytes);
        let bytes = match self.backlog.remove(&path) {
            Some(mut backlog) => {
                backlog.bytes.extend_from_slice(&bytes);
                backlog.bytes
            }
            None => bytes,
        };
        match self.write(&path, &bytes) {
            Ok(()) => {
                self.unreported.insert(path);
            }
            Err(PartialWrite { from, error }) => {
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
        self.report(&path);
        match self.backlog.get(&path) {
            Some(backlog) => Err(io::Error::new(
                backlog.error.kind(),
                backlog.error.to_string(),
            )),
            None => Ok(()),
        }
    }

    fn report(&mut self, path: &Path) {
        if self.unreported.remove(path) {
            (self.observer)(path);
        }
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), PartialWrite> {
        let unwritten = |from| move |error| PartialWrite { from, error };
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

/// What cannot be read is taken for a file without numbers.
fn next_ordinal_of(path: &Path) -> Option<u64> {
    let mut file = codex_regular_file::open(path).ok()?;
    next_ordinal(&mut file).ok().flatten()
}

struct PartialWrite {
    from: usize,
    error: io::Error,
}

/// The newest part of `bytes` that fits into the backlog, from the start of a line.
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

/// Opens a file for appending, after a line break if its last line is incomplete.
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
