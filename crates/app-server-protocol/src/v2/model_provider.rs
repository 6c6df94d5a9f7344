//! The model providers and how they are used.

use codex_app_server_protocol_macros::{Experimental, Tagged};
use codex_protocol::{Update, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `modelProvider/capabilities/read`: reads what the provider can do besides text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct ModelProviderCapabilitiesReadParams {}

/// Reply to `modelProvider/capabilities/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ModelProviderCapabilitiesReadResponse {
    /// Whether it takes tools in namespaces.
    #[until("0.140")]
    pub namespace_tools: bool,
    /// Whether it makes images.
    pub image_generation: bool,
    /// Whether it searches the web.
    pub web_search: bool,
}

/// Params of `modelProvider/config/write`: changes how a provider is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ModelProviderConfigWriteParams {
    /// How the provider is used.
    pub settings: ProviderSettingsPatch,
}

/// Reply to `modelProvider/config/write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelProviderConfigWriteResponse {
    /// The model provider.
    pub provider: ModelProviderSummary,
}

/// Params of `modelProvider/default/set`: chooses the provider of new threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ModelProviderDefaultSetParams {
    /// Configuration key of the model provider.
    pub provider_id: String,
}

/// Params of `modelProvider/list`: lists the model providers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct ModelProviderListParams {}

/// Reply to `modelProvider/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelProviderListResponse {
    /// Whether clients may choose another default.
    pub can_change_default: bool,
    /// Entries of the page, in order.
    pub data: Vec<ModelProviderSummary>,
    /// Provider of new threads.
    pub default_provider_id: String,
}

/// A model provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelProviderSummary {
    /// Id of it.
    pub id: String,
    /// Address of the provider; null for its default.
    pub base_url: Option<String>,
    /// Whether clients may change it.
    pub can_edit: bool,
    /// Name for people.
    pub name: String,
    /// How the provider is used.
    pub settings: ProviderSettings,
}

/// How a provider is used.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ProviderSettings {
    /// Openai.
    Openai,
    /// Custom gateway.
    CustomGateway {
        /// How requests are authenticated.
        auth: GatewayAuth,
    },
    /// Bedrock.
    Bedrock {
        /// Named profile to use.
        profile: Option<String>,
        /// Region of the cloud provider.
        region: Option<String>,
    },
    /// Gcp.
    Gcp {
        /// Path of the file with the credentials.
        credential_file: Option<String>,
        /// Location of the cloud provider.
        location: Option<String>,
        /// Project that it concerns.
        project_id: Option<String>,
    },
}

/// A change of how a provider is used.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ProviderSettingsPatch {
    /// Custom gateway.
    CustomGateway {
        /// Address of the provider; absent leaves it, null removes it.
        #[serde(default, skip_serializing_if = "Update::is_leave")]
        base_url: Update<String>,
        /// Environment variable that holds the key; absent leaves it, null removes it.
        #[serde(default, skip_serializing_if = "Update::is_leave")]
        env_key: Update<String>,
        /// Name for people; absent leaves it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Configuration key of the model provider; absent or null adds a provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_id: Option<String>,
    },
    /// Bedrock.
    Bedrock {
        /// Named profile to use.
        profile: Option<String>,
        /// Configuration key of the model provider.
        provider_id: String,
        /// Region of the cloud provider.
        region: Option<String>,
    },
    /// Gcp.
    Gcp {
        /// Path of the file with the credentials.
        credential_file: Option<String>,
        /// Location of the cloud provider.
        location: Option<String>,
        /// Project that it concerns.
        project_id: Option<String>,
        /// Configuration key of the model provider.
        provider_id: String,
    },
}

/// How requests to a gateway are authenticated.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "mode",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum GatewayAuth {
    /// Not at all.
    None,
    /// With a key in an environment variable.
    EnvironmentVariable {
        /// The variable.
        env_key: String,
    },
    /// By means that the configuration sets and clients cannot.
    ExternallyConfigured {
        /// The variable that holds the key; null if there is none.
        env_key: Option<String>,
    },
}
