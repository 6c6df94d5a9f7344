//! Decides which bundles a retention rule deletes.

use std::time::{Duration, SystemTime};

use crate::entry::BundleEntry;

/// How long and how many bundles are kept. Absent limits do not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    pub max_age: Option<Duration>,
    /// The size of all bundles together.
    pub max_bytes: Option<u64>,
}

/// The bundles to delete, oldest first. `bundles` are in order of their age, oldest first.
pub fn expired(bundles: &[BundleEntry], retention: Retention, now: SystemTime) -> &[BundleEntry] {
    let mut bytes: u64 = bundles.iter().map(|bundle| bundle.bytes).sum();
    let kept = bundles.iter().position(|bundle| {
        let age = now.duration_since(bundle.modified).unwrap_or_default();
        let is_old = retention.max_age.is_some_and(|limit| age > limit);
        let is_over = retention.max_bytes.is_some_and(|limit| bytes > limit);
        bytes -= bundle.bytes;
        !is_old && !is_over
    });
    &bundles[..kept.unwrap_or(bundles.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(days: u64, bytes: u64) -> BundleEntry {
        BundleEntry {
            path: format!("trace-{days}").into(),
            is_packed: false,
            bytes,
            modified: SystemTime::UNIX_EPOCH + Duration::from_hours(24 * days),
        }
    }

    #[test]
    fn oldest_bundles_expire_first() {
        let bundles = [bundle(1, 10), bundle(2, 20), bundle(3, 30)];
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 4);
        let count = |max_age, max_bytes| {
            let max_age = Option::map(max_age, |days: u64| Duration::from_hours(24 * days));
            expired(&bundles, Retention { max_age, max_bytes }, now).len()
        };
        assert_eq!(count(None, None), 0);
        assert_eq!(count(Some(2), None), 1);
        assert_eq!(count(None, Some(60)), 0);
        assert_eq!(count(None, Some(59)), 1);
        assert_eq!(count(None, Some(30)), 2);
        assert_eq!(count(None, Some(0)), 3);
        assert_eq!(count(Some(2), Some(35)), 2);
    }

    #[test]
    fn bundles_of_the_future_have_no_age() {
        let bundles = [bundle(9, 10)];
        let retention = Retention {
            max_age: Some(Duration::ZERO),
            max_bytes: None,
        };
        assert!(expired(&bundles, retention, SystemTime::UNIX_EPOCH).is_empty());
    }
}
