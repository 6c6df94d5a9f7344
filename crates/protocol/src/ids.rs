//! Identifiers and names of threads and agents, and paths on the wire.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An absolute path of a file or folder. Whether it is absolute is for its user to check.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct AbsolutePathBuf(pub String);

impl AsRef<str> for AbsolutePathBuf {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The place of an agent in the tree of agents, for example `/root/tests`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct AgentPath(pub String);

/// What made the engine start a thread of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentSource {
    /// A review.
    Review,
    /// A compaction.
    Compact,
    /// The consolidation of memories.
    MemoryConsolidation,
    /// An agent that another thread spawned.
    ThreadSpawn {
        /// The thread that spawned it.
        parent_thread_id: ThreadId,
        /// How many spawns lie between it and the root thread.
        depth: i32,
        /// Its place in the tree of agents, if it has one.
        agent_path: Option<AgentPath>,
        /// The name it is shown under.
        agent_nickname: Option<String>,
        /// The role it was given.
        agent_role: Option<String>,
    },
    /// Something else, told by a label.
    Other(String),
}

/// The id of a thread: a UUID, as a string.
///
/// Reading takes any string, so that one odd id does not make a whole record unreadable;
/// [`ThreadId::parse`] is for ids that name a thread.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ThreadId(pub String);

/// A string that is not the id of a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid thread id `{text}`: {reason}")]
pub struct InvalidThreadId {
    text: String,
    reason: String,
}

impl ThreadId {
    /// A fresh id. Ids made later sort after ids made earlier.
    #[expect(
        clippy::new_without_default,
        reason = "two `defaults` would never be equal"
    )]
    pub fn new() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// Reads an id in any usual spelling of a UUID; the result has the canonical one.
    pub fn parse(text: &str) -> Result<Self, InvalidThreadId> {
        match Uuid::try_parse(text) {
            Ok(uuid) => Ok(Self(uuid.to_string())),
            Err(error) => Err(InvalidThreadId {
                text: text.to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_parse_and_sort_by_time() {
        let (first, second) = (ThreadId::new(), ThreadId::new());
        assert_eq!(ThreadId::parse(first.as_str()), Ok(first.clone()));
        assert!(first < second);
    }

    #[test]
    fn parse_gives_the_canonical_spelling() {
        let id = ThreadId::parse("0195F0A0-7B1C-7000-8000-0000000000AB").unwrap();
        assert_eq!(id.to_string(), "0195f0a0-7b1c-7000-8000-0000000000ab");
        let error = ThreadId::parse("no").unwrap_err();
        assert!(error.to_string().starts_with("invalid thread id `no`: "));
    }
}
