//! A limit on the work of following files.

use std::cell::Cell;

/// The limit. It is about a second of a slow machine.
const MAX_UNITS: usize = 2_000_000;
/// What looking for a file costs, compared with reading a byte of text.
const LOOKUP: usize = 16;

/// What is left of the work. Once a part of it does not fit, nothing more does: what has not been read is not known.
#[derive(Debug)]
pub(crate) struct Effort {
    left: Cell<usize>,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            left: Cell::new(MAX_UNITS),
        }
    }
}

impl Effort {
    /// Whether a text may be read.
    pub(crate) fn reads(&self, text: &str) -> bool {
        self.spend(text.len())
    }

    /// Whether this many files may be looked for.
    pub(crate) fn looks_for(&self, files: usize) -> bool {
        self.spend(files.saturating_mul(LOOKUP))
    }

    /// Whether this many names may be compared.
    pub(crate) fn compares(&self, names: usize) -> bool {
        self.spend(names)
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    fn spend(&self, units: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(units));
        !self.is_spent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_effort_allows_no_more_reads() {
        let effort = Effort::default();
        assert!(effort.reads("a") && effort.looks_for(1));
        assert!(!effort.looks_for(MAX_UNITS));
        assert!(!effort.reads("a") && effort.is_spent());
    }
}
