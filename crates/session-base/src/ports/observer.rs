//! Observing a session. An observer changes nothing.
//!
//! Most of it are events. The rest is evidence: requests to the model and their responses, calls of tools and
//! their outputs, histories that were replaced. Evidence costs nothing if nobody observes.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use codex_model_client::{AttemptObserver, Prompt};
use codex_protocol::{
    AgentStatus, Event, FunctionCallOutputContentItem, ResponseItem, RolloutItem, ThreadId,
};
use serde_json::Value;

use super::prefix_break::PrefixBreak;
use super::session_input::SessionInput;
use crate::config::{HooksRun, SessionConfig, TakenInput};

/// Chooses the threads to observe.
pub trait Observers: Debug + Send + Sync {
    /// Called before a thread emits its first event.
    fn observe(&self, thread: &StartingThread<'_>) -> Option<Arc<dyn Observer>>;
}

/// A thread that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct StartingThread<'a> {
    /// The id.
    pub thread: &'a ThreadId,
    /// The configuration.
    pub config: &'a SessionConfig,
    /// The path of its rollout, if it has one.
    pub rollout_path: Option<&'a Path>,
    /// Whether it continues the thread in that file.
    pub is_resumed: bool,
    /// What its history is rebuilt from.
    pub history: StartingHistory<'a>,
    /// The name of the time zone, as in requests.
    pub time_zone: &'a str,
}

/// What the history of a thread is rebuilt from.
#[derive(Clone, Copy, Debug)]
pub enum StartingHistory<'a> {
    /// It has none.
    None,
    /// Lines of a rollout.
    Lines(&'a [RolloutItem]),
    /// The first bytes of a rollout.
    File {
        /// The file.
        path: &'a Path,
        /// The number of bytes.
        length: u64,
    },
}

/// Observes a thread. Methods are called in the order of events and must return at once.
pub trait Observer: Debug + Send + Sync {
    /// The session is about to take an input.
    fn input(&self, _input: &SessionInput) {}

    /// A turn took inputs that waited, at least one.
    fn inputs_taken(&self, _inputs: &[TakenInput]) {}

    /// The thread took a notice of the engine while no turn ran.
    fn notice_taken_while_idle(&self) {}

    /// A command that the user typed is done. This is its record for the model.
    fn user_shell_ended(&self, _record: &ResponseItem) {}

    /// The hooks of an event are done, at least one.
    fn hooks_ran(&self, _ran: &HooksRun) {}

    /// An event is about to be emitted.
    fn event(&self, _event: &Event) {}

    /// A request to the model is about to be sent. The returned observer watches each attempt.
    fn model_asked(&self, _question: &ModelCall<'_>) -> Option<Arc<dyn AttemptObserver>> {
        None
    }

    /// The next request does not begin like the one before it, so the server has to read again what it had been sent.
    fn prefix_broken(&self, _turn: &str, _broken: &PrefixBreak) {}

    /// A call of the model is passed to its tool, or to none if there is no such tool.
    fn tool_dispatched(&self, _turn: &str, _call: &ResponseItem) {}

    /// The tool is done. The error is the text for the model, if the call failed. A call that was aborted has
    /// no end.
    fn tool_ended(&self, _turn: &str, _output: &ResponseItem, _error: Option<&str>) {}

    /// A call of a script is passed to its tool. `number` counts the calls of the cell.
    fn nested_dispatched(&self, _turn: &str, _call: &ResponseItem, _cell: u64, _number: u64) {}

    /// The tool is done. The error is what the promise is rejected with.
    fn nested_ended(&self, _turn: &str, _call: &str, _result: Result<&Value, &str>) {}

    /// A call of the model starts a script.
    fn cell_started(&self, _turn: &str, _cell: u64, _call: &str, _source: &str) {}

    /// The call that started a script has its output.
    fn cell_answered(&self, _turn: &str, _cell: &CellAnswer<'_>) {}

    /// The model is told that a script has ended.
    fn cell_ended(&self, _turn: &str, _cell: &CellAnswer<'_>) {}

    /// A turn of an agent has ended, and its result waits for the agent above.
    fn agent_result(&self, _result: &AgentResult<'_>) {}

    /// A tool of an MCP server is about to be called for this call of the model. The returned id is sent with
    /// the request, so that it can be found in the records of the server.
    fn mcp_called(&self, _turn: &str, _call: &str) -> Option<String> {
        None
    }

    /// The history is about to be replaced by a shorter one. `item` is the compaction.
    fn compacted(&self, _turn: &str, _item: &str, _before: Prompt, _after: &[ResponseItem]) {}
}

/// The result of a turn of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentResult<'a> {
    /// The turn.
    pub turn: &'a str,
    /// The thread that gets the result.
    pub parent: &'a ThreadId,
    /// The path of the agent.
    pub path: &'a str,
    /// The message for the model of that thread.
    pub message: &'a str,
    /// How the turn ended.
    pub status: &'a AgentStatus,
}

/// What the model is told about a script.
#[derive(Clone, Copy, Debug)]
pub struct CellAnswer<'a> {
    /// The number of the cell in its thread.
    pub cell: u64,
    /// How it stands.
    pub state: CellState<'a>,
    /// What it printed since the last answer.
    pub items: &'a [FunctionCallOutputContentItem],
}

/// How a script stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellState<'a> {
    /// It goes on.
    Yielded,
    /// It has ended by itself.
    Completed,
    /// It failed, with this text.
    Failed(&'a str),
    /// It was ended.
    Terminated,
}

/// A request to the model.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// The turn.
    pub turn: &'a str,
    /// The model.
    pub model: &'a str,
    /// The id of the compaction, if the request is for a summary.
    pub compaction: Option<&'a str>,
}
