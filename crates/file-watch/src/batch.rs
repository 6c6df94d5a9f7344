//! Collects changes that are reported together.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a batch collects, from its first change on.
const WINDOW: Duration = Duration::from_millis(200);

/// Further paths of a batch are dropped: a client that receives this many rescans anyway.
const PATHS_LIMIT: usize = 10_000;

/// Collects changes that are reported together.
#[derive(Debug, Default)]
pub(crate) struct ChangeBatch {
    paths: BTreeSet<PathBuf>,
    due: Option<Instant>,
}

impl ChangeBatch {
    pub(crate) fn add(&mut self, path: PathBuf, now: Instant) {
        if self.paths.len() < PATHS_LIMIT {
            self.paths.insert(path);
        }
        self.due.get_or_insert(now + WINDOW);
    }

    /// When the batch is due; none while it is empty.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The paths to report, in order, if the batch is due.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Vec<PathBuf>> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        Some(std::mem::take(&mut self.paths).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_batch_is_reported_once_and_in_order() {
        let start = Instant::now();
        let mut batch = ChangeBatch::default();
        assert_eq!(batch.take(start), None);
        for path in ["b", "a", "b"] {
            batch.add(path.into(), start);
        }
        assert_eq!(batch.take(start), None);
        batch.add("c".into(), start + WINDOW / 2);
        let reported = batch.take(start + WINDOW);
        assert_eq!(reported, Some(["a", "b", "c"].map(PathBuf::from).into()));
        assert_eq!(batch.take(start + 2 * WINDOW), None);
    }
}
