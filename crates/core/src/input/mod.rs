//! What comes in for a turn: its input, the queue for more while it runs, and the signal to stop.

mod queue;
mod stop_signal;
mod turn_input;

pub(crate) use queue::{Input, InputQueue};
pub(crate) use stop_signal::StopSignal;
pub use turn_input::{ToolOutput, TurnInput};
