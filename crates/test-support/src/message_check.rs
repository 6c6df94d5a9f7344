//! What the messages of a connection are held against.

use std::fmt;

use serde_json::Value;

/// The promises of a protocol. Every connection of a test has one: what it sends and receives passes through it.
pub trait MessageCheck: Send + fmt::Debug {
    /// Looks at a message of the test.
    fn sent(&mut self, message: &Value);

    /// Looks at an answer of the test that is wrong on purpose.
    fn sent_wrong_answer(&mut self, message: &Value) {
        let _ = message;
    }

    /// Looks at a message of the program under test.
    ///
    /// # Panics
    /// The message breaks a promise.
    fn received(&mut self, message: &Value);

    /// Looks at what is unfinished at the end of the connection.
    ///
    /// # Panics
    /// Something has no end.
    fn finish(&self) {}
}
