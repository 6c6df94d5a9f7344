//! Interfaces that the embedder implements for sessions.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use codex_protocol::DynamicToolFunction;
use futures::future::BoxFuture;
use serde_json::Value;

/// Reads the instruction files of the user and the project.
pub trait InstructionFiles: Debug + Send + Sync {
    /// The text of the user's own files, and of those that apply to a working folder. Blocks on the file system.
    fn read(&self, cwd: Option<&Path>) -> Option<String>;

    /// The files that the text consists of, in order. Blocks on the file system.
    fn sources(&self, cwd: Option<&Path>) -> Vec<PathBuf>;

    /// The folders between a working folder and these paths below it that have an instruction file, outer ones first, with its text.
    /// Blocks on the file system.
    fn below(&self, cwd: &Path, paths: &[PathBuf]) -> Vec<(PathBuf, String)>;

    /// Whether models are told when the text changes, and of the files of folders that they enter.
    fn are_followed(&self) -> bool;
}

/// A call of a tool of the embedder.
#[derive(Clone, Debug)]
pub struct HostCall {
    /// The thread.
    pub thread: String,
    /// The turn that makes the call.
    pub turn: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments of the model.
    pub arguments: Value,
}

/// Tools that the embedder carries out. They are offered to the model if `are_offered` returns true; calls by their
/// names are answered in any case.
pub trait HostTools: Debug + Send + Sync {
    /// The tools.
    fn functions(&self) -> Vec<DynamicToolFunction>;

    /// Whether the model is offered them.
    fn are_offered(&self) -> bool;

    /// Carries a call out.
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<String, HostToolError>>;
}

/// A failed call of a tool of the embedder. The text is the output for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HostToolError(pub String);

/// A turn that completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedTurn {
    /// The thread of the turn.
    pub thread: String,
    /// The id of the turn.
    pub turn: String,
    /// The working folder of the turn.
    pub cwd: String,
    /// The client of the thread.
    pub client: Option<String>,
    /// The messages of the user that are still part of the history.
    pub input_messages: Vec<String>,
    /// The last message of the model.
    pub last_agent_message: Option<String>,
}

/// Is notified of turns that completed.
pub trait TurnEnded: Debug + Send + Sync {
    /// Called after the end of the turn was emitted. Must return at once.
    fn ended(&self, turn: EndedTurn);
}
