//! Layer: engine. Trace bundles of a session: the writer, the reduced model, and the offline reducer.
//!
//! A bundle is a folder with an ordered log of raw events and the payload files that they refer to ([`mod@format`]).
//! It is written by a [`Recorder`] while a session runs, and nothing in that can block or fail the session.
//! Afterwards [`replay_bundle`] reduces it to a graph ([`model`]) that [`write_state`] puts into `state.json`.
//!
//! The crate owns the bundle format. It knows no engine type, so that a bundle can be read without one.

mod bundle_folder;
mod convert;
mod follow;
pub mod format;
pub mod ids;
mod json;
mod log_lines;
pub mod model;
mod payload_content;
mod payload_files;
mod recording;
mod reduce;
mod shards;
mod state_file;
mod write;

pub use convert::{Conversion, ConvertError, convert_bundle, copy_with_payloads};
pub use follow::BundleFollower;
pub use payload_content::{BundlePayloads, PayloadSums};
pub use recording::Recording;
pub use reduce::{
    Changes, Fault, Problem, Problems, ProtocolEvent, Reduction, ReplayError, Severity, Strictness,
    read_manifest, replay_bundle, replay_bundle_with,
};
pub use state_file::{state_path, write_state};
pub use write::{CreateError, Payloads, Recorder, RecordingLimits, Scope};
