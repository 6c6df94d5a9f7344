//! The interfaces to everything outside: model, processes, clock, ids, and an observer.
//!
//! Tests implement them, so whole turns run without network, processes or waiting.

mod clock;
mod ids;
mod model;
mod observer;
mod prefix_break;
mod provider_model;
mod session_input;

pub use clock::{Clock, SystemClock};
pub use codex_exec::{ProcessInput, ProcessOwner, Processes, RunningProcess, SystemProcesses};
pub use ids::{Ids, RandomIds};
pub use model::Model;
pub use observer::{
    AgentResult, CellAnswer, CellState, ModelCall, Observer, Observers, StartingHistory,
    StartingThread,
};
pub use prefix_break::{PrefixBreak, PrefixChange};
pub use provider_model::ProviderModel;
pub use session_input::{ObservedToolOutput, ObservedTurn, ObservedTurnInput, SessionInput};
