//! `[model_providers.<id>]`: model providers.

use std::collections::BTreeMap;

use codex_protocol::WireApi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One model provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderFile {
    /// The name for people. Default: the id.
    pub name: Option<String>,
    /// The address, with the part before `/responses` or `/chat/completions`.
    pub base_url: Option<String>,
    /// The environment variable with the key.
    pub env_key: Option<String>,
    /// How users get a key.
    pub env_key_instructions: Option<String>,
    /// A key, stored in the settings.
    pub experimental_bearer_token: Option<String>,
    /// The protocol. Default: `responses`.
    #[serde(default)]
    pub wire_api: WireApi,
    /// Query parameters of every request.
    pub query_params: Option<BTreeMap<String, String>>,
    /// Headers of every request.
    pub http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose values are in environment variables.
    pub env_http_headers: Option<BTreeMap<String, String>>,
    /// How often a failed request is repeated, up to 100. Default: 4.
    pub request_max_retries: Option<u64>,
    /// How often a request with a broken stream is repeated, up to 100. Default: 5.
    pub stream_max_retries: Option<u64>,
    /// How long a stream may say nothing, in milliseconds. Default: 300000.
    pub stream_idle_timeout_ms: Option<u64>,
    /// How long opening a websocket may take, in milliseconds. Default: 15000.
    pub websocket_connect_timeout_ms: Option<u64>,
    /// Whether it takes the login of the hosted service. Default: false.
    #[serde(default)]
    pub requires_openai_auth: bool,
    /// Whether it takes websockets. Default: false.
    #[serde(default)]
    pub supports_websockets: bool,
}
