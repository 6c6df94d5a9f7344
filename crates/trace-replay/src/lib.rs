//! Layer: engine. Runs recorded sessions again and compares their requests with the recorded ones.
//!
//! The engine runs as it is. Its model answers with the recorded responses and its tools with the recorded outputs; inputs
//! of the session come when they came. The first request that differs ends the replay. Nothing uses a network, and no
//! command runs.
//!
//! What is recorded is ordered by the numbers of the events. A response, an output or an input comes only after all
//! requests, turn ends and tool calls that were recorded before it have come about ([`timeline`]), so a replay does not
//! depend on speed.

mod client;
mod clock;
mod difference;
mod errors;
mod ids;
mod observer;
mod replay;
mod script;
mod skills;
mod state;
mod timeline;
mod tools;

pub use difference::{Difference, DifferenceKind, FieldDifference};
pub use replay::{Outcome, ReplayFailure, ReplayOptions, Replayed, replay};
