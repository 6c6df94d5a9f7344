//! What is asked of a session, as data, and why it is refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use codex_model_client::ModelError;
use codex_protocol::{
    ApprovalsReviewer, EnvironmentChoice, ReasoningEffort, ReasoningSummary, ResponseItem,
    ServiceTier, ThreadSettingsPatch, TokenUsage, UsageLimits,
};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::config::NotAllowed;
use crate::input::TurnInput;

/// Why nothing is pinned, or a pin stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// There is nothing to pin.
    #[error("there is no text to pin")]
    Empty,
    /// The text is too long.
    #[error("a pinned text has at most {1} bytes, and this one has {0}")]
    TooLong(usize, usize),
    /// There are too many pins.
    #[error("a thread has at most {0} pins: take others away first")]
    TooMany(usize),
    /// All texts together are too long.
    #[error(
        "all pinned texts have at most {1} bytes and a quarter of the model's window, and would have {0} bytes: take others away first"
    )]
    NoRoom(usize, usize),
    /// There is no such pin.
    #[error("pin not found: {0}")]
    Missing(String),
    /// Another process writes the thread.
    #[error("{0}")]
    Claimed(String),
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// A turn that is to start, and the settings that it changes for itself and those after it.
#[derive(Clone, Debug, Default)]
pub struct NewTurn {
    /// The id.
    pub id: String,
    /// The turn whose work it is part of, if it is not a work of its own.
    pub root_turn_id: Option<String>,
    /// The settings that change.
    pub settings: ThreadSettingsPatch,
    /// Items for the model before the input. Clients do not see them.
    pub context: Vec<ResponseItem>,
    /// The input of the user.
    pub input: TurnInput,
    /// The JSON Schema that the answer should follow, in this turn alone.
    pub output_schema: Option<Value>,
    /// The class of service of this turn alone.
    pub service_tier: Option<ServiceTier>,
    /// The limits of this turn alone, in place of those of each turn of the thread.
    pub limits: UsageLimits,
    /// Values of the client for the model's provider, in this turn alone.
    pub metadata: BTreeMap<String, String>,
    /// Whether the model is asked as things stand if there is no input.
    pub may_be_empty: bool,
}

/// Why no turn starts or goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartTurnError {
    /// There is no input.
    #[error("input must not be empty")]
    Empty,
    /// Another process writes the thread.
    #[error("{0}")]
    Claimed(String),
    /// Settings of the turn are not allowed.
    #[error(transparent)]
    Settings(SettingsError),
    /// The turn to be continued has ended, or another one has started since.
    #[error("turn `{0}` cannot be continued: it has ended, or another one has started since")]
    NotUnfinished(String),
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// Asks the model once with the context of the thread, at the end of the turn if one runs. Neither the history nor the file
/// change.
#[derive(Debug)]
pub struct SampleRequest {
    /// What it is asked.
    pub prompt: String,
    /// The effort of the model, if not that of the thread.
    pub effort: Option<ReasoningEffort>,
    /// If the receiver is dropped, the model is not asked any further.
    pub reply: oneshot::Sender<Result<Sample, SampleError>>,
}

/// The answer of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The server's id of the response.
    pub response_id: String,
    /// The last message, if there is one.
    pub text: Option<String>,
    /// The token usage, if the server reports it.
    pub usage: Option<TokenUsage>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// Too many requests wait for the end of the turn.
    #[error("too many requests wait for the end of the turn; try again later")]
    Busy,
    /// A limit on the use of the thread is reached.
    #[error("{0}")]
    Refused(String),
    /// The request failed.
    #[error(transparent)]
    Model(ModelError),
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// Settings of a running turn that change from its next request to the model on. What is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub struct TurnSettingsPatch {
    /// The turn.
    pub turn: String,
    /// The model.
    pub model: Option<String>,
    /// The effort of the model.
    pub effort: Option<ReasoningEffort>,
    /// The summaries of its reasoning.
    pub summary: Option<ReasoningSummary>,
    /// The class of service.
    pub service_tier: Option<ServiceTier>,
    /// Who decides about approvals.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Where the model runs commands and works on files, or none if it may not.
    pub environment: Option<Option<TurnPlace>>,
}

/// Where a turn runs commands and works on files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPlace {
    /// The folder on this machine, if it changes.
    pub cwd: Option<PathBuf>,
    /// The environments; empty for this machine alone.
    pub environments: Vec<EnvironmentChoice>,
}

/// Why a turn keeps its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnSettingsError {
    /// The feature is off.
    #[error("turn settings updates require the step_model_switching feature")]
    Disabled,
    /// The facts about the model are assumed.
    #[error("the {0} model has only fallback metadata")]
    UnknownModel(&'static str),
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// What kind of task it is. Only a regular one has a use for more input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskKind {
    /// A turn with the model.
    #[error("a turn")]
    Regular,
    /// A compaction.
    #[error("a compact turn")]
    Compact,
    /// A review.
    #[error("a review turn")]
    Review,
    /// A command that a person typed.
    #[error("a command")]
    UserShell,
    /// Files going back to a snapshot.
    #[error("an undo")]
    Undo,
}

/// Why settings stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An administrator does not allow the settings.
    #[error(transparent)]
    Forbidden(NotAllowed),
    /// Messages and files cannot name such a folder.
    #[error("cwd is not valid UTF-8: {0:?}")]
    UnnamedCwd(PathBuf),
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// Why input did not get into a turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    /// There was none.
    #[error("input must not be empty")]
    Empty,
    /// No turn runs.
    #[error("no active turn to steer")]
    NoTurn,
    /// Another turn runs.
    #[error("expected active turn id `{expected}` but found `{active}`")]
    OtherTurn {
        /// The turn that was meant.
        expected: String,
        /// The running task.
        active: String,
    },
    /// The task that runs has no use for input.
    #[error("cannot steer {0}")]
    NotSteerable(TaskKind),
    /// The thread is closed.
    #[error(transparent)]
    Closed(#[from] ThreadClosed),
}

/// The thread is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("internal error; agent loop died unexpectedly")]
pub struct ThreadClosed;

/// A command that runs in the background, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTerminal {
    /// What the model knows it by.
    pub id: i32,
    /// The item of the command.
    pub item_id: String,
    /// The script that its shell was given.
    pub script: String,
    /// The folder that it was started in.
    pub cwd: PathBuf,
}
