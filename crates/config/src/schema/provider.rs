//! `[model_providers.<id>]`: model providers.

use std::collections::BTreeMap;

use codex_protocol::WireApi;
use serde::{Deserialize, Serialize};

/// One model provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderFile {
    /// The display name.
    pub name: String,
    /// The base URL.
    pub base_url: Option<String>,
    /// The environment variable with the key.
    pub env_key: Option<String>,
    /// How users get a key.
    pub env_key_instructions: Option<String>,
    /// A key, stored in the settings.
    pub experimental_bearer_token: Option<String>,
    /// The protocol.
    #[serde(default)]
    pub wire_api: WireApi,
    /// Query parameters of every request.
    pub query_params: Option<BTreeMap<String, String>>,
    /// Headers of every request.
    pub http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose values are in environment variables.
    pub env_http_headers: Option<BTreeMap<String, String>>,
    /// How often a failed request is repeated.
    pub request_max_retries: Option<u64>,
    /// How often a request with a broken stream is repeated.
    pub stream_max_retries: Option<u64>,
    /// The idle time limit of a stream.
    pub stream_idle_timeout_ms: Option<u64>,
    /// The time limit for opening a websocket.
    pub websocket_connect_timeout_ms: Option<u64>,
    /// Whether it requires a login.
    #[serde(default)]
    pub requires_openai_auth: bool,
    /// Whether it supports websockets.
    #[serde(default)]
    pub supports_websockets: bool,
}
