//! When the history is compacted without being asked for.

use serde::{Deserialize, Serialize};

/// What else decides when the history is compacted, beside the limits of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionRules {
    /// Whether the configured limit is on what was added since the first response after the start or a compaction. A full
    /// window is compacted all the same.
    pub counts_growth: bool,
    /// The part of the window, in percent, from which on a turn that is done compacts.
    pub after_turn_percent: Option<u8>,
}
