//! Writing a bundle while a session runs.
//!
//! A [`Recorder`] is a handle on one bundle. Recording numbers what happened, puts it on a bounded queue and returns; one
//! thread owns the files, lets events come together, makes them of what was captured, and writes payloads before the
//! events that refer to them. A full
//! queue or a failing disk loses events, never the session: their numbers are missing from the log, and a note of the
//! gap follows as soon as something can be written again. A recorder that is off costs a branch.

mod bundle;
mod orphans;
mod payload;
mod queue;
mod recorder;
mod shard;
mod sink;
mod worker;

pub(crate) use bundle::BundleFiles;
pub use bundle::CreateError;
pub use payload::Payloads;
pub use queue::Scope;
pub use recorder::Recorder;
pub(crate) use sink::PayloadSink;
pub use sink::RecordingLimits;
