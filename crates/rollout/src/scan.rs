//! Going through the lines of a rollout one by one, without keeping them.
//!
//! What kind of line it is, its first bytes tell when it was written the way everybody writes lines;
//! someone who passes over most of them does not pay for reading those.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use codex_protocol::{RawRolloutLine, RolloutItem, RolloutLine};

use crate::load::LoadError;

/// A line longer than this is skipped like one that cannot be read.
const LINE_LIMIT: usize = 256 * 1024 * 1024;

/// How much of the file is read at once.
const BUFFER: usize = 256 * 1024;

/// A line that is not blank.
#[derive(Clone, Copy, Debug)]
pub struct ScannedLine<'a> {
    bytes: &'a [u8],
}

impl<'a> ScannedLine<'a> {
    /// The type of the line, and that of its payload if it has one. None if it is no line.
    #[must_use]
    pub fn kind(&self) -> Option<(Cow<'a, str>, Option<Cow<'a, str>>)> {
        if let Some((kind, payload)) = by_first_bytes(self.bytes) {
            return Some((Cow::Borrowed(kind), payload.map(Cow::Borrowed)));
        }
        let line = RawRolloutLine::read(std::str::from_utf8(self.bytes).ok()?).ok()?;
        let payload = line.payload_type();
        Some((line.kind, payload))
    }

    /// The whole line; none if it cannot be read or is of a kind that is not known.
    #[must_use]
    pub fn read(&self) -> Option<RolloutLine> {
        if self.bytes.len() > LINE_LIMIT {
            return None;
        }
        let line = RolloutLine::read(std::str::from_utf8(self.bytes).ok()?).ok()?;
        (!matches!(line.item, RolloutItem::Kept(_))).then_some(line)
    }

    /// The line as it stands in the file.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Hands out every line that is not blank, until `take` has seen enough. Answers how many bytes of the
/// file were whole lines.
///
/// # Errors
/// The file cannot be read, or there is nothing in it.
pub fn scan(
    path: &Path,
    mut take: impl FnMut(ScannedLine<'_>) -> ControlFlow<()>,
) -> Result<u64, LoadError> {
    let io = |source| LoadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::with_capacity(BUFFER, File::open(path).map_err(io)?);
    let (mut blank, mut whole) = (true, 0);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(io)? > 0 {
        if line.ends_with(b"\n") {
            whole += line.len() as u64;
        }
        let bytes = line.trim_ascii();
        if !bytes.is_empty() {
            blank = false;
            if take(ScannedLine { bytes }).is_break() {
                return Ok(whole);
            }
        }
        line.clear();
    }
    if blank {
        return Err(LoadError::Empty);
    }
    Ok(whole)
}

/// `{"timestamp":"…","type":"…","payload":{"type":"…"`, in this order and without blanks.
fn by_first_bytes(line: &[u8]) -> Option<(&str, Option<&str>)> {
    let (_, rest) = text(line.strip_prefix(b"{\"timestamp\":\"")?)?;
    let (kind, rest) = text(rest.strip_prefix(b",\"type\":\"")?)?;
    let payload = rest.strip_prefix(b",\"payload\":")?;
    let inner = payload.strip_prefix(b"{\"type\":\"").and_then(text);
    Some((kind, inner.map(|(kind, _)| kind)))
}

/// A short text without escapes, up to its closing quote.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let window = &bytes[..bytes.len().min(64)];
    let end = window.iter().position(|byte| *byte == b'"')?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (!text.contains('\\')).then_some((text, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Option<(String, Option<String>)> {
        let bytes = line.as_bytes();
        let (kind, payload) = ScannedLine { bytes }.kind()?;
        Some((kind.into_owned(), payload.map(Cow::into_owned)))
    }

    #[test]
    fn the_kind_is_told_in_whatever_order_a_line_is_written() {
        let expected = Some(("event_msg".to_owned(), Some("x".to_owned())));
        for line in [
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"x","a":1}}"#,
            r#"{ "timestamp": "t", "type": "event_msg", "payload": { "a": 1, "type": "x" } }"#,
            r#"{"payload":{"type":"x"},"type":"event_msg","timestamp":"t"}"#,
        ] {
            assert_eq!(kind(line), expected, "{line}");
        }
        let meta = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a"}}"#;
        assert_eq!(kind(meta), Some(("session_meta".to_owned(), None)));
        assert_eq!(kind("{\"torn"), None);
    }
}
