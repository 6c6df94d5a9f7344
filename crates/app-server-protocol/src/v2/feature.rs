//! Feature flags: the list of all of them and switching a few on or off for the life of the
//! process. Lasting choices are made through the configuration.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for all feature flags, retired ones included.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ExperimentalFeatureListParams {
    /// Value of `nextCursor` from the page before; null starts at the first flag.
    pub cursor: Option<String>,
    /// Most flags in the page; null means all, 0 counts as 1.
    pub limit: Option<u32>,
    /// A loaded thread; the flags are those of the server in any case.
    #[since("0.140")]
    pub thread_id: Option<String>,
}

/// Switches features for this process; an explicit configuration beats it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeatureEnablementSetParams {
    /// On or off by feature key; keys left out stay as they are, one bad key refuses the call.
    pub enablement: BTreeMap<String, bool>,
}

/// One feature flag and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeature {
    /// Key in table `[features]` of the configuration.
    pub name: String,
    /// How far along the feature is.
    pub stage: ExperimentalFeatureStage,
    /// Name to show; null outside the beta stage.
    pub display_name: Option<String>,
    /// What the feature does; null outside the beta stage.
    pub description: Option<String>,
    /// Text that introduces it to users; null outside the beta stage.
    pub announcement: Option<String>,
    /// State for threads started now: configuration, requirements and this process's switches.
    pub enabled: bool,
    /// State when nobody sets it.
    pub default_enabled: bool,
}

/// How far along a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExperimentalFeatureStage {
    /// Offered for trying out, with texts to show.
    Beta,
    /// Incomplete; not meant for users.
    UnderDevelopment,
    /// Finished, and kept as a choice.
    Stable,
    /// Still works, but another setting has taken its place.
    Deprecated,
    /// The flag can be set but has no effect any more.
    Removed,
}

/// One page of flags, always in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeatureListResponse {
    /// The flags of this page.
    pub data: Vec<ExperimentalFeature>,
    /// Where the next page begins; null at the end.
    pub next_cursor: Option<String>,
}

/// What was switched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeatureEnablementSetResponse {
    /// The entries of this call, not those of earlier ones.
    pub enablement: BTreeMap<String, bool>,
}
