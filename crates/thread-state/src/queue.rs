//! Messages that are sent when the running turn of a thread ends.

use rusqlite::{Connection, Row, named_params};
use thiserror::Error;

use crate::database::{StateError, ThreadState, all, new_id, one};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    pub id: String,
    /// The message as JSON of the caller.
    pub message: String,
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
    let sql = "SELECT id, message FROM queue WHERE thread = :thread ORDER BY position";
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
            let sql = "SELECT id, message FROM queue WHERE thread = :thread AND id = :id";
            let found = one(
                transaction,
                sql,
                named_params! { ":thread": thread, ":id": id },
                read,
            )?;
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
