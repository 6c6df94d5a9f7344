//! What is asked of the index, and the page that answers.

use std::fmt;

use codex_protocol::ThreadId;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::kinds::Kinds;
use crate::record::ThreadRecord;

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Query {
    /// The most threads on the page, at least 1.
    pub limit: usize,
    /// The end of the page before.
    pub after: Option<Cursor>,
    /// What newest means.
    pub sort: SortKey,
    /// Whether the oldest comes first.
    pub is_ascending: bool,
    /// Archived threads, or those in use.
    pub archived: bool,
    /// Only those of these providers.
    pub providers: Option<Vec<String>>,
    /// Whether files that do not tell their provider are of one of those.
    pub untold_provider: bool,
    /// Only those of these sources.
    pub kinds: Kinds,
    /// Only those that were created in one of these folders.
    pub cwds: Option<Vec<String>>,
    /// Only those that come of another thread.
    pub descent: Option<Descent>,
    /// Only those whose title has this in it.
    pub search: Option<String>,
    /// All but these.
    pub excluded: Vec<ThreadId>,
}

/// How threads come of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descent {
    /// It spawned them.
    Children(ThreadId),
    /// It spawned them, or they were spawned by one that comes of it.
    Descendants(ThreadId),
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// When a thread was created.
    Created,
    /// When it last changed.
    Updated,
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The threads.
    pub threads: Vec<ThreadRecord>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
    /// Where a list the other way round begins with the first of these; none if there are none.
    pub back: Option<Cursor>,
}

/// A place in a list, between what is older, or as old with a smaller id, and the thread that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Unix seconds.
    pub(crate) time: i64,
    pub(crate) id: ThreadId,
}

/// A text that is no cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor: {0}")]
pub struct InvalidCursor(String);

impl Cursor {
    /// The place behind everything that is at least this new.
    pub(crate) fn behind(time: i64) -> Self {
        let id = ThreadId("00000000-0000-0000-0000-000000000000".to_owned());
        Self { time, id }
    }

    /// The place in front of everything that is at most this old.
    pub(crate) fn ahead(time: i64) -> Self {
        let id = ThreadId("ffffffff-ffff-ffff-ffff-ffffffffffff".to_owned());
        Self { time, id }
    }

    /// Reads a cursor.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, InvalidCursor> {
        let invalid = || InvalidCursor(text.to_owned());
        let (time, id) = text.split_once('|').ok_or_else(invalid)?;
        let id = ThreadId::parse(id).map_err(|_| invalid())?;
        let time = seconds(time).ok_or_else(invalid)?;
        Ok(Self { time, id })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Timestamp::from_second(self.time).unwrap_or_default();
        write!(formatter, "{time}|{}", self.id)
    }
}

/// RFC 3339, or as it stands in file names.
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
        let cursor = Cursor::parse(&text).unwrap();
        assert_eq!((cursor.time, cursor.id.as_str()), (1_772_359_200, id));
        assert_eq!(cursor.to_string(), text);
        let other = Cursor::parse(&format!("2026-03-01T10-00-00|{id}")).unwrap();
        assert_eq!(other, cursor);
        for bad in ["", "x", "2026-03-01T10:00:00Z", "x|y", &format!("|{id}")] {
            let error = Cursor::parse(bad).unwrap_err().to_string();
            assert_eq!(error, format!("invalid cursor: {bad}"));
        }
    }
}
