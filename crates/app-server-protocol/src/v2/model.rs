//! The models a user can choose from, and the notice that the service answered with another one
//! than was asked for.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{InputModality, ReasoningEffort, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for known models in the order to offer them.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ModelListParams {
    /// Value of `nextCursor` from the page before; null starts at the first model.
    pub cursor: Option<String>,
    /// Most models in the page; null means all, 0 counts as 1.
    pub limit: Option<u32>,
    /// Also list models that are not for choosing; null means false.
    pub include_hidden: Option<bool>,
    /// Only models of this provider, which has to be configured.
    #[since("0.169")]
    pub model_provider: Option<String>,
}

/// A model and what a picker needs to know about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct Model {
    /// Key of the entry; the same text as `model`.
    pub id: String,
    /// Slug to give to threads and turns.
    pub model: String,
    /// Slug of the model that replaces this one; the same as in `upgradeInfo`, null when none.
    pub upgrade: Option<String>,
    /// How to tell the user about that model; null when there is none.
    pub upgrade_info: Option<ModelUpgradeInfo>,
    /// Message for users who see the model for the first time; null means none.
    pub availability_nux: Option<ModelAvailabilityNux>,
    /// Name to show.
    pub display_name: String,
    /// One sentence on what the model is good for.
    pub description: String,
    /// Whether pickers leave it out; such entries come only with `includeHidden`.
    pub hidden: bool,
    /// Efforts the model takes, in the order to offer them.
    pub supported_reasoning_efforts: Vec<ReasoningEffortOption>,
    /// Effort when the user has chosen none.
    pub default_reasoning_effort: ReasoningEffort,
    /// Kinds of input the model takes; absent means text and images.
    #[serde(default = "text_and_images")]
    pub input_modalities: Vec<InputModality>,
    /// Whether the choice of a personality changes its instructions.
    #[serde(default)]
    pub supports_personality: bool,
    /// Whether it is used when no model is configured; true for exactly one model.
    pub is_default: bool,
    /// Speeds that can be chosen besides the usual one: none here.
    #[serde(default)]
    #[since("0.140")]
    pub additional_speed_tiers: Vec<String>,
    /// Processing tiers that can be chosen: none are known here.
    #[serde(default)]
    #[since("0.140")]
    pub service_tiers: Vec<ModelServiceTier>,
    /// Processing tier that is used unless another is chosen; null for the provider's default.
    #[serde(default)]
    #[since("0.140")]
    pub default_service_tier: Option<String>,
}

/// Introduction of a model to users who can now choose it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelAvailabilityNux {
    /// Text to show once.
    pub message: String,
}

/// Suggestion to move to another model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUpgradeInfo {
    /// Slug of the suggested model.
    pub model: String,
    /// Short text for the suggestion; null leaves the wording to the client.
    pub upgrade_copy: Option<String>,
    /// Web page about the suggested model.
    pub model_link: Option<String>,
    /// Longer text in Markdown on what the move means.
    pub migration_markdown: Option<String>,
}

/// An effort a user can choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningEffortOption {
    /// Value to give to threads and turns.
    pub reasoning_effort: ReasoningEffort,
    /// What to expect of it, for a picker.
    pub description: String,
}

/// One page of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResponse {
    /// The models of this page.
    pub data: Vec<Model>,
    /// Where the next page begins; null at the end.
    pub next_cursor: Option<String>,
}

/// Why the service used another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModelRerouteReason {
    /// The request looked like dangerous work on computer security.
    HighRiskCyberActivity,
}

/// The service answered with another model than was asked for; at most once a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelReroutedNotification {
    /// Thread of the request.
    pub thread_id: String,
    /// Turn of the request.
    pub turn_id: String,
    /// Slug that was asked for.
    pub from_model: String,
    /// Slug that answered.
    pub to_model: String,
    /// Why the service did so.
    pub reason: ModelRerouteReason,
}

/// What models without a list of their own take.
fn text_and_images() -> Vec<InputModality> {
    vec![InputModality::Text, InputModality::Image]
}

/// A processing tier of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelServiceTier {
    /// Id of the tier.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Description for people.
    pub description: String,
}
