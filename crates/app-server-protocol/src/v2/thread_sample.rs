//! Asking the model besides the turns of a thread.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::ReasoningEffort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rpc::RequestId;

/// Params of `thread/prediction/request`: asks for a guess at the next message; not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPredictionRequestParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Turn after which the question was asked.
    pub source_turn_id: String,
}

/// Reply to `thread/prediction/request`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPredictionRequestResponse {}

/// Payload of `thread/prediction/updated`: a guess at the next message changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPredictionUpdatedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// What came of it.
    pub result: ThreadPredictionResult,
    /// Turn after which the question was asked.
    pub source_turn_id: String,
}

/// Params of `thread/prepareApprovedPlan`: puts an approved plan into the context of a thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPrepareApprovedPlanParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// File that holds the plan; absent or null if there is none.
    pub attachment_path: Option<String>,
    /// The plan; must not be blank.
    pub markdown: String,
}

/// Reply to `thread/prepareApprovedPlan`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPrepareApprovedPlanResponse {
    /// Text for the model, or for the user to act on.
    pub prompt: String,
}

/// Params of `thread/sample`: asks the model once with the context of a thread, without a turn.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSampleParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Whether the turn may still be running.
    #[serde(default)]
    pub allow_in_progress_turn: bool,
    /// Whether tools of MCP servers are left out.
    #[serde(default)]
    pub disable_mcp: bool,
    /// Effort that the model should spend; absent or null keeps the current one.
    pub effort: Option<ReasoningEffort>,
    /// Turn that the client takes to be the latest.
    pub expected_turn_id: String,
    /// Whether cancelling stops the request.
    pub interrupt_on_cancel: Option<bool>,
    /// Text for the model, or for the user to act on.
    pub prompt: String,
    /// Strings to add to the metadata of model requests; absent or null adds none.
    pub responsesapi_client_metadata: Option<BTreeMap<String, String>>,
    /// What the request is for, in the client's words.
    pub thread_source: Option<String>,
    /// What caused the request, in the client's words.
    pub turn_trigger: Option<String>,
}

/// Reply to `thread/sample`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSampleResponse {
    /// Input tokens taken from the provider's cache; null if unknown.
    pub cached_input_tokens: Option<i64>,
    /// Input tokens; null if unknown.
    pub input_tokens: Option<i64>,
    /// Output tokens; null if unknown.
    pub output_tokens: Option<i64>,
    /// Id of the model's response; null if it has none.
    pub response_id: String,
    /// Turn after which the question was asked.
    pub source_turn_id: String,
    /// Text of it.
    pub text: Option<String>,
}

/// Params of `thread/sample/cancel`: gives up a `thread/sample`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSampleCancelParams {
    /// Id of the request that is meant.
    pub request_id: RequestId,
}

/// Reply to `thread/sample/cancel`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSampleCancelResponse {}

/// What came of a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadPredictionResult {
    /// Completed.
    Completed {
        /// Text of it.
        text: Option<String>,
    },
    /// Failed.
    Failed,
}
