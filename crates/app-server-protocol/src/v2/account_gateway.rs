//! Logins to a gateway in front of a model provider.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload of `account/gatewayOAuth/changed`: a login to a gateway went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOAuthChangedNotification {
    /// Address where the user logs in; null if there is none.
    pub auth_url: Option<String>,
    /// Why it failed; null if it did not.
    pub error: Option<String>,
    /// Id of the login.
    pub login_id: Option<String>,
    /// Configuration key of the model provider.
    pub provider_id: String,
    /// State that it is in.
    pub status: GatewayOAuthStatus,
}

/// Reply to `account/gatewayOAuth/login`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOAuthLoginResponse {
    /// Text for the model, or for the user to act on.
    pub prompt: Option<GatewayOAuthPrompt>,
}

/// Reply to `account/gatewayOAuth/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOAuthReadResponse {
    /// Why it failed; null if it did not.
    pub error: Option<String>,
    /// Configuration key of the model provider.
    pub provider_id: String,
    /// Name of the provider for people.
    pub provider_name: String,
    /// Whether it is needed.
    pub required: bool,
    /// State that it is in.
    pub status: Option<GatewayOAuthStatus>,
    /// Whether a login with a code is possible.
    #[serde(default)]
    pub supports_device_auth: bool,
}

/// How far a login is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GatewayOAuthStatus {
    /// Failed.
    Failed,
    /// Not ready.
    NotReady,
    /// Started.
    Started,
    /// Succeeded.
    Succeeded,
}

/// What the user has to do for a login with a code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOAuthPrompt {
    /// Id of the login.
    pub login_id: String,
    /// Code that the user enters.
    pub user_code: String,
    /// Address where the user enters the code.
    pub verification_url: String,
}

/// None
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOAuthLoginParams {
    /// Whether to log in with a code instead of a browser.
    #[serde(default)]
    pub device_auth: bool,
    /// Configuration key of the model provider; absent or null takes the configured one.
    pub model_provider: Option<String>,
}

/// None
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOAuthReadParams {
    /// Configuration key of the model provider; absent or null takes the configured one.
    pub model_provider: Option<String>,
}

/// Reply to `account/gatewayOAuth/cancel`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayOAuthCancelResponse {}
