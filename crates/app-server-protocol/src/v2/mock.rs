//! A method that does nothing, with which clients can test how experimental methods are gated.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `mock/experimentalMethod`.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct MockExperimentalMethodParams {
    /// Text to send back; absent sends back null.
    pub value: Option<String>,
}

/// Reply to `mock/experimentalMethod`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MockExperimentalMethodResponse {
    /// Text that was sent; null if there was none.
    pub echoed: Option<String>,
}
