//! The log of one thread: what its session appends to.
//!
//! The file is made only once it is needed ([`Log::materialise`]); until then the lines are kept, so
//! that a thread which never came to anything leaves no file.

use std::path::{Path, PathBuf};

use codex_protocol::GitInfo;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::claim::{Claim, ClaimError};
use crate::line::{LineKind, encode};
use crate::place::Place;
use crate::writer::{Order, Writer};

/// Why lines are not on disk.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The operating system refused. The lines are kept and tried again.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The writing thread is gone.
    #[error("the rollout writer has stopped")]
    Stopped,
}

/// The log of one thread.
#[derive(Debug)]
pub struct Log {
    writer: Writer,
    place: Place,
    state: State,
    claim: Option<Claim>,
    /// Whether the claim is made good for longer than a line.
    is_claimed: bool,
}

#[derive(Debug)]
enum State {
    /// No file yet.
    Held(Vec<Held>),
    Written,
}

/// What goes into the file once there is one.
#[derive(Debug)]
enum Held {
    /// An encoded payload, which gets the time of materialisation.
    Line(LineKind, Vec<u8>),
    /// The beginning of another file.
    Copy { source: PathBuf, length: u64 },
}

impl Log {
    /// The log of a new thread: held back until it is materialised.
    #[must_use]
    pub fn held(writer: Writer, place: Place) -> Self {
        Self {
            writer,
            place,
            state: State::Held(Vec::new()),
            claim: None,
            is_claimed: false,
        }
    }

    /// The log of a file that exists.
    #[must_use]
    pub fn existing(writer: Writer, place: Place) -> Self {
        Self {
            writer,
            place,
            state: State::Written,
            claim: None,
            is_claimed: false,
        }
    }

    /// The same log, written only once this is made good.
    #[must_use]
    pub fn claimed(mut self, claim: Claim) -> Self {
        self.claim = Some(claim);
        self
    }

    /// From now on nobody else writes the thread, until it is [given back](Self::give_back). Whoever has
    /// something to write asks for this first; what is appended while somebody else has the right is lost.
    ///
    /// # Errors
    /// Somebody else does, or did.
    pub fn claim(&mut self) -> Result<(), ClaimError> {
        self.make_good()?;
        self.is_claimed = true;
        Ok(())
    }

    /// Others may write the thread from when everything appended so far is in the file.
    pub fn give_back(&mut self) {
        self.is_claimed = false;
        if !self.is_materialised() {
            return;
        }
        if let Some(right) = self.claim.as_mut().and_then(Claim::give_back) {
            let path = self.path().to_owned();
            self.writer.send(Order::Return { path, right });
        }
    }

    fn make_good(&mut self) -> Result<(), ClaimError> {
        match &mut self.claim {
            Some(claim) => claim.make_good(self.place.path()),
            None => Ok(()),
        }
    }

    /// The path of the file, whether it is there yet or not.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether there is, or is about to be, a file.
    #[must_use]
    pub fn is_materialised(&self) -> bool {
        matches!(self.state, State::Written)
    }

    /// Appends a line.
    pub fn append(&mut self, at: Timestamp, kind: LineKind, payload: &impl Serialize) {
        match serde_json::to_vec(payload) {
            Ok(payload) => self.append_json(at, kind, payload),
            Err(error) => tracing::error!(%error, "a rollout line cannot be written as JSON"),
        }
    }

    /// Appends a line whose payload is JSON already.
    pub fn append_json(&mut self, at: Timestamp, kind: LineKind, payload: Vec<u8>) {
        match &mut self.state {
            State::Held(held) => held.push(Held::Line(kind, payload)),
            State::Written => {
                let mut bytes = Vec::new();
                encode(&mut bytes, at, kind, &payload);
                self.send(bytes);
            }
        }
    }

    /// Appends the first `length` bytes of another file, which have to be whole lines.
    pub fn append_copy(&mut self, source: PathBuf, length: u64) {
        match &mut self.state {
            State::Held(held) => held.push(Held::Copy { source, length }),
            State::Written => self.copy(source, length),
        }
    }

    /// Makes the file, with everything held back so far. The first line tells `git` of the repository.
    pub fn materialise(&mut self, at: Timestamp, git: Option<&GitInfo>) {
        let State::Held(mut held) = std::mem::replace(&mut self.state, State::Written) else {
            return;
        };
        if let (Some(git), Some(Held::Line(LineKind::SessionMeta, meta))) = (git, held.first_mut())
        {
            tell_repository(meta, git);
        }
        let mut bytes = Vec::new();
        for held in held {
            match held {
                Held::Line(kind, payload) => encode(&mut bytes, at, kind, &payload),
                Held::Copy { source, length } => {
                    self.send(std::mem::take(&mut bytes));
                    self.copy(source, length);
                }
            }
        }
        self.send(bytes);
        // Who hears of the thread finds it.
        self.writer.hurry();
    }

    /// Waits until everything appended so far was handed to the operating system.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn flush(&self) -> impl Future<Output = Result<(), LogError>> + Send + use<> {
        let path = self.path().to_owned();
        let waiting = self.is_materialised().then(|| {
            let (done, finished) = oneshot::channel();
            self.writer.send(Order::Flush {
                path: path.clone(),
                done,
            });
            finished
        });
        async move {
            let Some(finished) = waiting else {
                return Ok(());
            };
            let result = finished.await.map_err(|_| LogError::Stopped)?;
            let path = path.display().to_string();
            result.map_err(|source| LogError::Io { path, source })
        }
    }

    fn send(&mut self, bytes: Vec<u8>) {
        let path = self.path().to_owned();
        self.order(Order::Append { path, bytes });
    }

    fn copy(&mut self, source: PathBuf, length: u64) {
        let path = self.path().to_owned();
        self.order(Order::Copy {
            path,
            source,
            length,
        });
    }

    fn order(&mut self, order: Order) {
        if let Err(error) = self.make_good() {
            return tracing::error!(%error, "a rollout line is lost");
        }
        if !self.writer.send(order) {
            tracing::error!("the rollout writer has stopped");
        }
        if !self.is_claimed {
            self.give_back();
        }
    }
}

/// Adds the last member to an object that does not have it.
fn tell_repository(meta: &mut Vec<u8>, git: &GitInfo) {
    if let Ok(git) = serde_json::to_vec(git)
        && meta.pop_if(|last| *last == b'}').is_some()
    {
        meta.extend_from_slice(b",\"git\":");
        meta.extend_from_slice(&git);
        meta.push(b'}');
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.writer.send(Order::Close {
            path: self.path().to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at() -> Timestamp {
        "2026-03-01T10:00:00Z".parse().unwrap()
    }

    fn log(folder: &Path) -> Log {
        Log::held(
            Writer::start().unwrap(),
            Place::of_file(folder.join("a/b/x.jsonl")),
        )
    }

    #[tokio::test]
    async fn nothing_is_written_before_it_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        log.append(at(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.flush().await.unwrap();
        assert!(!log.path().exists());
        log.materialise(at(), None);
        log.append(at(), LineKind::EventMsg, &json!({"type": "b"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with("\"payload\":{\"type\":\"b\"}}\n"));
    }

    #[tokio::test]
    async fn the_first_line_tells_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        log.append(at(), LineKind::SessionMeta, &json!({"id": "a"}));
        let git = GitInfo {
            branch: Some("main".to_owned()),
            ..GitInfo::default()
        };
        log.materialise(at(), Some(&git));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        let expected = "\"payload\":{\"id\":\"a\",\"git\":{\"branch\":\"main\"}}}\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[tokio::test]
    async fn what_another_file_begins_with_comes_between_the_lines_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.jsonl");
        std::fs::write(&source, "{\"one\":1}\n{\"two\":2}\n{\"torn").unwrap();
        let mut log = log(folder.path());
        log.append(at(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.append_copy(source, 20);
        log.append(at(), LineKind::EventMsg, &json!({"type": "b"}));
        log.materialise(at(), None);
        log.append(at(), LineKind::EventMsg, &json!({"type": "c"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert_eq!(lines[1..3], ["{\"one\":1}", "{\"two\":2}"]);
        assert!(lines[0].contains("session_meta") && lines[4].contains("\"c\""));
    }

    #[tokio::test]
    async fn a_torn_line_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        std::fs::write(&path, "{\"torn").unwrap();
        let mut log = Log::existing(Writer::start().unwrap(), Place::of_file(&path));
        log.append(at(), LineKind::EventMsg, &json!({"type": "b"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().next(), Some("{\"torn"));
        assert!(text.lines().nth(1).unwrap().contains("\"type\":\"b\""));
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_kept_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let blocker = folder.path().join("a");
        std::fs::write(&blocker, "a file where a folder should be").unwrap();
        let mut log = log(folder.path());
        log.append(at(), LineKind::SessionMeta, &json!({"id": "a"}));
        log.materialise(at(), None);
        assert!(matches!(log.flush().await, Err(LogError::Io { .. })));
        std::fs::remove_file(&blocker).unwrap();
        log.append(at(), LineKind::EventMsg, &json!({"type": "b"}));
        log.flush().await.unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text.lines().count(), 2);
    }
}
