//! Where threads are stored and how full they may be, as other releases write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[experimental_thread_store]`. Stores that this program does not have are errors, because they promise that nothing is
/// written to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ThreadStoreFile {
    /// Files in the home folder.
    Local,
}

/// What the limit of automatic compaction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactScope {
    Total,
    BodyAfterPrefix,
}
