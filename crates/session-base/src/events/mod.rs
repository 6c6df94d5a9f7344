//! The events of a thread: the queue, the emitters in front of it, and what follows from events.

mod agent_status;
mod emitter;
mod older_deltas;
mod turn_emitter;
mod turn_output;

pub use agent_status::{go_on, status_after};
pub use emitter::EventReceiver;
pub use emitter::{Emitter, HeldEvents};
pub use older_deltas::older_delta;
pub use turn_emitter::{TurnEmitter, stored_user_message};
pub use turn_output::{MAX_TURN_OUTPUTS, TurnOutput, TurnOutputKind, TurnOutputListener};
