//! Messages that are sent when the running turn of a thread ends.
//!
//! A message that becomes a turn is handed over: it is not listed any more, and it stays stored until the turn is. If that does
//! not happen, it is given back and has its place in the queue again.

use rusqlite::{Connection, Row, named_params};
use thiserror::Error;

use crate::database::{StateError, ThreadState, all, new_id};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    pub id: String,
    /// The message as JSON of the caller.
    pub message: String,
}

/// A message that was handed over to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueHandover {
    pub queued: QueueEntry,
    /// The id of the turn.
    pub turn: String,
}

/// Why the queue was not changed.
#[derive(Debug, Error)]
pub enum QueueError {
    #[error("queued submission not found: {0}")]
    NotFound(String),
    /// The new order does not contain every message exactly once.
    #[error("queue reorder must include every queued submission exactly once")]
    Order,
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<rusqlite::Error> for QueueError {
    fn from(error: rusqlite::Error) -> Self {
        Self::State(error.into())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<QueueEntry> {
    Ok(QueueEntry {
        id: row.get("id")?,
        message: row.get("message")?,
    })
}

fn queue_of(connection: &Connection, thread: &str) -> Result<Vec<QueueEntry>, StateError> {
    let sql = "SELECT id, message FROM queue WHERE thread = :thread \
               AND id NOT IN (SELECT id FROM queue_handovers WHERE thread = :thread) ORDER BY position";
    all(connection, sql, named_params! { ":thread": thread }, read)
}

impl ThreadState {
    /// The queue of a thread in its order.
    ///
    /// # Errors
    pub fn queue(&self, thread: &str) -> Result<Vec<QueueEntry>, StateError> {
        self.query(Vec::new(), |connection| queue_of(connection, thread))
    }

    /// Appends a message and returns its id.
    ///
    /// # Errors
    pub fn enqueue(&self, thread: &str, message: &str) -> Result<String, StateError> {
        let id = new_id();
        self.change(|transaction| {
            transaction.execute(
                "INSERT INTO queue (id, thread, position, message) VALUES (:id, :thread, \
                 (SELECT ifnull(max(position), 0) + 1 FROM queue WHERE thread = :thread), :message)",
                named_params! { ":id": id, ":thread": thread, ":message": message },
            )?;
            Ok::<_, StateError>(())
        })?;
        Ok(id)
    }

    /// Replaces a message by the result of `change`.
    ///
    /// # Errors
    /// The message does not exist, or the database cannot be written.
    pub fn change_queued(
        &self,
        thread: &str,
        id: &str,
        change: impl FnOnce(&str) -> Result<String, serde_json::Error>,
    ) -> Result<QueueEntry, QueueError> {
        self.change(|transaction| {
            let queue = queue_of(transaction, thread)?;
            let found = queue.into_iter().find(|queued| queued.id == id);
            let mut queued = found.ok_or_else(|| QueueError::NotFound(id.to_owned()))?;
            queued.message = change(&queued.message).map_err(StateError::from)?;
            transaction.execute(
                "UPDATE queue SET message = :message WHERE id = :id",
                named_params! { ":message": queued.message, ":id": id },
            )?;
            Ok(queued)
        })
    }

    /// Removes and returns a message: the one with this id, otherwise the first. `None` if there is none.
    ///
    /// # Errors
    pub fn dequeue(
        &self,
        thread: &str,
        id: Option<&str>,
    ) -> Result<Option<QueueEntry>, StateError> {
        if self.queue(thread)?.is_empty() {
            return Ok(None);
        }
        self.change(|transaction| {
            let queue = queue_of(transaction, thread)?;
            let is_it = |queued: &QueueEntry| id.is_none_or(|id| queued.id == id);
            let Some(queued) = queue.into_iter().find(is_it) else {
                return Ok(None);
            };
            transaction.execute(
                "DELETE FROM queue WHERE id = :id",
                named_params! { ":id": queued.id },
            )?;
            Ok(Some(queued))
        })
    }

    /// Begins to hand a message over to a turn. False if it is not in the queue any more.
    ///
    /// # Errors
    pub fn hand_over(&self, thread: &str, id: &str, turn: &str) -> Result<bool, StateError> {
        self.change(|transaction| {
            let queue = queue_of(transaction, thread)?;
            if !queue.iter().any(|queued| queued.id == id) {
                return Ok(false);
            }
            transaction.execute(
                "INSERT INTO queue_handovers (id, thread, turn) VALUES (:id, :thread, :turn)",
                named_params! { ":id": id, ":thread": thread, ":turn": turn },
            )?;
            Ok(true)
        })
    }

    /// The messages of a thread that were handed over to turns which were not stored when they began.
    ///
    /// # Errors
    pub fn handovers(&self, thread: &str) -> Result<Vec<QueueHandover>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql = "SELECT queue.id, queue.message, queue_handovers.turn FROM queue_handovers \
                       JOIN queue ON queue.id = queue_handovers.id WHERE queue_handovers.thread = :thread";
            all(connection, sql, named_params! { ":thread": thread }, |row| {
                Ok(QueueHandover {
                    queued: read(row)?,
                    turn: row.get("turn")?,
                })
            })
        })
    }

    /// Another turn than the one that was meant has the message.
    ///
    /// # Errors
    pub fn change_handover(&self, id: &str, turn: &str) -> Result<(), StateError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE queue_handovers SET turn = :turn WHERE id = :id",
                named_params! { ":id": id, ":turn": turn },
            )?;
            Ok(())
        })
    }

    /// Ends a handover: its turn is stored with the message, which is removed, or it is not, and the message is in the queue
    /// again.
    ///
    /// # Errors
    pub fn end_handover(&self, id: &str, is_stored: bool) -> Result<(), StateError> {
        self.change(|transaction| {
            let id = named_params! { ":id": id };
            if is_stored {
                transaction.execute("DELETE FROM queue WHERE id = :id", id)?;
            }
            transaction.execute("DELETE FROM queue_handovers WHERE id = :id", id)?;
            Ok(())
        })
    }

    /// Changes the order of the queue.
    ///
    /// # Errors
    /// The order does not contain every message exactly once, or the database cannot be written.
    pub fn reorder_queue(&self, thread: &str, ids: &[String]) -> Result<(), QueueError> {
        self.change(|transaction| {
            let mut known: Vec<_> = queue_of(transaction, thread)?
                .into_iter()
                .map(|queued| queued.id)
                .collect();
            let mut named = ids.to_vec();
            known.sort_unstable();
            named.sort_unstable();
            if known != named {
                return Err(QueueError::Order);
            }
            for (position, id) in (1_i64..).zip(ids) {
                transaction.execute(
                    "UPDATE queue SET position = :position WHERE id = :id",
                    named_params! { ":position": position, ":id": id },
                )?;
            }
            Ok(())
        })
    }
}
