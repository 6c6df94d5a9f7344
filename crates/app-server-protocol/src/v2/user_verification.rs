//! Proofs that the user is present.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rpc::RequestId;

/// Params of `userVerification/cancel`: gives up a verification of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct UserVerificationCancelParams {
    /// Id of the request that is meant.
    pub request_id: RequestId,
}

/// Reply to `userVerification/cancel`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserVerificationCancelResponse {}

/// Params of `userVerification/delete`: deletes the credential of the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct UserVerificationDeleteParams {}

/// Reply to `userVerification/delete`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserVerificationDeleteResponse {}

/// Params of `userVerification/enroll`: creates a credential of the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct UserVerificationEnrollParams {}

/// Reply to `userVerification/enroll`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserVerificationEnrollResponse {
    /// Algorithm of the key; null if unknown.
    pub algorithm: Option<String>,
    /// Id of the credential.
    pub credential_id: String,
    /// Public key; null if unknown.
    pub public_key: Option<String>,
}

/// Params of `userVerification/status`: reads whether the user can be verified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct UserVerificationStatusParams {}

/// Reply to `userVerification/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserVerificationStatusResponse {
    /// Id of the credential.
    pub credential_id: Option<String>,
    /// Why, for people; null if it is available.
    pub unavailable_message: Option<String>,
    /// Why there is none; null if it is available.
    pub unavailable_reason: Option<UserVerificationUnavailableReason>,
}

/// Params of `userVerification/verify`: has the user prove to be present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct UserVerificationVerifyParams {
    /// What is to be signed.
    pub challenge: String,
    /// Description for people.
    pub description: String,
    /// Title for people.
    pub title: String,
}

/// Reply to `userVerification/verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserVerificationVerifyResponse {
    /// The proof.
    pub proof: UserVerificationProof,
}

/// Why users cannot be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UserVerificationUnavailableReason {
    /// Biometrics unavailable.
    BiometricsUnavailable,
    /// Credential missing.
    CredentialMissing,
    /// Provider unavailable.
    ProviderUnavailable,
}

/// Proof that the user is present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserVerificationProof {
    /// Id of the credential.
    pub credential_id: String,
    /// The signature.
    pub signature: String,
}
