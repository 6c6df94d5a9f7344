//! What of a thread is unread.

use rusqlite::{Connection, named_params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::database::{StateError, ThreadState, new_id, one};

/// Where the unread part begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unread {
    /// With the beginning of the thread.
    ThreadStart,
    /// With this turn.
    Turn(String),
}

/// What of a thread is unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadState {
    /// Where the unread part begins; none if all is read.
    pub first_unread: Option<Unread>,
    /// Another one after each change.
    pub revision: String,
}

impl ReadState {
    /// That of a thread whose state was never changed.
    fn initial(thread: &str) -> Self {
        Self {
            first_unread: None,
            revision: format!("initial:{thread}"),
        }
    }
}

/// The read state was not changed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Somebody else changed it meanwhile. This is how it is now.
    #[error("read state changed")]
    Conflict(ReadState),
    /// The file failed.
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
    first_unread: Option<Unread>,
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
    /// What of a thread is unread.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_state(&self, thread: &str) -> Result<ReadState, StateError> {
        let initial = ReadState::initial(thread);
        self.query(initial, |connection| find(connection, thread))
    }

    /// A turn of a thread has ended: it is unread, unless something before it is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn mark_turn_unread(&self, thread: &str, turn: &str) -> Result<ReadState, StateError> {
        self.change(|transaction| {
            let before = find(transaction, thread)?.first_unread;
            let first = before.unwrap_or_else(|| Unread::Turn(turn.to_owned()));
            save(transaction, thread, Some(first))
        })
    }

    /// Sets where the unread part begins, if the state is still that of `revision`.
    ///
    /// # Errors
    /// It is not, or the file cannot be written.
    pub fn set_read_state(
        &self,
        thread: &str,
        first_unread: Option<Unread>,
        revision: &str,
    ) -> Result<ReadState, ReadError> {
        self.change(|transaction| {
            let current = find(transaction, thread)?;
            if current.revision != revision {
                return Err(ReadError::Conflict(current));
            }
            Ok(save(transaction, thread, first_unread)?)
        })
    }

    /// Turns left the history of a thread: if the unread part began with one of them, all is read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget_unread_turns(
        &self,
        thread: &str,
        removed: &[String],
    ) -> Result<ReadState, StateError> {
        self.change(|transaction| {
            let before = find(transaction, thread)?.first_unread;
            let kept = before
                .filter(|unread| !matches!(unread, Unread::Turn(turn) if removed.contains(turn)));
            save(transaction, thread, kept)
        })
    }
}
