//! What of a session is worth a look: where somebody would search for the reason of a bad result.
//!
//! Each check looks for one thing in the recorded facts and says why. None of them judges by the words of the model alone.

mod agents;
mod commands;
mod compactions;
mod events;
mod facts;
mod words;

use std::path::Path;

use codex_rollout_trace::Reduction;
use serde::Serialize;

use facts::SessionFacts;

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
        }
    }
}

/// At most this many are listed of one kind.
const MOST_OF_A_KIND: usize = 10;

/// What is worth a look in a session, in the order of time.
#[must_use]
pub fn explain(reduction: &Reduction, bundle: &Path) -> Vec<Finding> {
    let facts = SessionFacts::of(reduction, bundle);
    let mut findings = commands::find(&facts);
    findings.extend(agents::find(&facts));
    findings.extend(compactions::find(&facts));
    findings.extend(events::find(bundle));
    findings.sort_by_key(|finding| (finding.kind, finding.at_unix_ms));
    let mut last = None;
    let mut count = 0;
    findings.retain(|finding| {
        count = if last == Some(finding.kind) {
            count + 1
        } else {
            1
        };
        last = Some(finding.kind);
        count <= MOST_OF_A_KIND
    });
    findings.sort_by_key(|finding| finding.at_unix_ms);
    findings
}
