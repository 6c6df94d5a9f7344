//! Adding, removing and updating marketplaces of plugins.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `marketplace/add`: adds a marketplace of plugins.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceAddParams {
    /// Branch, tag or commit; absent or null takes the default branch.
    pub ref_name: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// Folders of the repository that are needed; absent or null takes all.
    pub sparse_paths: Option<Vec<String>>,
}

/// Reply to `marketplace/add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceAddResponse {
    /// Whether it had been added before.
    pub already_added: bool,
    /// Folder of the marketplace; null if there is none.
    pub installed_root: String,
    /// Marketplace that it concerns.
    pub marketplace_name: String,
}

/// Params of `marketplace/remove`: removes a marketplace of plugins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceRemoveParams {
    /// Marketplace that it concerns.
    pub marketplace_name: String,
}

/// Reply to `marketplace/remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceRemoveResponse {
    /// Folder of the marketplace; null if there is none.
    pub installed_root: Option<String>,
    /// Marketplace that it concerns.
    pub marketplace_name: String,
}

/// Params of `marketplace/upgrade`: brings Git marketplaces up to date.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceUpgradeParams {
    /// Marketplace that it concerns.
    pub marketplace_name: Option<String>,
}

/// Reply to `marketplace/upgrade`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceUpgradeResponse {
    /// What failed.
    pub errors: Vec<MarketplaceUpgradeErrorInfo>,
    /// Marketplaces that were looked at.
    pub selected_marketplaces: Vec<String>,
    /// Folders that changed.
    pub upgraded_roots: Vec<String>,
}

/// A marketplace that could not be brought up to date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceUpgradeErrorInfo {
    /// Marketplace that it concerns.
    pub marketplace_name: String,
    /// Text for people.
    pub message: String,
}
