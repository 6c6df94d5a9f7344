//! What can be asked of a thread, and the thread of an agent as those below its session see it.

mod agent_thread;
mod operation_reply;
mod requests;

pub use agent_thread::{AgentSession, AgentThread, SessionEnd};
pub use operation_reply::OperationReply;
pub use operation_reply::{OperationError, OperationResult};
pub use requests::{
    BackgroundTerminal, NewTurn, PinError, Sample, SampleError, SampleRequest, SettingsError,
    StartTurnError, SteerError, TaskKind, ThreadClosed, TurnPlace, TurnSettingsError,
    TurnSettingsPatch,
};
