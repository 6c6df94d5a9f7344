//! The thread of an agent, for what stands below its session: the tree of agents, their tools, and reviewers.

use std::fmt::Debug;
use std::sync::Arc;

use codex_protocol::{AgentStatus, Op, Submission, ThreadId};
use futures::future::{BoxFuture, Shared};
use tokio::sync::watch;

use super::requests::{NewTurn, StartTurnError, ThreadClosed};

/// A running agent. Whoever has it keeps the session from ending by itself.
pub type AgentThread = Arc<dyn AgentSession>;

/// The end of a session. It keeps the session running, as whoever can ask it does.
pub type SessionEnd = Shared<BoxFuture<'static, ()>>;

/// What is asked of the session of an agent from below.
pub trait AgentSession: Debug + Send + Sync {
    fn id(&self) -> &ThreadId;

    /// Whether it can be loaded again once it has ended.
    fn is_stored(&self) -> bool;

    fn status(&self) -> watch::Receiver<AgentStatus>;

    /// Submits an operation; waits while the queue is full. Returns the id of the submission.
    fn submit(&self, op: Op) -> BoxFuture<'_, Result<String, ThreadClosed>>;

    /// Submits an operation. Returns false if the session has ended or its queue is full.
    fn try_submit(&self, submission: Submission) -> bool;

    /// Says that a message asks for a turn. Returns false if the session has ended or its queue is full.
    fn try_wake(&self) -> bool;

    /// Starts a turn.
    fn start_turn(&self, turn: NewTurn) -> BoxFuture<'_, Result<String, StartTurnError>>;

    fn has_ended(&self) -> bool;

    fn end(&self) -> SessionEnd;
}
