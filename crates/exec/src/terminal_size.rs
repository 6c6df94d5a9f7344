//! The size of terminals.

use std::num::NonZeroU16;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TerminalSize {
    pub(crate) rows: NonZeroU16,
    pub(crate) columns: NonZeroU16,
}

impl TerminalSize {
    /// `None` if a dimension is zero.
    #[must_use]
    pub fn new(rows: u16, columns: u16) -> Option<Self> {
        Some(Self {
            rows: NonZeroU16::new(rows)?,
            columns: NonZeroU16::new(columns)?,
        })
    }
}

impl Default for TerminalSize {
    fn default() -> Self {
        let rows = NonZeroU16::MIN.saturating_add(23);
        let columns = NonZeroU16::MIN.saturating_add(79);
        Self { rows, columns }
    }
}
