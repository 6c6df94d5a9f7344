//! Settings of a thread that say how the model should work and answer.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mark_members;

/// The style in which the model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Personality {
    /// No style of its own.
    None,
    /// Warm and encouraging.
    Friendly,
    /// Brief and to the point.
    Pragmatic,
}

/// The class of service that requests to the model ask for. Model services add tiers at any time, so
/// that a name which is not known here is kept and passed on as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum ServiceTier {
    /// Faster, at a higher price.
    Fast,
    /// The same as `fast`, by the name that it has in requests to the model.
    #[since("0.140")]
    Priority,
    /// Slower, at a lower price.
    Flex,
    /// What the account has: nothing is asked for.
    #[since("0.140")]
    Default,
    /// Any other.
    #[serde(untagged)]
    #[since("0.140")]
    Other(String),
}

impl ServiceTier {
    /// Whether this is the faster tier, by either of its names.
    pub fn is_fast(&self) -> bool {
        matches!(self, Self::Fast | Self::Priority)
    }

    /// The name in requests to the model; `None` if they name no tier.
    pub fn name_in_requests(&self) -> Option<&str> {
        match self {
            Self::Fast | Self::Priority => Some("priority"),
            Self::Flex => Some("flex"),
            Self::Default => None,
            Self::Other(name) => Some(name),
        }
    }
}

/// The collaboration mode and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollaborationMode {
    /// The mode.
    pub mode: ModeKind,
    /// The settings in force while the mode is.
    pub settings: Settings,
}

/// A collaboration mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModeKind {
    /// Explore and ask, then propose a plan; change nothing.
    Plan,
    /// Do the work.
    #[default]
    #[serde(
        alias = "code",
        alias = "pair_programming",
        alias = "execute",
        alias = "custom"
    )]
    Default,
}

/// How much the model should think before it answers. Models add efforts at any time, so that a name
/// which is not known here is kept and passed on as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// A fair amount.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// Any other.
    #[serde(untagged)]
    #[since("0.140")]
    Other(String),
}

impl ReasoningEffort {
    /// The name in requests and settings.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Other(name) => name,
        }
    }
}

/// Which summary of its reasoning the model should give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningSummary {
    /// Whichever suits the model.
    Auto,
    /// A short one.
    Concise,
    /// A long one.
    Detailed,
    /// None.
    None,
}

/// The settings that come with a collaboration mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The model to use.
    pub model: String,
    /// The reasoning effort to ask for; null asks for none in particular.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Instructions for the mode; null takes the built-in ones, an empty text none.
    pub developer_instructions: Option<String>,
}

/// A kind of input that a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InputModality {
    /// Text.
    Text,
    /// Images.
    Image,
}

/// How long the answers of the model should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verbosity {
    /// Short.
    Low,
    /// In between.
    Medium,
    /// Long.
    High,
}

/// How much context a web search should bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WebSearchContextSize {
    /// Little.
    Low,
    /// A fair amount.
    Medium,
    /// Much.
    High,
}

/// Roughly where the user is, for web searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebSearchLocation {
    /// The country, as a two-letter code.
    pub country: Option<String>,
    /// The region or state.
    pub region: Option<String>,
    /// The city.
    pub city: Option<String>,
    /// The time zone, by its IANA name.
    pub timezone: Option<String>,
}

/// Whether the model may search the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WebSearchMode {
    /// It may not.
    Disabled,
    /// Only what the search provider has stored; some settings tell an index of it apart.
    #[serde(alias = "indexed")]
    Cached,
    /// The web as it is now.
    Live,
}

/// Options of the web search tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebSearchToolConfig {
    /// How much context a search should bring.
    pub context_size: Option<WebSearchContextSize>,
    /// The only domains that may be searched; absent allows all.
    pub allowed_domains: Option<Vec<String>>,
    /// Roughly where the user is.
    pub location: Option<WebSearchLocation>,
}

/// The version of the realtime protocol.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental,
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum RealtimeConversationVersion {
    /// The first.
    #[default]
    V1,
    /// The second.
    V2,
    /// The third, which only some clients have. No conversation can be held with it.
    #[since("0.169")]
    V3,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn efforts_and_tiers_that_are_not_known_are_kept() {
        for name in ["none", "xhigh", "max", "ultra"] {
            let effort: ReasoningEffort = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(effort.as_str(), name);
            assert_eq!(serde_json::to_value(&effort).unwrap(), json!(name));
        }
        for (name, in_requests) in [
            ("fast", Some("priority")),
            ("priority", Some("priority")),
            ("flex", Some("flex")),
            ("default", None),
            ("standard", Some("standard")),
        ] {
            let tier: ServiceTier = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(tier.name_in_requests(), in_requests);
            assert_eq!(serde_json::to_value(&tier).unwrap(), json!(name));
        }
        assert!(serde_json::from_value::<ReasoningEffort>(json!(3)).is_err());
    }
}
