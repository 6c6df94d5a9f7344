//! Providers: where models are reached, and how requests to them look.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    /// The Responses API.
    #[default]
    Responses,
    /// Chat Completions.
    Chat,
}

/// A server that models are reached by. Two providers that are equal are reached in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Provider {
    /// Its name for people. `azure`, in any case, marks an Azure endpoint.
    pub name: String,
    /// The address that paths are appended to. Without one it is the hosted API that belongs to the
    /// credential.
    pub base_url: Option<String>,
    /// What it speaks.
    pub wire_api: WireApi,
    /// The variable with the key for it.
    pub env_key: Option<String>,
    /// What to tell a person in whose environment that is missing.
    pub env_key_instructions: Option<String>,
    /// A key for it, in the settings themselves.
    pub bearer_token: Option<Secret>,
    /// Parameters of every URL, not encoded any further.
    pub query_params: BTreeMap<String, String>,
    /// Headers of every request.
    pub http_headers: BTreeMap<String, String>,
    /// Headers of every request whose values are in variables.
    pub env_http_headers: BTreeMap<String, String>,
    /// How often a request is repeated before there is any reply.
    pub request_max_retries: u32,
    /// How often a request is repeated after its stream failed.
    pub stream_max_retries: u32,
    /// After how long without an event a stream counts as dead.
    pub stream_idle_timeout: Duration,
    /// How long opening a websocket may take.
    pub websocket_connect_timeout: Duration,
    /// Whether the login of the session is for this provider. Only then is it sent.
    pub requires_openai_auth: bool,
    /// Whether it can be reached over a websocket.
    pub supports_websockets: bool,
    /// Whether it takes compressed requests from a user with a ChatGPT login.
    pub takes_compressed_requests: bool,
}

impl Provider {
    /// A provider with a name and, if it is not the hosted API, an address; all else is as usual.
    #[must_use]
    pub fn new(name: impl Into<String>, base_url: Option<String>) -> Self {
        Self {
            name: name.into(),
            base_url,
            wire_api: WireApi::Responses,
            env_key: None,
            env_key_instructions: None,
            bearer_token: None,
            query_params: BTreeMap::new(),
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
            request_max_retries: 4,
            stream_max_retries: 5,
            stream_idle_timeout: Duration::from_secs(300),
            websocket_connect_timeout: Duration::from_secs(15),
            requires_openai_auth: false,
            supports_websockets: false,
            takes_compressed_requests: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_differ_by_tokens_that_are_not_printed() {
        let with = |token: &str| Provider {
            bearer_token: Some(Secret::from(token)),
            ..Provider::new("Mine", None)
        };
        assert_ne!(with("one"), with("other"));
        assert_eq!(format!("{:?}", with("one")), format!("{:?}", with("other")));
    }
}
