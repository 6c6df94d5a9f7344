//! The profile of the sandbox refuses protected paths whether they exist or not, so there are no placeholders.

use std::path::Path;

/// Whether there is a placeholder at `path`.
#[must_use]
pub fn is_placeholder_at(_: &Path) -> bool {
    false
}

pub(crate) fn remove_if_abandoned(_: &Path) {}
