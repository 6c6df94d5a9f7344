//! Marks that clients set on threads and read again.

use rusqlite::named_params;

use crate::database::{StateError, ThreadState, one};

impl ThreadState {
    /// The `daybreakEnabled` of a thread, if it was set.
    ///
    /// # Errors
    pub fn daybreak_of(&self, thread: &str) -> Result<Option<bool>, StateError> {
        self.query(None, |connection| {
            one(
                connection,
                "SELECT is_enabled FROM daybreak_marks WHERE thread = :thread",
                named_params! { ":thread": thread },
                |row| row.get("is_enabled"),
            )
        })
    }

    /// Sets the `daybreakEnabled` of a thread.
    ///
    /// # Errors
    pub fn set_daybreak(&self, thread: &str, is_enabled: bool) -> Result<(), StateError> {
        self.change(|transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO daybreak_marks (thread, is_enabled) \
                 VALUES (:thread, :is_enabled)",
                named_params! { ":thread": thread, ":is_enabled": is_enabled },
            )?;
            Ok(())
        })
    }
}
