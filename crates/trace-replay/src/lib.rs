//! Layer: engine. Runs recorded sessions again and compares their requests with the recorded ones.
//!
//! The engine runs as it is. Its model answers with the recorded responses and its tools with the recorded outputs; inputs
//! of the session come when they came. The first request that differs ends the replay. Nothing uses a network, and no
//! command runs, except with [`LiveTools`] and a [`Continuation`].
//!
//! What is recorded is ordered by the numbers of the events. A response, an output or an input comes only after all
//! requests, turn ends and tool calls that were recorded before it have come about ([`timeline`]), so a replay does not
//! depend on speed.

mod cells;
mod client;
mod clock;
mod continuation;
mod difference;
mod directing;
mod endings;
mod errors;
mod failure;
mod history;
mod ids;
mod instructions;
mod limits;
mod live;
mod mcp_tools;
mod observer;
mod replay;
mod script;
mod skills;
mod state;
mod thread_script;
mod timeline;
mod tools;

pub use continuation::Continuation;
pub use difference::{Difference, DifferenceKind, FieldDifference};
pub use failure::ReplayFailure;
pub use live::LiveTools;
pub use replay::{Outcome, ReplayOptions, Replayed, replay, working_folder};
