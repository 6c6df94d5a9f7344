//! Which part of a thread the user has not read.

use rusqlite::{Connection, named_params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::database::{StateError, ThreadState, new_id, one};

/// The most threads with turns that are only remembered.
const MOST_ENDED: usize = 10_000;

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

/// A turn that has ended while no client wanted the read state.
#[derive(Debug)]
pub(crate) struct EndedTurn {
    id: String,
    revision: String,
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
        let stored = self.query(initial, |connection| find(connection, thread))?;
        Ok(self.with_ended_turn(thread, stored))
    }

    /// Marks a turn that has ended as unread, unless an earlier part is already unread.
    ///
    /// # Errors
    pub fn mark_turn_unread(&self, thread: &str, turn: &str) -> Result<ReadState, StateError> {
        let state = self.change(|transaction| {
            let before = self.with_ended_turn(thread, find(transaction, thread)?);
            let first = before.first_unread;
            let first = first.unwrap_or_else(|| UnreadStart::Turn(turn.to_owned()));
            save(transaction, thread, Some(first))
        });
        self.ended_turns.lock().remove(thread);
        state
    }

    /// Remembers a turn that has ended while no client wanted the read state. It is stored with the next change.
    pub fn remember_ended_turn(&self, thread: &str, turn: &str) {
        let mut ended = self.ended_turns.lock();
        if ended.len() < MOST_ENDED && !ended.contains_key(thread) {
            let turn = EndedTurn {
                id: turn.to_owned(),
                revision: new_id(),
            };
            ended.insert(thread.to_owned(), turn);
        }
    }

    /// The state with a turn that is only remembered.
    fn with_ended_turn(&self, thread: &str, stored: ReadState) -> ReadState {
        let ended = self.ended_turns.lock();
        match ended.get(thread) {
            Some(turn) => ReadState {
                first_unread: stored
                    .first_unread
                    .or_else(|| Some(UnreadStart::Turn(turn.id.clone()))),
                revision: turn.revision.clone(),
            },
            None => stored,
        }
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
        let state = self.change(|transaction| {
            let current = self.with_ended_turn(thread, find(transaction, thread)?);
            if current.revision != revision {
                return Err(ReadStateError::Conflict(current));
            }
            Ok(save(transaction, thread, first_unread)?)
        })?;
        self.ended_turns.lock().remove(thread);
        Ok(state)
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
        let mut ended = self.ended_turns.lock();
        if ended
            .get(thread)
            .is_some_and(|turn| removed.contains(&turn.id))
        {
            ended.remove(thread);
        }
        drop(ended);
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
