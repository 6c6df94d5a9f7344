//! What the checks find.

use serde::Serialize;

/// Something that is worth a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// The path of the agent.
    pub agent: String,
    pub at_unix_ms: i64,
    /// The call or other object that it is about, by its id in the state.
    pub object: String,
    /// What happened, in one line.
    pub what: String,
    /// Why it is worth a look.
    pub why: String,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    OtherFolder,
    OutputCut,
    SandboxDenial,
    ClaimAfterFailure,
    DroppedByCompaction,
    StaleRead,
    Loop,
    Hook,
    Limit,
    PromptCache,
}

impl FindingKind {
    /// The kind in words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::OtherFolder => "another folder",
            Self::OutputCut => "output cut",
            Self::SandboxDenial => "denied by the sandbox",
            Self::ClaimAfterFailure => "success claimed after a failure",
            Self::DroppedByCompaction => "dropped by a compaction",
            Self::StaleRead => "read before it was written",
            Self::Loop => "the same call again and again",
            Self::Hook => "hook",
            Self::Limit => "limit or fallback",
            Self::PromptCache => "context read again",
        }
    }
}
