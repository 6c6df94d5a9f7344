//! The server itself: its figures and its files.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reply to `rollout/compress`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutCompressResponse {}

/// Params of `server/diagnostics`: reads figures of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct ServerDiagnosticsParams {}

/// Reply to `server/diagnostics`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDiagnosticsResponse {
    /// Figures of the server.
    pub gauges: Vec<ServerDiagnosticsGauge>,
    /// Figures of the process.
    pub process: ServerDiagnosticsProcess,
}

/// Figures of the server's process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDiagnosticsProcess {
    /// Id of it.
    pub id: i64,
    /// Memory that the system charges to the process, in bytes; null if unknown.
    pub physical_footprint_bytes: Option<i64>,
    /// Memory in use, in bytes; null if unknown.
    pub resident_memory_bytes: Option<i64>,
}

/// A figure of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDiagnosticsGauge {
    /// Name for people.
    pub name: String,
    /// The figure.
    pub value: i64,
}
