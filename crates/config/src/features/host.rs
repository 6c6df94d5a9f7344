//! Features that a host application may switch at run time. Settings take precedence.

use super::Feature;

/// The features that a host application may switch.
pub const HOST_FEATURES: &[Feature] = &[
    Feature::Apps,
    Feature::Plugins,
    Feature::ToolSearch,
    Feature::ToolSuggest,
    Feature::ToolCallMcpElicitation,
];

/// Those that some clients may switch too.
const HOST_FEATURES_WITH_MEMORIES: &[Feature] = &[Feature::Memories];

/// Why a key does not name a feature that a host application may switch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostFeatureError {
    /// Host applications may not switch this feature.
    #[error("unsupported feature enablement `{0}`: currently supported features are {names}", names = names())]
    Unsupported(String),
    /// The key is from an earlier release.
    #[error("invalid feature enablement `{key}`: use canonical feature key `{canonical}`")]
    OldName {
        key: String,
        canonical: &'static str,
    },
    /// There is no such feature.
    #[error("invalid feature enablement `{0}`")]
    Unknown(String),
}

fn names() -> String {
    let names: Vec<&str> = HOST_FEATURES.iter().map(|feature| feature.key()).collect();
    names.join(", ")
}

impl Feature {
    /// The feature with this key, if a host application may switch it.
    pub fn for_host(key: &str) -> Result<Self, HostFeatureError> {
        match (Self::from_key(key), Self::parse(key)) {
            (Some(feature), _) if HOST_FEATURES.contains(&feature) => Ok(feature),
            (Some(_), _) => Err(HostFeatureError::Unsupported(key.to_owned())),
            (None, Some(feature)) => Err(HostFeatureError::OldName {
                key: key.to_owned(),
                canonical: feature.key(),
            }),
            (None, None) => Err(HostFeatureError::Unknown(key.to_owned())),
        }
    }

    /// The feature with this key, if clients may switch it.
    #[must_use]
    pub fn for_host_with_memories(key: &str) -> Option<Self> {
        let is_among = |feature: &Self| HOST_FEATURES_WITH_MEMORIES.contains(feature);
        let with_memories = Self::from_key(key).filter(is_among);
        with_memories.or_else(|| Self::for_host(key).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_features_are_for_hosts() {
        assert_eq!(Feature::for_host("apps"), Ok(Feature::Apps));
        let error = |key: &str| Feature::for_host(key).unwrap_err().to_string();
        assert_eq!(
            error("undo"),
            "unsupported feature enablement `undo`: currently supported features are apps, plugins, \
             tool_search, tool_suggest, tool_call_mcp_elicitation",
        );
        assert_eq!(
            error("collab"),
            "invalid feature enablement `collab`: use canonical feature key `multi_agent`",
        );
        assert_eq!(error("nope"), "invalid feature enablement `nope`");
        let with_memories = ["memories", "apps", "undo"].map(Feature::for_host_with_memories);
        assert_eq!(
            with_memories,
            [Some(Feature::Memories), Some(Feature::Apps), None]
        );
    }
}
