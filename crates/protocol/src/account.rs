//! Facts about the account that the model is used with.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mark_members;

/// The ChatGPT plan of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PlanType {
    /// The free plan.
    Free,
    /// The Go plan.
    Go,
    /// The Plus plan.
    Plus,
    /// The Pro plan.
    Pro,
    /// The Team plan.
    Team,
    /// The Business plan.
    Business,
    /// The Enterprise plan.
    Enterprise,
    /// The education plan.
    Edu,
    /// A plan that this version does not know.
    #[serde(other)]
    Unknown,
}

/// The only way of logging in that managed configuration allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ForcedLoginMethod {
    /// With a ChatGPT account.
    Chatgpt,
    /// With an API key.
    Api,
}

/// How requests to the model are authorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum AuthMode {
    /// An API key.
    Apikey,
    /// A ChatGPT login whose tokens the engine stores and refreshes.
    Chatgpt,
    /// ChatGPT tokens that the client hands in and renews.
    ChatgptAuthTokens,
    /// A personal access token of a ChatGPT account.
    #[since("0.140")]
    PersonalAccessToken,
}
