//! Watching a session: an observer sees what happens and changes nothing.
//!
//! Events say most of it. What they do not say are the evidence points: what the model was asked and
//! what it answered, which calls were handed to a tool and how they ended, which history took the
//! place of another. Nobody pays for evidence while nobody watches.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use codex_model_client::{AttemptObserver, Prompt};
use codex_protocol::{Event, ResponseItem, ThreadId};

use crate::config::SessionConfig;

/// Who may want to watch the threads of this process.
pub trait Observers: Debug + Send + Sync {
    /// Asked when a thread starts, before it says anything.
    fn observe(&self, thread: &StartingThread<'_>) -> Option<Arc<dyn Observer>>;
}

/// A thread that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct StartingThread<'a> {
    /// Its id.
    pub thread: &'a ThreadId,
    /// What it starts with.
    pub config: &'a SessionConfig,
    /// The file of its rollout, if it has one.
    pub rollout_path: Option<&'a Path>,
    /// Whether it goes on with what that file holds.
    pub is_resumed: bool,
}

/// Watches a thread. Every method is called in the order of what happens and must return at once.
pub trait Observer: Debug + Send + Sync {
    /// An event is about to be delivered.
    fn event(&self, _event: &Event) {}

    /// The model is about to be asked. What is answered watches each time the request is sent.
    fn model_asked(&self, _question: &ModelCall<'_>) -> Option<Arc<dyn AttemptObserver>> {
        None
    }

    /// A call of the model is handed to its tool, or to none if there is none of that name.
    fn tool_dispatched(&self, _turn: &str, _call: &ResponseItem) {}

    /// The tool is done. The error is what the model reads in place of the tool's own words. A call
    /// that was aborted has no end.
    fn tool_ended(&self, _turn: &str, _output: &ResponseItem, _error: Option<&str>) {}

    /// A tool of an MCP server is about to be called for this call of the model. What is answered goes
    /// with the request, so that the server's own records can be found by it.
    fn mcp_called(&self, _turn: &str, _call: &str) -> Option<String> {
        None
    }

    /// A shorter history is about to take the place of the one before. `item` is the compaction.
    fn compacted(&self, _turn: &str, _item: &str, _before: Prompt, _after: &[ResponseItem]) {}
}

/// A question to the model.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// The turn.
    pub turn: &'a str,
    /// The model.
    pub model: &'a str,
    /// The id of the compaction item, if a summary is asked for rather than an answer.
    pub compaction: Option<&'a str>,
}
