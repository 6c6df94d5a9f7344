//! The bundle on disk: manifest, log lines, payload files.
//!
//! ```text
//! trace-<trace_id>-<thread_id>/
//!   manifest.json        written once, first
//!   trace.jsonl          one event a line
//!   payloads/<n>.json    payloads, each written before the event that names it
//!   payloads/<n>.zst     many payloads in one compressed file, in schema 3
//!   state.json           made by the reducer
//! ```
//!
//! These are the types of schema versions 1, 2 and 3 and nothing else: no reading, no writing, no meaning. A bundle is of one
//! version throughout.

mod checksum;
mod event;
mod payload;
mod schema;
mod status;

use serde::{Deserialize, Serialize};

pub use checksum::Checksum;
pub(crate) use checksum::{line_agrees, seal_line};
pub use event::{Event, LogLine, Requester, Summary, ToolKind};
pub(crate) use payload::shard_path;
pub use payload::{PayloadCapture, PayloadKind, PayloadRef, ShardPlace};
pub use schema::Schema;
pub use status::{CellStatus, ExecutionStatus, RolloutStatus};

use crate::ids::{RolloutId, ThreadId, TraceId};

/// The `event_type` under which the recorder notes that it lost events.
pub const GAP_EVENT: &str = "trace_gap";

/// The environment variable that holds the folder in which every root session begins a bundle.
pub const ROOT_VARIABLE: &str = "CODEX_ROLLOUT_TRACE_ROOT";

/// The environment variable that holds the schema version to write.
pub const SCHEMA_VARIABLE: &str = "CODEX_ROLLOUT_TRACE_SCHEMA";

pub(crate) const MANIFEST_FILE: &str = "manifest.json";
pub(crate) const LOG_FILE: &str = "trace.jsonl";
pub(crate) const PAYLOADS_DIR: &str = "payloads";
pub(crate) const STATE_FILE: &str = "state.json";

/// `manifest.json`: which bundle this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema_version: u32,
    pub trace_id: TraceId,
    pub rollout_id: RolloutId,
    pub root_thread_id: ThreadId,
    pub started_at_unix_ms: i64,
    pub raw_event_log: String,
    pub payloads_dir: String,
}
