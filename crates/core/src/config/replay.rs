//! What a replay of a recorded session provides in place of tools, MCP servers and skills.

use std::fmt::Debug;
use std::sync::Arc;

use codex_model_client::ToolSpec;
use codex_protocol::{FunctionCallOutputBody, ThreadId};
use codex_skills::SkillSet;
use futures::future::BoxFuture;

/// A recorded call that failed, with the text for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordedFailure(pub String);

/// The recorded answer to a call.
pub type RecordedAnswer = Result<FunctionCallOutputBody, RecordedFailure>;

/// Provides what was recorded. Tools that start and end agents are called too, and their own answers are dropped.
pub trait ReplaySource: Debug + Send + Sync {
    /// The answer to a call. It never comes for a call that was stopped.
    fn answer(&self, thread: &ThreadId, call: &str) -> BoxFuture<'static, RecordedAnswer>;

    /// The tools of MCP servers; none if there are no servers.
    fn mcp_tools(&self, thread: &ThreadId) -> Option<Vec<ToolSpec>>;

    /// The skills that the model knows.
    fn skills(&self, thread: &ThreadId) -> Arc<SkillSet>;

    /// The text of a skill that the next request contains.
    fn skill_text(&self, thread: &ThreadId, path: &str) -> Option<String>;
}
