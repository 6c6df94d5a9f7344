//! Queries to the index, and pages of results.

use std::fmt;

use codex_protocol::ThreadId;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::record::ThreadRecord;
use crate::source_kinds::SourceKinds;

/// A query for one page of a list.
#[derive(Clone, Debug)]
pub struct ThreadQuery {
    /// Maximum number of threads on the page, at least 1.
    pub limit: usize,
    /// The end of the previous page.
    pub after: Option<ListCursor>,
    /// The time to sort by.
    pub sort: SortKey,
    /// Whether the oldest thread comes first.
    pub is_ascending: bool,
    /// Whether to list archived threads instead of active ones.
    pub archived: bool,
    /// Only threads of these providers.
    pub providers: Option<Vec<String>>,
    /// With `providers`: also threads whose file names no provider.
    pub include_unknown_provider: bool,
    /// Only threads of these sources.
    pub kinds: SourceKinds,
    /// Only threads that were created in one of these folders.
    pub cwds: Option<Vec<String>>,
    /// Only threads spawned by this one.
    pub ancestor: Option<AncestorFilter>,
    /// Which side threads are listed.
    pub attached: SideThreads,
    /// Only threads whose title contains this text.
    pub search: Option<String>,
    /// Only these threads.
    pub included: Option<Vec<ThreadId>>,
    /// Threads to leave out.
    pub excluded: Vec<ThreadId>,
}

impl ThreadQuery {
    /// The active threads of people, those that changed last first, without one of them.
    #[must_use]
    pub fn newest_of_people(limit: usize, without: ThreadId) -> Self {
        Self {
            limit,
            after: None,
            sort: SortKey::Updated,
            is_ascending: false,
            archived: false,
            providers: None,
            include_unknown_provider: true,
            kinds: SourceKinds::interactive(),
            cwds: None,
            ancestor: None,
            attached: SideThreads::Hidden,
            search: None,
            included: None,
            excluded: vec![without],
        }
    }
}

/// Selects threads by the thread that spawned them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AncestorFilter {
    /// Threads spawned directly by this one.
    Children(ThreadId),
    /// Threads spawned by this one or by one of its descendants.
    Descendants(ThreadId),
}

/// Selects side threads: threads that belong to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SideThreads {
    /// None of them.
    #[default]
    Hidden,
    /// Also side threads.
    Included,
    /// Only those of this thread.
    Of(ThreadId),
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// The time of creation.
    Created,
    /// The time of the last change.
    Updated,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadPage {
    pub threads: Vec<ThreadRecord>,
    /// The cursor of the next page; none at the end.
    pub next: Option<ListCursor>,
    /// The cursor for listing back from the first thread in reverse order; none on an empty page.
    pub back: Option<ListCursor>,
}

/// A page of threads whose messages contain a term.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    pub found: Vec<FoundThread>,
    /// The cursor of the next page; none at the end.
    pub next: Option<ListCursor>,
    /// The cursor for listing back from the first thread in reverse order; none on an empty page.
    pub back: Option<ListCursor>,
}

/// A thread whose messages contain a term.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundThread {
    pub thread: ThreadRecord,
    /// The text around the first match.
    pub snippet: String,
    /// Whether turns of the thread were taken back, so that the match may no longer be in it.
    pub has_rollbacks: bool,
}

/// A position in a list: next to the thread with this time and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListCursor {
    /// Unix seconds.
    pub(crate) time: i64,
    pub(crate) id: ThreadId,
}

/// The text is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor: {0}")]
pub struct InvalidCursor(String);

impl ListCursor {
    /// The position after everything at least this new.
    pub(crate) fn behind(time: i64) -> Self {
        let id = ThreadId("00000000-0000-0000-0000-000000000000".to_owned());
        Self { time, id }
    }

    /// The position before everything at most this old.
    pub(crate) fn ahead(time: i64) -> Self {
        let id = ThreadId("ffffffff-ffff-ffff-ffff-ffffffffffff".to_owned());
        Self { time, id }
    }

    /// The position just ahead of this thread in a list that begins with the newest: such a list has the thread, and one
    /// that begins with the oldest does not.
    pub(crate) fn ahead_of_thread(self) -> Self {
        let number = u128::from_str_radix(&self.id.0.replace('-', ""), 16);
        let next = number.map_or(self.id.0, |number| {
            let digits = format!("{:032x}", number.saturating_add(1));
            let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
            groups.join("-")
        });
        Self {
            time: self.time,
            id: ThreadId(next),
        }
    }

    /// Parses a cursor.
    ///
    /// # Errors
    /// The text is not a cursor.
    pub fn parse(text: &str) -> Result<Self, InvalidCursor> {
        let invalid = || InvalidCursor(text.to_owned());
        let (time, id) = text.split_once('|').ok_or_else(invalid)?;
        let id = ThreadId::parse(id).map_err(|_| invalid())?;
        let time = seconds(time).ok_or_else(invalid)?;
        Ok(Self { time, id })
    }
}

impl fmt::Display for ListCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Timestamp::from_second(self.time).unwrap_or_default();
        write!(formatter, "{time}|{}", self.id)
    }
}

/// Parses RFC 3339 or the time format of file names.
fn seconds(time: &str) -> Option<i64> {
    if let Ok(time) = time.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    let time = DateTime::strptime("%Y-%m-%dT%H-%M-%S", time).ok()?;
    let time = time.to_zoned(TimeZone::UTC).ok()?;
    Some(time.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_a_time_and_an_id() {
        let id = "0195f0a0-7b1c-7000-8000-0000000000ab";
        let text = format!("2026-03-01T10:00:00Z|{id}");
        let cursor = ListCursor::parse(&text).unwrap();
        assert_eq!((cursor.time, cursor.id.as_str()), (1_772_359_200, id));
        assert_eq!(cursor.to_string(), text);
        let other = ListCursor::parse(&format!("2026-03-01T10-00-00|{id}")).unwrap();
        assert_eq!(other, cursor);
        for bad in ["", "x", "2026-03-01T10:00:00Z", "x|y", &format!("|{id}")] {
            let error = ListCursor::parse(bad).unwrap_err().to_string();
            assert_eq!(error, format!("invalid cursor: {bad}"));
        }
    }
}
