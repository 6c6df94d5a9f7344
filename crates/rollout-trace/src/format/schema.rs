//! The versions of the bundle format.

/// A version of the format, that of a whole bundle and of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Schema {
    /// What a writer uses if nobody chooses. Items are identified by their content.
    #[default]
    One,
    /// Items are identified by their ids, and the log records which of them became history.
    Two,
    /// As the second; payloads are in compressed shards, and prompts are put together from items.
    Three,
}

impl Schema {
    /// The version with this number, if there is one.
    pub fn numbered(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            3 => Some(Self::Three),
            _ => None,
        }
    }

    /// The number used in files.
    pub fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
        }
    }

    /// Whether items are identified by ids, as in all versions but the first.
    pub fn has_ids(self) -> bool {
        self >= Self::Two
    }

    /// The newest version, and the last that can be read.
    pub const NEWEST: Self = Self::Three;
}
