//! The handle of a thread, and the requests that go through it to the session.

mod handle;
mod requests;
mod started;

pub use handle::{Thread, unreadable_submission};
pub use requests::{
    BackgroundTerminal, McpServerUnavailable, NewTurn, PinError, Sample, SampleError,
    SettingsError, StartTurnError, SteerError, TaskKind, ThreadClosed, TurnPlace,
    TurnSettingsError, TurnSettingsPatch,
};
pub(crate) use requests::{
    NewPin, SampleRequest, SteerRequest, ThreadRequest, TurnContinuation, TurnReply,
};
pub use started::{SpawnedAgent, StartError, StartedThread};
