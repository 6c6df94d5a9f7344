//! `[model_providers.<id>]`: servers that models are reached by.

use std::collections::BTreeMap;

use codex_protocol::WireApi;
use serde::{Deserialize, Serialize};

/// One model provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderFile {
    /// Its name for people.
    pub name: String,
    /// Where its endpoints are.
    pub base_url: Option<String>,
    /// The variable with the key for it.
    pub env_key: Option<String>,
    /// How to get that key.
    pub env_key_instructions: Option<String>,
    /// A key for it, in the settings themselves.
    pub experimental_bearer_token: Option<String>,
    /// What it speaks.
    #[serde(default)]
    pub wire_api: WireApi,
    /// Parameters added to every address.
    pub query_params: Option<BTreeMap<String, String>>,
    /// Headers of every request.
    pub http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose values are in variables.
    pub env_http_headers: Option<BTreeMap<String, String>>,
    /// How often a request is tried again.
    pub request_max_retries: Option<u64>,
    /// How often a broken stream is tried again.
    pub stream_max_retries: Option<u64>,
    /// How long a stream may be silent.
    pub stream_idle_timeout_ms: Option<u64>,
    /// How long opening a websocket may take.
    pub websocket_connect_timeout_ms: Option<u64>,
    /// Whether it goes with a login.
    #[serde(default)]
    pub requires_openai_auth: bool,
    /// Whether it can be reached over a websocket.
    #[serde(default)]
    pub supports_websockets: bool,
}
