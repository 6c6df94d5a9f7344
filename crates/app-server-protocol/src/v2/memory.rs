//! Memories of threads.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reply to `memory/reset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryResetResponse {}

/// Params of `memory/status`: reads whether there are memories.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatusParams {
    /// How many threads are enough.
    pub min_consolidated_threads: Option<u32>,
}

/// Reply to `memory/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatusResponse {
    /// Threads that memories were made of.
    pub v2_consolidated_threads: i64,
    /// Whether there are enough of them.
    pub v2_ready: bool,
}

/// Params of `thread/memory/read`: reads what is remembered of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMemoryReadParams {
    /// Thread that it concerns.
    pub thread_id: String,
}

/// Reply to `thread/memory/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMemoryReadResponse {
    /// Figures in sum, or a short text.
    pub summary: Option<String>,
}

/// Params of `thread/memoryMode/set`: sets whether memories are made of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMemoryModeSetParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Which way is used.
    pub mode: ThreadMemoryMode,
}

/// Reply to `thread/memoryMode/set`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadMemoryModeSetResponse {}

/// Whether memories are made of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadMemoryMode {
    /// Disabled.
    Disabled,
    /// Enabled.
    Enabled,
}
