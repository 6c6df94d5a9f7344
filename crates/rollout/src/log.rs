//! The log that a session appends to.
//!
//! The file is created when it is first needed ([`RolloutLog::materialise`]). Until then the lines are kept in
//! memory, so a thread that is never used leaves no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codex_protocol::GitInfo;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::claim::{ClaimError, WriteClaim};
use crate::line::{LineKind, encode};
use crate::ordinals::{has_ordinals, number_lines};
use crate::path::RolloutPath;
use crate::writer::{RolloutWriter, WriteRequest};

/// Why lines could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RolloutWriteError {
    /// An operating system error. The lines are kept and retried.
    #[error("cannot write {path}: {source}")]
    Io {
        path: String,
        /// The underlying error.
        source: std::io::Error,
    },
    /// The writer thread has ended.
    #[error("the rollout writer has stopped")]
    Stopped,
}

/// The rollout log of one thread.
#[derive(Debug)]
pub struct RolloutLog {
    writer: RolloutWriter,
    place: RolloutPath,
    state: LogState,
    claim: Option<WriteClaim>,
    /// Whether the claim is held until [`Self::release`], not only for the next line.
    is_claimed: bool,
    /// Whether it is held until the log is dropped.
    is_held: bool,
    /// Whether the lines of the file have numbers.
    is_numbered: bool,
    /// How many requests for the file were sent to the writer, also in vain.
    requests: u64,
    /// How many of them are known to be written.
    written: Arc<AtomicU64>,
}

#[derive(Debug)]
enum LogState {
    /// There is no file yet.
    PendingEntry(Vec<PendingEntry>),
    Written,
}

/// An entry that is written when the file is created.
#[derive(Debug)]
enum PendingEntry {
    /// An encoded payload. It gets the time of materialisation.
    Line(LineKind, Vec<u8>),
    /// The first `length` bytes of another file.
    Copy { source: PathBuf, length: u64 },
}

impl RolloutLog {
    /// The log of a new thread. Nothing is written before it is materialised.
    #[must_use]
    pub fn deferred(writer: RolloutWriter, place: RolloutPath) -> Self {
        Self {
            writer,
            place,
            state: LogState::PendingEntry(Vec::new()),
            claim: None,
            is_claimed: false,
            is_held: false,
            is_numbered: false,
            requests: 0,
            written: Arc::default(),
        }
    }

    /// Has the lines of a new file numbered.
    #[must_use]
    pub fn numbered(mut self, is_numbered: bool) -> Self {
        self.is_numbered = is_numbered;
        self
    }

    /// Whether the lines of the file have numbers.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// The log of an existing file.
    #[must_use]
    pub fn existing(writer: RolloutWriter, place: RolloutPath) -> Self {
        Self {
            is_numbered: has_ordinals(place.path()),
            writer,
            place,
            state: LogState::Written,
            claim: None,
            is_claimed: false,
            is_held: false,
            requests: 0,
            written: Arc::default(),
        }
    }

    /// Adds a claim, which is acquired before anything is written.
    #[must_use]
    pub fn claimed(mut self, claim: WriteClaim) -> Self {
        self.claim = Some(claim);
        self
    }

    /// Acquires the right to write the thread until [`Self::release`]. Call this before appending: lines that
    /// are appended while another process holds the right are lost.
    ///
    /// # Errors
    /// Another process writes the thread, or has changed it.
    pub fn claim(&mut self) -> Result<(), ClaimError> {
        self.acquire()?;
        self.is_claimed = true;
        Ok(())
    }

    /// Acquires the right to write the thread until the log is dropped.
    ///
    /// # Errors
    /// Another process writes the thread, or has changed it.
    pub fn hold(&mut self) -> Result<(), ClaimError> {
        self.acquire()?;
        self.is_held = true;
        Ok(())
    }

    /// Releases the right to write once everything appended so far is in the file, unless the log holds it.
    pub fn release(&mut self) {
        self.is_claimed = false;
        if self.is_held || !self.is_materialised() {
            return;
        }
        if let Some(right) = self.claim.as_mut().and_then(WriteClaim::release) {
            let path = self.path().to_owned();
            self.writer.send(WriteRequest::Return { path, right });
        }
    }

    fn acquire(&mut self) -> Result<(), ClaimError> {
        match &mut self.claim {
            Some(claim) => claim.acquire(self.place.path()),
            None => Ok(()),
        }
    }

    /// The path of the file, which may not exist yet.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether the file exists or is about to be created.
    #[must_use]
    pub fn is_materialised(&self) -> bool {
        matches!(self.state, LogState::Written)
    }

    /// Appends a line.
    pub fn append(&mut self, at: Timestamp, kind: LineKind, payload: &impl Serialize) {
        match serde_json::to_vec(payload) {
            Ok(payload) => self.append_json(at, kind, payload),
            Err(error) => tracing::error!(%error, "a rollout line cannot be written as JSON"),
        }
    }

    /// Appends a line whose payload is already encoded as JSON.
    pub fn append_json(&mut self, at: Timestamp, kind: LineKind, payload: Vec<u8>) {
        match &mut self.state {
            LogState::PendingEntry(pending) => pending.push(PendingEntry::Line(kind, payload)),
            LogState::Written => {
                let mut bytes = Vec::new();
                encode(&mut bytes, at, kind, &payload);
                self.send(bytes);
            }
        }
    }

    /// Appends the first `length` bytes of another file, which must be whole lines.
    pub fn append_copy(&mut self, source: PathBuf, length: u64) {
        match &mut self.state {
            LogState::PendingEntry(pending) => pending.push(PendingEntry::Copy { source, length }),
            LogState::Written => self.copy(source, length),
        }
    }

    /// Creates the file with all pending entries. Adds `git` to the metadata line.
    pub fn materialise(&mut self, at: Timestamp, git: Option<&GitInfo>) {
        let LogState::PendingEntry(mut pending) =
            std::mem::replace(&mut self.state, LogState::Written)
        else {
            return;
        };
        if let (Some(git), Some(PendingEntry::Line(LineKind::SessionMeta, meta))) =
            (git, pending.first_mut())
        {
            add_git_facts(meta, git);
        }
        let mut bytes = Vec::new();
        let mut is_first = self.is_numbered;
        for pending in pending {
            match pending {
                PendingEntry::Line(kind, payload) => {
                    encode(&mut bytes, at, kind, &payload);
                    // The first number tells the writer that the file has them.
                    if std::mem::take(&mut is_first) {
                        bytes = number_lines(&bytes, &mut 0);
                    }
                }
                PendingEntry::Copy { source, length } => {
                    self.send(std::mem::take(&mut bytes));
                    self.copy(source, length);
                }
            }
        }
        self.send(bytes);
        // Clients that learn about the thread must find its file.
        self.writer.urgent();
    }

    /// The lines that wait for the file, as they would be written now. None if there is a file.
    #[must_use]
    pub fn waiting_lines(&self, at: Timestamp) -> Option<Vec<u8>> {
        let LogState::PendingEntry(pending) = &self.state else {
            return None;
        };
        let mut bytes = Vec::new();
        for entry in pending {
            if let PendingEntry::Line(kind, payload) = entry {
                encode(&mut bytes, at, *kind, payload);
            }
        }
        Some(if self.is_numbered {
            number_lines(&bytes, &mut 0)
        } else {
            bytes
        })
    }

    /// Waits until everything appended so far has been handed to the operating system.
    ///
    /// # Errors
    /// A line could not be written.
    pub fn flush(&self) -> impl Future<Output = Result<(), RolloutWriteError>> + Send + use<> {
        let path = self.path().to_owned();
        let (requests, written) = (self.requests, Arc::clone(&self.written));
        let is_unwritten = written.load(Ordering::Acquire) < requests;
        let waiting = (self.is_materialised() && is_unwritten).then(|| {
            let (done, finished) = oneshot::channel();
            self.writer.send(WriteRequest::Flush {
                path: path.clone(),
                done,
            });
            finished
        });
        async move {
            let Some(finished) = waiting else {
                return Ok(());
            };
            let result = finished.await.map_err(|_| RolloutWriteError::Stopped)?;
            if result.is_ok() {
                written.fetch_max(requests, Ordering::AcqRel);
            }
            let path = path.display().to_string();
            result.map_err(|source| RolloutWriteError::Io { path, source })
        }
    }

    /// Waits until everything appended so far is on the disk, where a power cut does not take it away.
    ///
    /// # Errors
    /// A line could not be written, or the file not be synchronised.
    pub fn synchronise(
        &self,
    ) -> impl Future<Output = Result<(), RolloutWriteError>> + Send + use<> {
        let path = self.path().to_owned();
        let (flushed, synchroniser) = (self.flush(), self.writer.synchroniser.clone());
        async move {
            flushed.await?;
            let synchronised = synchroniser.synchronise(&path).await;
            let path = path.display().to_string();
            synchronised.map_err(|source| RolloutWriteError::Io { path, source })
        }
    }

    /// Something was written to another file that belongs to the thread: it is synchronised soon.
    pub fn synchronise_soon(&self, other: &Path) {
        self.writer.synchroniser.written(other);
    }

    fn send(&mut self, bytes: Vec<u8>) {
        let path = self.path().to_owned();
        self.request(WriteRequest::Append { path, bytes });
    }

    fn copy(&mut self, source: PathBuf, length: u64) {
        let path = self.path().to_owned();
        self.request(WriteRequest::Copy {
            path,
            source,
            length,
        });
    }

    fn request(&mut self, request: WriteRequest) {
        if let Err(error) = self.acquire() {
            return tracing::error!(%error, "a rollout line is lost");
        }
        self.requests += 1;
        if !self.writer.send(request) {
            tracing::error!("the rollout writer has stopped");
        }
        if !self.is_claimed {
            self.release();
        }
    }
}

/// Inserts the `git` member at the end of a JSON object.
fn add_git_facts(meta: &mut Vec<u8>, git: &GitInfo) {
    if let Ok(git) = serde_json::to_vec(git)
        && meta.pop_if(|last| *last == b'}').is_some()
    {
        meta.extend_from_slice(b",\"git\":");
        meta.extend_from_slice(&git);
        meta.push(b'}');
    }
}

impl Drop for RolloutLog {
    fn drop(&mut self) {
        self.writer.send(WriteRequest::Close {
            path: self.path().to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use serde_json::json;

    use super::*;

    fn timestamp() -> Timestamp {
        "2026-03-01T10:00:00Z".parse().unwrap()
    }

    fn log(folder: &Path) -> RolloutLog {
        RolloutLog::deferred(
            RolloutWriter::start().unwrap(),
            RolloutPath::of_file(folder.join("a/b/x.jsonl")),
        )
    }

    /// Nobody is asked, so the answer is there at once.
    #[tokio::test]
    async fn flush_without_new_lines_needs_no_writer() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        log.materialise(timestamp(), None);
        let is_answered = |log: &RolloutLog| {
            let flushed = pin!(log.flush());
            let mut context = Context::from_waker(Waker::noop());
            matches!(flushed.poll(&mut context), Poll::Ready(Ok(())))
        };
        for line in ["a", "b"] {
            log.append(timestamp(), LineKind::EventMsg, &json!({ "type": line }));
            log.flush().await.unwrap();
            let text = std::fs::read_to_string(log.path()).unwrap();
            assert!(text.contains(&format!("\"type\":\"{line}\"")), "{text}");
            assert!(is_answered(&log));
        }
    }

    #[tokio::test]
    async fn log_file_is_created_when_it_is_materialised() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        log.append(timestamp(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.flush().await.unwrap();
        assert!(!log.path().exists());
        log.materialise(timestamp(), None);
        log.append(timestamp(), LineKind::EventMsg, &json!({"type": "b"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with("\"payload\":{\"type\":\"b\"}}\n"));
    }

    #[tokio::test]
    async fn first_line_names_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        log.append(timestamp(), LineKind::SessionMeta, &json!({"id": "a"}));
        let git = GitInfo {
            branch: Some("main".to_owned()),
            ..GitInfo::default()
        };
        log.materialise(timestamp(), Some(&git));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        let expected = "\"payload\":{\"id\":\"a\",\"git\":{\"branch\":\"main\"}}}\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[tokio::test]
    async fn copied_lines_keep_their_place_in_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.jsonl");
        std::fs::write(&source, "{\"one\":1}\n{\"two\":2}\n{\"torn").unwrap();
        let mut log = log(folder.path());
        log.append(timestamp(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.append_copy(source, 20);
        log.append(timestamp(), LineKind::EventMsg, &json!({"type": "b"}));
        log.materialise(timestamp(), None);
        log.append(timestamp(), LineKind::EventMsg, &json!({"type": "c"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert_eq!(lines[1..3], ["{\"one\":1}", "{\"two\":2}"]);
        assert!(lines[0].contains("session_meta") && lines[4].contains("\"c\""));
    }

    #[tokio::test]
    async fn failed_copy_is_reported_and_keeps_line_order() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.jsonl");
        let mut log = log(folder.path());
        log.append(timestamp(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.append_copy(source.clone(), 20);
        log.materialise(timestamp(), None);
        assert!(log.flush().await.is_err());
        log.append(timestamp(), LineKind::EventMsg, &json!({"type": "b"}));
        assert!(log.flush().await.is_err());
        std::fs::write(&source, "{\"one\":1}\n{\"two\":2}\n").unwrap();
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("session_meta") && lines[3].contains("\"b\""));
        assert_eq!(lines[1..3], ["{\"one\":1}", "{\"two\":2}"]);
    }

    #[tokio::test]
    async fn a_torn_line_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        std::fs::write(&path, "{\"torn").unwrap();
        let mut log =
            RolloutLog::existing(RolloutWriter::start().unwrap(), RolloutPath::of_file(&path));
        log.append(timestamp(), LineKind::EventMsg, &json!({"type": "b"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().next(), Some("{\"torn"));
        assert!(text.lines().nth(1).unwrap().contains("\"type\":\"b\""));
    }

    #[tokio::test]
    async fn failed_log_writes_are_reported_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let blocker = folder.path().join("a");
        std::fs::write(&blocker, "a file where a folder should be").unwrap();
        let mut log = log(folder.path());
        log.append(timestamp(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.materialise(timestamp(), None);
        assert!(matches!(
            log.flush().await,
            Err(RolloutWriteError::Io { .. })
        ));
        std::fs::remove_file(&blocker).unwrap();
        log.append(timestamp(), LineKind::EventMsg, &json!({"type": "b"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text.lines().count(), 2);
    }
}
