//! An observer of a session: sees what happens, changes nothing.

use std::fmt::Debug;

use codex_protocol::{Event, ResponseItem};

use super::model::{ModelError, ModelRequest};

/// Watches a session. Every method is called in the order of what happens and must return at once.
pub trait Observer: Debug + Send + Sync {
    /// An event is about to be delivered.
    fn event(&self, _event: &Event) {}

    /// A request is about to be sent to the model.
    fn request_sent(&self, _turn: &str, _request: &ModelRequest) {}

    /// A response is complete.
    fn response_completed(&self, _turn: &str, _response_id: &str) {}

    /// A response failed.
    fn response_failed(&self, _turn: &str, _error: &ModelError) {}

    /// A call of the model is handed to its tool.
    fn tool_dispatched(&self, _turn: &str, _call: &ResponseItem) {}

    /// A tool has answered.
    fn tool_answered(&self, _turn: &str, _output: &ResponseItem) {}
}
