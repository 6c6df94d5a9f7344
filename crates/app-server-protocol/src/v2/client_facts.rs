//! Facts that the server asks its client for.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `attestation/generate`: asks the client for a proof of what it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct AttestationGenerateParams {}

/// Reply to `attestation/generate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationGenerateResponse {
    /// The token.
    pub token: String,
}

/// Params of `currentTime/read`: asks the client for its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTimeReadParams {
    /// Thread that it concerns.
    pub thread_id: String,
}

/// Reply to `currentTime/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTimeReadResponse {
    /// The time of the client, in Unix seconds.
    pub current_time_at: i64,
}
