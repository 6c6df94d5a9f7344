//! The thread that writes all rollouts.
//!
//! There is one per process, fed by a queue. Everything appended to a file within [`GATHER`] becomes one
//! write, in order: lines come in bursts, and waking a thread costs more than writing a line. A flush does not
//! wait for that time. What cannot be written is kept and tried again before the next write to the same
//! file; the error is returned by the next flush.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::amend::ends_a_line;
use crate::chain::RolloutChain;
use crate::claim::PendingRelease;
use crate::ordinals::{
    begin_with_ordinal, first_line_length, has_ordinals, next_ordinal, number_lines,
};
use crate::synchroniser::Synchroniser;

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
    requests: UnboundedSender<WriteRequest>,
    thread: Thread,
    /// Set when the queue must be written without waiting for more.
    urgent: Arc<AtomicBool>,
    pub(crate) synchroniser: Synchroniser,
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
        let (requests, mut received) = unbounded_channel();
        let synchroniser = Synchroniser::start()?;
        let mut files = WriterFiles {
            open: HashMap::new(),
            gathered: HashMap::new(),
            backlog: HashMap::new(),
            numbers: HashMap::new(),
            unreported: HashSet::new(),
            observer,
            synchroniser: synchroniser.clone(),
        };
        let urgent = Arc::new(AtomicBool::new(false));
        let urgency = Arc::clone(&urgent);
        let thread = thread::Builder::new()
            .name("rollout-writer".to_owned())
            .spawn(move || files.serve(&mut received, &urgency))?;
        Ok(Self {
            requests,
            thread: thread.thread().clone(),
            urgent,
            synchroniser,
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

/// A path as it is written, which is hashed much faster than the components of a path.
type PathKey = OsString;

struct WriterFiles {
    open: HashMap<PathKey, File>,
    /// Data of the current batch.
    gathered: HashMap<PathKey, Vec<u8>>,
    backlog: HashMap<PathKey, Backlog>,
    /// The numbers of lines, by file.
    numbers: HashMap<PathKey, LineNumbers>,
    /// Files written to since the observer was last called for them.
    unreported: HashSet<PathKey>,
    observer: WriteObserver,
    synchroniser: Synchroniser,
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

/// What could not be written to a file yet.
#[derive(Default)]
struct Backlog {
    work: VecDeque<Unwritten>,
    error: Option<io::Error>,
}

/// A part of a backlog.
enum Unwritten {
    /// Lines with their numbers, where the file has any.
    Lines(Vec<u8>),
    /// The first `length` bytes of another file.
    Copy { source: PathBuf, length: u64 },
    /// Lines after a copy. Their numbers follow from it.
    LinesAfterCopy(Vec<u8>),
}

impl Backlog {
    fn has_copy(&self) -> bool {
        (self.work.iter()).any(|part| matches!(part, Unwritten::Copy { .. }))
    }

    /// The length of the lines that have their numbers.
    fn numbered_length(&self) -> u64 {
        let length = |part: &Unwritten| match part {
            Unwritten::Lines(bytes) => bytes.len() as u64,
            Unwritten::Copy { .. } | Unwritten::LinesAfterCopy(_) => 0,
        };
        self.work.iter().map(length).sum()
    }

    /// Adds lines at the end, and drops the oldest of them above the limit.
    fn add_lines(&mut self, bytes: Vec<u8>) {
        match self.work.back_mut() {
            Some(Unwritten::Lines(last) | Unwritten::LinesAfterCopy(last)) => {
                last.extend_from_slice(&bytes);
                if last.len() > BACKLOG {
                    *last = newest_lines(last).to_vec();
                }
            }
            Some(Unwritten::Copy { .. }) => self.work.push_back(Unwritten::LinesAfterCopy(bytes)),
            None => self.work.push_back(Unwritten::Lines(bytes)),
        }
    }
}

impl WriterFiles {
    fn serve(&mut self, requests: &mut UnboundedReceiver<WriteRequest>, urgent: &AtomicBool) {
        while let Some(first) = requests.blocking_recv() {
            let until = Instant::now() + GATHER;
            while !urgent.swap(false, Ordering::Acquire)
                && let Some(left) = until.checked_duration_since(Instant::now())
            {
                thread::park_timeout(left);
            }
            self.take(first);
            while let Ok(request) = requests.try_recv() {
                self.take(request);
            }
            for (path, bytes) in std::mem::take(&mut self.gathered) {
                self.append(path.into(), bytes);
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
            && let Some((path, bytes)) = self.gathered.remove_entry(path.as_os_str())
        {
            self.append(path.into(), bytes);
        }
        match request {
            WriteRequest::Append { path, bytes } => match self.gathered.entry(path.into()) {
                Entry::Occupied(mut gathered) => gathered.get_mut().extend_from_slice(&bytes),
                Entry::Vacant(first) => {
                    first.insert(bytes);
                }
            },
            WriteRequest::Copy {
                path,
                source,
                length,
            } => self.copy(path, source, length),
            WriteRequest::Flush { path, done } => {
                let _ = done.send(self.flush(path));
            }
            WriteRequest::Return { path, right } => {
                // The earlier data could not be written, so the backlog goes first.
                if !self.backlog.contains_key(path.as_os_str()) {
                    right.complete(&path);
                }
            }
            WriteRequest::Close { path } => {
                self.report(&path);
                self.open.remove(path.as_os_str());
                self.backlog.remove(path.as_os_str());
                self.numbers.remove(path.as_os_str());
            }
        }
    }

    /// Adds the numbers of lines, where the file has them. `waiting` is the length of the lines before them that are not written.
    fn numbered(&mut self, path: &Path, waiting: u64, bytes: Vec<u8>) -> Vec<u8> {
        if bytes.is_empty() {
            return bytes;
        }
        let known = self.numbers.get(path.as_os_str()).copied();
        if known.is_some_and(|known| known.next.is_none()) {
            return bytes;
        }
        let written = path.metadata().map_or(0, |metadata| metadata.len());
        let length = written + waiting;
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
            .insert(path.into(), LineNumbers { next, length });
        bytes
    }

    fn copy(&mut self, path: PathBuf, source: PathBuf, length: u64) {
        let mut backlog = self.backlog.remove(path.as_os_str()).unwrap_or_default();
        backlog.work.push_back(Unwritten::Copy { source, length });
        self.work_off(path, backlog);
    }

    fn append(&mut self, path: PathBuf, bytes: Vec<u8>) {
        let mut backlog = self.backlog.remove(path.as_os_str()).unwrap_or_default();
        let bytes = if backlog.has_copy() {
            bytes
        } else {
            self.numbered(&path, backlog.numbered_length(), bytes)
        };
        backlog.add_lines(bytes);
        self.work_off(path, backlog);
    }

    /// Writes what waits for a file, up to the first part that cannot be written.
    fn work_off(&mut self, path: PathBuf, mut backlog: Backlog) {
        while let Some(part) = backlog.work.pop_front() {
            let failed = match part {
                Unwritten::Lines(bytes) => self.write(&path, &bytes).err().map(|failed| {
                    let rest = bytes.get(failed.from..).unwrap_or_default();
                    let rest = newest_lines(rest).to_vec();
                    (Unwritten::Lines(rest), failed.error)
                }),
                Unwritten::Copy { source, length } => {
                    let copied = self.copy_once(&path, &source, length);
                    copied
                        .err()
                        .map(|error| (Unwritten::Copy { source, length }, error))
                }
                Unwritten::LinesAfterCopy(bytes) => {
                    let bytes = self.numbered(&path, 0, bytes);
                    backlog.work.push_front(Unwritten::Lines(bytes));
                    None
                }
            };
            if let Some((rest, error)) = failed {
                tracing::warn!(path = %path.display(), %error, "cannot write a rollout");
                self.open.remove(path.as_os_str());
                backlog.work.push_front(rest);
                backlog.error = Some(error);
                self.backlog.insert(path.into(), backlog);
                return;
            }
        }
        self.synchroniser.written(&path);
        self.unreported.insert(path.into());
    }

    /// Copies part of another file, or nothing.
    fn copy_once(&mut self, path: &Path, source: &Path, length: u64) -> io::Result<()> {
        self.write(path, &[]).map_err(|failed| failed.error)?;
        let Some(file) = self.open.get_mut(path.as_os_str()) else {
            return Ok(());
        };
        // In a file with numbers the new first line takes the place of the old one, so that the rest keeps its numbers.
        let begin = if has_ordinals(path) {
            first_line_length(source)?
        } else {
            0
        };
        let before = file.metadata()?.len();
        let copied = RolloutChain::open(source)?.copy(begin..length, file);
        if copied.is_err() {
            file.set_len(before)?;
        }
        copied
    }

    fn flush(&mut self, path: PathBuf) -> io::Result<()> {
        if let Some(backlog) = self.backlog.remove(path.as_os_str()) {
            self.work_off(path.clone(), backlog);
        }
        self.report(&path);
        let failed = self.backlog.get(path.as_os_str());
        match failed.and_then(|backlog| backlog.error.as_ref()) {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }

    fn report(&mut self, path: &Path) {
        if self.unreported.remove(path.as_os_str()) {
            (self.observer)(path);
        }
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), PartialWrite> {
        if !self.open.contains_key(path.as_os_str()) {
            if self.open.len() >= OPEN_FILES {
                self.open.clear();
            }
            let opened = open(path);
            let file = opened.map_err(|error| PartialWrite { from: 0, error })?;
            self.open.insert(path.into(), file);
        }
        let Some(file) = self.open.get_mut(path.as_os_str()) else {
            return Ok(());
        };
        let mut written = 0;
        while written < bytes.len() {
            let error = match file.write(&bytes[written..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    written += count;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let from = whole_lines(file, &bytes[..written]);
            return Err(PartialWrite { from, error });
        }
        Ok(())
    }
}

/// Takes the part of a line from the end of a file to which `written` was written. Returns the length of the whole lines.
fn whole_lines(file: &File, written: &[u8]) -> usize {
    let whole = memchr::memrchr(b'\n', written).map_or(0, |end| end + 1);
    let part = (written.len() - whole) as u64;
    let shortened = file
        .metadata()
        .and_then(|facts| file.set_len(facts.len().saturating_sub(part)));
    if let Err(error) = shortened {
        // The part becomes a line of its own, which readers skip.
        tracing::warn!(%error, "a part of a line stays in a rollout");
    }
    whole
}

/// What cannot be read is taken for a file without numbers.
fn next_ordinal_of(path: &Path) -> Option<u64> {
    let mut file = codex_regular_file::open(path).ok()?;
    next_ordinal(&mut file).ok().flatten()
}

/// What a failed write has not written.
struct PartialWrite {
    /// The offset of the first line that is not there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_last_line_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        std::fs::write(&path, "a\nb\npart").unwrap();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(whole_lines(&file, b"b\npart"), 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\n");
        assert_eq!(whole_lines(&file, b"b\n"), 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\n");
    }
}
