//! Changes that are told together.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// From the first change on.
const LASTS: Duration = Duration::from_millis(200);

/// More paths are not told at once; a client that gets as many looks at everything anyway.
const PATHS_LIMIT: usize = 10_000;

/// Changes that are told together.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    paths: BTreeSet<PathBuf>,
    due: Option<Instant>,
}

impl Burst {
    pub(crate) fn add(&mut self, path: PathBuf, now: Instant) {
        if self.paths.len() < PATHS_LIMIT {
            self.paths.insert(path);
        }
        self.due.get_or_insert(now + LASTS);
    }

    /// When it is to be told, if there is anything.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What is to be told now.
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
    fn a_burst_is_told_once_in_order_and_after_its_time() {
        let start = Instant::now();
        let mut burst = Burst::default();
        assert_eq!(burst.take(start), None);
        for path in ["b", "a", "b"] {
            burst.add(path.into(), start);
        }
        assert_eq!(burst.take(start), None);
        burst.add("c".into(), start + LASTS / 2);
        let told = burst.take(start + LASTS);
        assert_eq!(told, Some(["a", "b", "c"].map(PathBuf::from).into()));
        assert_eq!(burst.take(start + 2 * LASTS), None);
    }
}
