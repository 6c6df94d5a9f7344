//! Starting, resuming, forking, finding and closing threads.
//!
//! [`ThreadManager`] is the interface. `threads` makes sessions and knows all that run; `first_lines` writes
//! the beginning of a new rollout; `fork` cuts the lines of a thread.

mod agent_launcher;
mod first_lines;
mod fork;
mod left_inputs;
mod manager;
mod started;
mod threads;

pub use fork::ForkAt;
pub use left_inputs::write_left_inputs;
pub use manager::ThreadManager;
pub use started::{SpawnedAgent, StartError, StartedThread};
pub use threads::Ports;
