//! What the index knows of a thread.

use std::path::{Path, PathBuf};

use codex_protocol::{GitInfo, SessionSource, SubAgentSource, ThreadId};

/// A thread, as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRecord {
    /// The thread.
    pub id: ThreadId,
    /// Its file.
    pub path: PathBuf,
    /// Whether it is archived.
    pub archived: bool,
    /// When its file last changed, in Unix seconds.
    pub updated_at: i64,
    /// The name that it was given.
    pub name: Option<String>,
    /// What its file says.
    pub facts: Facts,
}

/// What the file of a thread says of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// When it was created, in Unix seconds; 0 if that cannot be read.
    pub created_at: i64,
    /// The folder that it was created in.
    pub cwd: String,
    /// The version of the engine that created it.
    pub cli_version: String,
    /// What started it.
    pub source: SessionSource,
    /// The name that it is shown under, if it is an agent.
    pub nickname: Option<String>,
    /// The role that it was given, if it is an agent.
    pub role: Option<String>,
    /// The thread that it was forked from.
    pub forked_from: Option<ThreadId>,
    /// The provider of its model; older files do not tell.
    pub provider: Option<String>,
    /// The model of its latest turn.
    pub model: Option<String>,
    /// The reasoning effort of its latest turn, by its name.
    pub effort: Option<String>,
    /// The first message of its user; none if there was none yet.
    pub preview: Option<String>,
    /// The first text of its user, where that is not the preview.
    pub title: Option<String>,
    /// The repository that it was started in, or what was said of it since.
    pub git: Option<GitInfo>,
    /// The name that its file says it has.
    pub logged_name: Option<String>,
}

impl Facts {
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
pub(crate) struct Stamp {
    pub(crate) size: i64,
    /// Nanoseconds since the Unix epoch.
    pub(crate) modified: i64,
}

impl Stamp {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
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
pub(crate) struct Row {
    pub(crate) id: ThreadId,
    /// Relative to the home folder.
    pub(crate) folder: String,
    pub(crate) file: String,
    pub(crate) stamp: Stamp,
    /// Up to where the file was read: the end of a line.
    pub(crate) scanned: i64,
    /// Why the file is no rollout.
    pub(crate) problem: Option<String>,
    pub(crate) facts: Facts,
}

impl Row {
    pub(crate) fn path(&self, home: &Path) -> PathBuf {
        home.join(&self.folder).join(&self.file)
    }

    pub(crate) fn is_archived(&self) -> bool {
        self.folder == codex_rollout::ARCHIVED
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
