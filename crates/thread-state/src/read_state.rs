//! Which part of a thread the user has not read.

use rusqlite::{Connection, named_params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::database::{StateError, ThreadState, new_id, one};

/// The start of the unread part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnreadStart {
    /// The whole thread is unread.
    ThreadStart,
    /// This turn and all later ones are unread.
    Turn(String),
}

/// The read state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadState {
    /// The start of the unread part; `None` if everything is read.
    pub first_unread: Option<UnreadStart>,
    /// Changes with every update.
    pub revision: String,
}

impl ReadState {
    /// The state of a thread before any update.
    fn initial(thread: &str) -> Self {
        Self {
            first_unread: None,
            revision: format!("initial:{thread}"),
        }
    }
}

/// Why the read state was not changed.
#[derive(Debug, Error)]
pub enum ReadStateError {
    /// Another client changed it first. Contains the current state.
    #[error("read state changed")]
    Conflict(ReadState),
    #[error(transparent)]
    State(#[from] StateError),
}

fn find(connection: &Connection, thread: &str) -> Result<ReadState, StateError> {
    let sql = "SELECT first_unread, revision FROM read_states WHERE thread = :thread";
    let found = one(
        connection,
        sql,
        named_params! { ":thread": thread },
        |row| {
            Ok((
                row.get::<_, Option<String>>("first_unread")?,
                row.get("revision")?,
            ))
        },
    )?;
    let Some((first_unread, revision)) = found else {
        return Ok(ReadState::initial(thread));
    };
    let first_unread = first_unread.map(|text| serde_json::from_str(&text));
    Ok(ReadState {
        first_unread: first_unread.transpose()?,
        revision,
    })
}

fn save(
    connection: &Connection,
    thread: &str,
    first_unread: Option<UnreadStart>,
) -> Result<ReadState, StateError> {
    let state = ReadState {
        first_unread,
        revision: new_id(),
    };
    let first_unread = state.first_unread.as_ref().map(serde_json::to_string);
    connection.execute(
        "INSERT OR REPLACE INTO read_states (thread, first_unread, revision) \
         VALUES (:thread, :first_unread, :revision)",
        named_params! {
            ":thread": thread, ":first_unread": first_unread.transpose()?, ":revision": state.revision,
        },
    )?;
    Ok(state)
}

impl ThreadState {
    /// The read state of a thread.
    ///
    /// # Errors
    pub fn read_state(&self, thread: &str) -> Result<ReadState, StateError> {
        let initial = ReadState::initial(thread);
        self.query(initial, |connection| find(connection, thread))
    }

    /// Marks a turn that has ended as unread, unless an earlier part is already unread.
    ///
    /// # Errors
    pub fn mark_turn_unread(&self, thread: &str, turn: &str) -> Result<ReadState, StateError> {
        self.change(|transaction| {
            let before = find(transaction, thread)?.first_unread;
            let first = before.unwrap_or_else(|| UnreadStart::Turn(turn.to_owned()));
            save(transaction, thread, Some(first))
        })
    }

    /// Sets the start of the unread part, if the state still has this revision.
    ///
    /// # Errors
    /// The revision is outdated, or the database cannot be written.
    pub fn set_read_state(
        &self,
        thread: &str,
        first_unread: Option<UnreadStart>,
        revision: &str,
    ) -> Result<ReadState, ReadStateError> {
        self.change(|transaction| {
            let current = find(transaction, thread)?;
            if current.revision != revision {
                return Err(ReadStateError::Conflict(current));
            }
            Ok(save(transaction, thread, first_unread)?)
        })
    }

    /// Handles the removal of turns from a thread: if the unread part starts with one of them, everything counts as
    /// read. Returns the state if it has changed.
    ///
    /// # Errors
    pub fn forget_unread_turns(
        &self,
        thread: &str,
        removed: &[String],
    ) -> Result<Option<ReadState>, StateError> {
        self.change(|transaction| {
            let before = find(transaction, thread)?.first_unread;
            let is_removed =
                |unread: &UnreadStart| matches!(unread, UnreadStart::Turn(turn) if removed.contains(turn));
            if !before.as_ref().is_some_and(is_removed) {
                return Ok(None);
            }
            save(transaction, thread, None).map(Some)
        })
    }
}
