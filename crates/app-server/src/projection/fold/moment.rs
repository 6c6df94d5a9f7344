//! When something happened: told in milliseconds, or as the text of a stored line, which is looked at
//! only where it is needed.

use jiff::Timestamp;

/// A moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment<'a> {
    /// Unix time.
    Milliseconds(i64),
    /// By RFC 3339.
    Text(&'a str),
}

/// The end of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// In Unix seconds.
    pub(super) completed_at: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    at: Option<i64>,
}

impl Moment<'_> {
    pub(super) fn milliseconds(self) -> Option<i64> {
        match self {
            Self::Milliseconds(at) => Some(at),
            Self::Text(text) => {
                let at: Timestamp = text.parse().ok()?;
                Some(at.as_millisecond())
            }
        }
    }

    /// An end at this moment, where the event that tells it does not say when and how long.
    pub(super) fn end(self, completed_at: Option<i64>, duration_ms: Option<i64>) -> End {
        let is_told = completed_at.is_some() && duration_ms.is_some();
        let at = match is_told {
            true => None,
            false => self.milliseconds(),
        };
        End {
            completed_at: completed_at.or(at.map(|at| at / 1000)),
            duration_ms,
            at,
        }
    }
}

impl End {
    pub(super) fn since(self, begun: Option<i64>) -> Option<i64> {
        Some(self.at?.saturating_sub(begun?).max(0))
    }
}
