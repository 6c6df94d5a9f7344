//! Input that a client was told is accepted, kept in a file of its own until the file of the thread has it: hooks, a
//! compaction or the first facts about the repository may come before that.
//!
//! A process holds a lock on what it keeps. What has no lock was left by a process that was killed, and the next one writes it
//! to the file of the thread.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codex_protocol::ThreadId;
use codex_rollout::{ThreadLock, ThreadLocks};
use serde::{Deserialize, Serialize};

use crate::ports::ObservedTurnInput;

/// The folder in the home folder.
const FOLDER: &str = "accepted-input";
/// How many left inputs are looked at.
const MAX_LEFT: usize = 10_000;
/// How large a copy may be. Images are in it.
const MAX_BYTES: u64 = 1 << 30;

/// A copy of accepted input on disk.
#[derive(Debug)]
pub struct SavedInput {
    path: PathBuf,
    item: String,
    is_recorded: AtomicBool,
    _lock: ThreadLock,
}

/// What the copy says.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedContent {
    pub thread: ThreadId,
    /// The turn that has it.
    pub turn: String,
    /// The id of the item that it becomes.
    pub item: String,
    /// The file of the thread.
    pub file: PathBuf,
    /// The beginning of that file, if there was none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<String>,
    pub input: ObservedTurnInput,
}

impl SavedInput {
    /// Saves it.
    pub fn save(home: &Path, content: &SavedContent) -> io::Result<Self> {
        let folder = home.join(FOLDER);
        // Names of copies sort by time, and locks are found by such ids.
        let id = ThreadId::new();
        // Before there is a file: without the lock another process would take it for one that was left.
        let lock = ThreadLocks::of_home(home).acquire(&id);
        let lock = lock.map_err(io::Error::other)?;
        let path = folder.join(format!("{id}.json"));
        let bytes = serde_json::to_vec(content)?;
        match codex_private_files::write(&path, &bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                codex_private_files::create_dir_all(&folder)?;
                codex_private_files::write(&path, &bytes)?;
            }
            written => written?,
        }
        Ok(Self {
            path,
            item: content.item.clone(),
            is_recorded: AtomicBool::new(false),
            _lock: lock,
        })
    }

    /// The file of the copy.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id of the item that it becomes.
    pub fn item(&self) -> &str {
        &self.item
    }

    /// The conversation has the input, and the file of the thread will have it soon.
    pub fn note_recorded(&self) {
        self.is_recorded.store(true, Ordering::Release);
    }

    /// The turn has ended, and nobody wants what it did not record.
    pub fn give_up(&self) {
        if !self.is_recorded.load(Ordering::Acquire) {
            self.end();
        }
    }

    /// The file of the thread has the input, or it was refused.
    pub fn end(&self) {
        self.note_recorded();
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "the copy of an accepted input cannot be removed");
        }
    }
}

/// A copy that a process has left.
#[derive(Debug)]
pub struct LeftInput {
    /// None if it is not whole, so that nobody was told that the input is accepted.
    pub content: Option<SavedContent>,
    path: PathBuf,
    _lock: ThreadLock,
}

impl LeftInput {
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The copies that processes have left in a home folder, oldest first. Blocks on the file system.
pub fn left_inputs(home: &Path) -> Vec<LeftInput> {
    let Ok(entries) = codex_mounts::read_dir(home.join(FOLDER)) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.truncate(MAX_LEFT);
    let locks = ThreadLocks::of_home(home);
    found
        .into_iter()
        .filter_map(|path| left_input(&locks, path))
        .collect()
}

fn left_input(locks: &Arc<ThreadLocks>, path: PathBuf) -> Option<LeftInput> {
    let id = path.file_stem()?.to_str()?;
    let lock = locks.acquire(&ThreadId::parse(id).ok()?).ok()?;
    let bytes = codex_regular_file::read(&path, MAX_BYTES).ok()?;
    let content = match serde_json::from_slice(&bytes) {
        Ok(content) => Some(content),
        // Another version wrote it, which reads it again.
        Err(error) if error.is_data() => return None,
        Err(_) => None,
    };
    Some(LeftInput {
        content,
        path,
        _lock: lock,
    })
}
