//! What of a session is worth a look: where somebody would search for the reason of a bad result.
//!
//! Each check looks for one thing in the recorded facts and says why. None of them judges by the words of the model alone.

mod agents;
mod commands;
mod compactions;
mod events;
mod facts;
mod finding;
mod words;

use std::path::Path;

use codex_rollout_trace::Reduction;

use facts::SessionFacts;
pub use finding::{Finding, FindingKind};

/// At most this many are listed of one kind.
const MOST_OF_A_KIND: usize = 10;

/// What is worth a look in a session, in the order of time.
#[must_use]
pub fn explain(reduction: &Reduction, bundle: &Path) -> Vec<Finding> {
    let facts = SessionFacts::from_reduction(reduction, bundle);
    let mut findings = commands::find(&facts);
    findings.extend(agents::find(&facts));
    findings.extend(compactions::find(&facts));
    findings.extend(events::find(&facts, bundle));
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
