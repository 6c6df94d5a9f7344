//! What the index stores about a thread.

use std::path::{Path, PathBuf};

use codex_protocol::{GitInfo, SessionSource, SubAgentSource, ThreadId};

/// A thread as shown in lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRecord {
    pub id: ThreadId,
    /// The rollout of the thread.
    pub path: PathBuf,
    pub archived: bool,
    /// When the file last changed, in Unix seconds.
    pub updated_at: i64,
    /// The name set by the user.
    pub name: Option<String>,
    /// The facts from the file.
    pub facts: ThreadFacts,
}

/// Facts about a thread from its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadFacts {
    /// The time of creation in Unix seconds; 0 if it cannot be read.
    pub created_at: i64,
    /// The working folder at creation.
    pub cwd: String,
    /// The working folder, where a client has changed it.
    pub changed_cwd: Option<String>,
    /// The version of the engine that created the thread.
    pub cli_version: String,
    /// The client that created the thread; not stored in older files.
    pub originator: Option<String>,
    /// What started the thread.
    pub source: SessionSource,
    /// The display name of an agent.
    pub nickname: Option<String>,
    /// The role of an agent.
    pub role: Option<String>,
    /// The thread that this one was forked from.
    pub forked_from: Option<ThreadId>,
    /// Whether it belongs to the thread that it was forked from.
    pub is_side_thread: bool,
    /// Whether its items have no ids and times of their own.
    pub has_legacy_history: bool,
    /// The model provider; not stored in older files.
    pub provider: Option<String>,
    /// The model of the latest turn.
    pub model: Option<String>,
    /// The reasoning effort of the latest turn.
    pub effort: Option<String>,
    /// The first user message.
    pub preview: Option<String>,
    /// The first user message with text, if it differs from the preview.
    pub title: Option<String>,
    /// The git facts at the start, or the latest ones that were set.
    pub git: Option<GitInfo>,
    /// The name stored in the file.
    pub logged_name: Option<String>,
}

impl ThreadFacts {
    /// The thread that this one is a side thread of.
    #[must_use]
    pub fn attached_to(&self) -> Option<&ThreadId> {
        self.forked_from.as_ref().filter(|_| self.is_side_thread)
    }

    /// The thread that spawned this one.
    #[must_use]
    pub fn parent(&self) -> Option<&ThreadId> {
        match &self.source {
            SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
                parent_thread_id, ..
            }) => Some(parent_thread_id),
            _ => None,
        }
    }
}

/// The state of a file when it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) size: i64,
    /// Nanoseconds since the Unix epoch.
    pub(crate) modified: i64,
}

impl FileStamp {
    pub(crate) fn from_metadata(metadata: &std::fs::Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            size: i64::try_from(metadata.len()).unwrap_or(i64::MAX),
            modified: since.map_or(0, |since| {
                i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
            }),
        }
    }

    pub(crate) fn updated_at(self) -> i64 {
        self.modified / 1_000_000_000
    }
}

/// A row of the index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadRow {
    pub(crate) id: ThreadId,
    /// The folder relative to the home folder.
    pub(crate) folder: String,
    pub(crate) file: String,
    pub(crate) stamp: FileStamp,
    /// How far the file was read: the end of a line.
    pub(crate) scanned: i64,
    /// Why the file is not a rollout.
    pub(crate) problem: Option<String>,
    pub(crate) facts: ThreadFacts,
}

impl ThreadRow {
    pub(crate) fn path(&self, home: &Path) -> PathBuf {
        codex_rollout::folder_path(home, &self.folder).join(&self.file)
    }

    pub(crate) fn is_archived(&self) -> bool {
        self.folder == codex_rollout::ARCHIVED_FOLDER
    }

    pub(crate) fn into_record(self, home: &Path, name: Option<String>) -> ThreadRecord {
        ThreadRecord {
            path: self.path(home),
            archived: self.is_archived(),
            updated_at: self.stamp.updated_at(),
            name: name.or_else(|| self.facts.logged_name.clone()),
            id: self.id,
            facts: self.facts,
        }
    }
}
