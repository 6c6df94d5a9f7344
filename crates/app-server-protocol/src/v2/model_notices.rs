//! Notices about a model and about logins to its provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload of `model/safetyBuffering/updated`: the provider checks an answer before it shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelSafetyBufferingUpdatedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Model that answers sooner; null if there is none.
    pub faster_model: Option<String>,
    /// Slug of the model.
    pub model: String,
    /// Why.
    pub reasons: Vec<String>,
    /// Whether clients should show that they wait.
    pub show_buffering_ui: bool,
    /// Turn that it concerns.
    pub turn_id: String,
    /// What the request seems to be about.
    pub use_cases: Vec<String>,
}

/// Payload of `model/verification`: the provider verified a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelVerificationNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Turn that it concerns.
    pub turn_id: String,
    /// What was verified.
    pub verifications: Vec<ModelVerification>,
}

/// Payload of `modelProvider/authRecoveryCompleted`: a login to a provider was renewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthRecoveryNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Text for people.
    pub message: String,
    /// The model provider.
    pub provider: String,
    /// Turn that it concerns.
    pub turn_id: String,
}

/// Something that was verified of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModelVerification {
    /// Trusted access for cyber.
    TrustedAccessForCyber,
}
