//! Whether a file or folder has changed since it was read.

use std::fs::Metadata;
use std::time::{Duration, SystemTime};

use codex_system::file;

/// File times are less precise than the clock: what changes within this time of another change may look the same.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// What differs after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    changed: SystemTime,
    number: u64,
    device: u64,
    size: u64,
}

impl Stamp {
    /// The stamp of what is read afterwards. None if a later change might not show.
    pub(crate) fn before_reading(metadata: &Metadata) -> Option<Self> {
        let stamp = Self::from_metadata(metadata);
        let age = SystemTime::now().duration_since(stamp.changed);
        age.is_ok_and(|age| age > CLOCK_STEP).then_some(stamp)
    }

    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            changed: file::changed_time(metadata),
            number: file::file_number(metadata),
            device: file::device_number(metadata),
            size: metadata.len(),
        }
    }
}
