//! What comes in for a turn: its input, the queue for more while it runs, and the signal to stop.

mod queue;
mod saved_input;
mod stop_signal;
mod turn_input;

pub use queue::{HiddenItem, Input, InputQueue};
pub use saved_input::SavedInput;
pub use saved_input::{LeftInput, SavedContent, left_inputs};
pub use stop_signal::{LateInput, StopSignal};
pub use turn_input::CLIENT_CALL;
pub use turn_input::{ToolOutput, TurnInput};
