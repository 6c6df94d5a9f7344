//! What a replay of a recorded session provides in place of tools, hooks, MCP servers and skills.

use std::fmt::Debug;
use std::sync::Arc;

use codex_hooks::HookEffects;
use codex_model_client::ToolSpec;
use codex_protocol::{FunctionCallOutputBody, HookEventName, ResponseItem, ThreadId};
use codex_skills::SkillSet;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// A recorded call that failed, with the text for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordedFailure(pub String);

/// The recorded answer to a call.
pub type RecordedAnswer = Result<FunctionCallOutputBody, RecordedFailure>;

/// An input that a running turn took for a request, or at its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenInput {
    /// From the user.
    User,
    /// A notice of the engine, for example that an agent is done.
    Notice,
    /// An item about something that a replay does not do again.
    Note(Box<ResponseItem>),
}

/// The hooks of an event that have run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HooksRun {
    /// The event.
    pub event: HookEventName,
    /// The call of a tool that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// In the order in which they are listed.
    pub hooks: Vec<FinishedHook>,
}

/// A hook that has run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinishedHook {
    /// The id of the run.
    pub run_id: String,
    /// The token limit of its additional context.
    pub context_limit: Option<u64>,
    /// What the engine has to do.
    pub effects: HookEffects,
}

/// Provides what was recorded. Tools that start and end agents are called too, and their own answers are dropped.
pub trait ReplaySource: Debug + Send + Sync {
    /// Whether this tool runs for real.
    fn runs_tool(&self, name: &str) -> bool;

    /// What a thread took of the input that waited, before its next request or at the end of its turn. None if the
    /// recording does not say.
    fn taken_inputs(&self, thread: &ThreadId) -> Option<Vec<TakenInput>>;

    /// Whether a thread takes the next notice now, in its running turn or without one. True if the recording does not
    /// say.
    fn takes_notice(&self, thread: &ThreadId, in_turn: bool) -> bool;

    /// Returns when the turn of a thread may end.
    fn before_turn_end(&self, thread: &ThreadId) -> BoxFuture<'static, ()>;

    /// Returns when an agent may take the interrupt that a tool of its parent sent.
    fn before_interrupt(&self, thread: &ThreadId) -> BoxFuture<'static, ()>;

    /// Returns when a tool that starts, tells or ends agents may run: what it ends must have come so far.
    fn before_call(&self, thread: &ThreadId, call: &str) -> BoxFuture<'static, ()>;

    /// Whether hooks of an event ran.
    fn has_hooks(&self, event: HookEventName) -> bool;

    /// The hooks that ran for an event.
    fn hooks(
        &self,
        thread: &ThreadId,
        event: HookEventName,
        call: Option<&str>,
    ) -> Vec<FinishedHook>;

    /// The record of a command that the user typed, for the model.
    fn user_shell(&self, thread: &ThreadId) -> BoxFuture<'static, ResponseItem>;

    /// The answer to a call. It never comes for a call that was stopped.
    fn answer(&self, thread: &ThreadId, call: &str) -> BoxFuture<'static, RecordedAnswer>;

    /// The tools of MCP servers; none if there are no servers.
    fn mcp_tools(&self, thread: &ThreadId) -> Option<Vec<ToolSpec>>;

    /// The skills that the model knows.
    fn skills(&self, thread: &ThreadId) -> Arc<SkillSet>;

    /// The text of a skill that the next request contains.
    fn skill_text(&self, thread: &ThreadId, path: &str) -> Option<String>;

    /// What the next request says last that the instruction files say.
    fn instructions(&self, thread: &ThreadId) -> Option<String>;

    /// The folders below the working folder whose instruction files the next request has, with the last text of each.
    fn folder_instructions(&self, thread: &ThreadId) -> Vec<(String, String)>;
}
