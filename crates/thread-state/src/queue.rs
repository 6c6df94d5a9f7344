//! Messages that wait for the running turn of a thread to end.

use rusqlite::{Connection, Row, named_params};
use thiserror::Error;

use crate::database::{StateError, ThreadState, all, new_id, one};

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Names it.
    pub id: String,
    /// The message, as JSON of the caller.
    pub message: String,
}

/// The queue was not changed.
#[derive(Debug, Error)]
pub enum QueueError {
    /// There is no such message.
    #[error("queued submission not found: {0}")]
    NotFound(String),
    /// A new order does not name every message once.
    #[error("queue reorder must include every queued submission exactly once")]
    Order,
    /// The file failed.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<rusqlite::Error> for QueueError {
    fn from(error: rusqlite::Error) -> Self {
        Self::State(error.into())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Queued> {
    Ok(Queued {
        id: row.get("id")?,
        message: row.get("message")?,
    })
}

fn queue_of(connection: &Connection, thread: &str) -> Result<Vec<Queued>, StateError> {
    let sql = "SELECT id, message FROM queue WHERE thread = :thread ORDER BY position";
    all(connection, sql, named_params! { ":thread": thread }, read)
}

impl ThreadState {
    /// The queue of a thread, in order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn queue(&self, thread: &str) -> Result<Vec<Queued>, StateError> {
        self.query(Vec::new(), |connection| queue_of(connection, thread))
    }

    /// Adds a message at the end.
    ///
    /// # Errors
    /// The file cannot be written.
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

    /// Replaces a message; `change` makes the new one of the old one.
    ///
    /// # Errors
    /// There is no such message, or the file cannot be written.
    pub fn change_queued(
        &self,
        thread: &str,
        id: &str,
        change: impl FnOnce(&str) -> Result<String, serde_json::Error>,
    ) -> Result<Queued, QueueError> {
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

    /// Takes a message out, the first one unless one is named. None if there is none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn dequeue(&self, thread: &str, id: Option<&str>) -> Result<Option<Queued>, StateError> {
        if self.queue(thread)?.is_empty() {
            return Ok(None);
        }
        self.change(|transaction| {
            let queue = queue_of(transaction, thread)?;
            let is_it = |queued: &Queued| id.is_none_or(|id| queued.id == id);
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

    /// Puts the queue into another order.
    ///
    /// # Errors
    /// The order does not name every message once, or the file cannot be written.
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
