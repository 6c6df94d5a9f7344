//! The decision of a rule about a command.

use serde::{Deserialize, Serialize};

/// Ordered from lenient to strict. If several rules match, the strictest decision applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Prompt,
    Forbidden,
}

impl Decision {
    /// The word used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Prompt => "prompt",
            Self::Forbidden => "forbidden",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Allow, Self::Prompt, Self::Forbidden]
            .into_iter()
            .find(|decision| decision.as_str() == word)
    }
}
