//! Layer: engine. Trace bundles of sessions: the observer that writes down what the engine does.
//!
//! [`Traces`] begins a bundle for every root session and lets its agents share it. What it is told by
//! the engine it turns into events and payloads of the bundle format, and hands them to a recorder,
//! which writes them elsewhere. So nothing here waits for a disk, except that a bundle is begun while
//! its session starts, and nothing here can fail a session.
//!
//! Code map: `traces` (which session has which bundle), `session` (events), `tools` (calls and
//! commands), `thread_recorder` (where both record), `inference` and `compaction` (what the model was asked and answered), `requests`
//! (what is kept of a request until it is written), `payloads` (the shapes of the payload files).

mod agents;
mod clock;
mod compaction;
mod inference;
mod payloads;
mod process_state;
mod requests;
mod session;
mod thread_recorder;
mod tools;
mod traces;

pub use traces::Traces;
