//! Layer: engine. Trace bundles of sessions: the observer that records what the engine does.
//!
//! [`Traces`] starts a bundle for every root session; its agents share it. The observer converts what the engine
//! reports to events and payloads of the bundle format and passes them to a recorder with its own thread. So a
//! session never waits for the disk, except when its bundle is created, and it never fails because of the trace.
//!
//! Code map: `traces` (assigns bundles to sessions), `session` (events), `tools` (tool calls and commands), `cells` (scripts),
//! `thread_recorder` (used by both), `inference` and `compaction` (model requests), `requests` (keeps only the
//! differences between requests until they are written), `payloads` (the formats of payload files),
//! `settings`, `history` and `inputs` (what a replay of the session needs).

mod agents;
mod cells;
mod clock;
mod compaction;
mod history;
mod inference;
mod inputs;
mod payloads;
mod process_state;
mod requests;
mod session;
mod settings;
mod thread_recorder;
mod tools;
mod traces;

pub use history::{HISTORY_EVENT, RecordedHistory};
pub use inputs::{
    HOOKS_EVENT, INPUT_EVENT, RecordedHooks, RecordedInput, RecordedShellOutput, RecordedTaking,
    SHELL_EVENT, TAKEN_EVENT,
};
pub use settings::{ReplayedSession, SETTINGS_EVENT, SessionSettings, SettingsChange};
pub use tools::STOPPED_CALL;
pub use traces::Traces;
