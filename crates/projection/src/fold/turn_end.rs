//! The end time and duration of a turn: from its last event, otherwise from the time of that event.

#[derive(Clone, Copy, Debug)]
pub(super) struct TurnEnd {
    /// In Unix seconds.
    pub(super) completed_at: Option<i64>,
    duration_ms: Option<i64>,
    /// The time of the event, in Unix milliseconds.
    now: Option<i64>,
}

impl TurnEnd {
    pub(super) fn new(
        now: Option<i64>,
        completed_at: Option<i64>,
        duration_ms: Option<i64>,
    ) -> Self {
        Self {
            completed_at: completed_at.or(now.map(|now| now / 1000)),
            duration_ms,
            now,
        }
    }

    pub(super) fn duration_since(self, begun: Option<i64>) -> Option<i64> {
        let measured = || Some(self.now?.saturating_sub(begun?).max(0));
        self.duration_ms.or_else(measured)
    }
}
