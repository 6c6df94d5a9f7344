//! Credentials for model providers in the cloud.

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `account/bedrock/checkGovCloudRequirements`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct BedrockCheckGovCloudRequirementsParams {}

/// Reply to `account/bedrock/checkGovCloudRequirements`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BedrockCheckGovCloudRequirementsResponse {
    /// Whether the credentials belong to a government cloud.
    pub is_gov_cloud: bool,
    /// Whether the user should be warned.
    pub should_warn: bool,
}

/// Params of `account/bedrock/discover`: lists credentials for Amazon Bedrock that are on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct BedrockDiscoverParams {}

/// Reply to `account/bedrock/discover`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BedrockDiscoverResponse {
    /// Credentials in environment variables.
    pub environment_credentials: Vec<BedrockEnvironmentCredential>,
    /// Profiles in files.
    pub profiles: Vec<BedrockAwsProfile>,
}

/// Params of `account/bedrock/setup`: sets the credentials for Amazon Bedrock.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum BedrockSetupParams {
    /// Profile.
    Profile {
        /// Named profile to use.
        profile: String,
        /// Region of the cloud provider.
        region: String,
    },
    /// Environment.
    Environment {
        /// Region of the cloud provider.
        region: String,
    },
}

/// Reply to `account/bedrock/setup`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BedrockSetupResponse {}

/// Params of `account/gcp/setup`: sets the credentials for Google Cloud.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GcpSetupParams {
    /// Path of the file with the credentials.
    pub credential_file: Option<String>,
    /// Location of the cloud provider.
    pub location: Option<String>,
    /// Project that it concerns.
    pub project_id: String,
}

/// Reply to `account/gcp/setup`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GcpSetupResponse {}

/// A profile of the cloud provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BedrockAwsProfile {
    /// Name for people.
    pub name: String,
    /// Region of the cloud provider.
    pub region: Option<String>,
}

/// Credentials in environment variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BedrockEnvironmentCredential {
    /// Region of the cloud provider.
    pub region: Option<String>,
    /// Which kind it is.
    pub r#type: AwsCredentialType,
}

/// Kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsCredentialType {
    /// Access keys.
    AccessKeys,
    /// Bedrock api key.
    BedrockApiKey,
}
