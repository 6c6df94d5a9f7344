//! Iterates over the lines of a rollout without keeping them.
//!
//! The type of a line is taken from its first bytes if they have the usual order of members, so skipped
//! lines are not parsed as JSON.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use codex_protocol::{LineStart, RawRolloutLine, RolloutItem, RolloutLine};

use crate::chain::RolloutChain;
use crate::load::RolloutLoadError;
use crate::long_line::{LONG_LINE, LongLine};
use crate::mirrored::is_mirrored;

/// The size of one read.
const BUFFER: usize = 256 * 1024;
/// The size of the first read of a segment, which is often a single line.
const FIRST_READ: usize = 32 * 1024;

/// A line that is neither blank nor only for other engines.
#[derive(Clone, Copy, Debug)]
pub struct ScannedLine<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// The parsed first bytes, if they have the usual order.
    start: Option<LineStart<'a>>,
}

impl<'a> ScannedLine<'a> {
    fn parse(bytes: &'a [u8], offset: u64) -> Option<Self> {
        let bytes = bytes.trim_ascii();
        let start = LineStart::parse(bytes);
        let is_skipped = bytes.is_empty() || is_mirrored(bytes, start);
        (!is_skipped).then_some(Self {
            bytes,
            offset,
            start,
        })
    }

    /// The type of the line and of its payload, if it has one. None if the line is not valid.
    #[must_use]
    pub fn kind(&self) -> Option<(Cow<'a, str>, Option<Cow<'a, str>>)> {
        if let Some(start) = self.start {
            let payload = start.payload_type.map(Cow::Borrowed);
            return Some((Cow::Borrowed(start.kind), payload));
        }
        let line = RawRolloutLine::read(std::str::from_utf8(self.bytes).ok()?).ok()?;
        let payload = line.payload_type();
        Some((line.kind, payload))
    }

    /// The parsed first bytes, if they have the usual order.
    #[must_use]
    pub fn start(&self) -> Option<LineStart<'a>> {
        self.start
    }

    /// Parses the whole line; none if it cannot be parsed or its type is unknown.
    #[must_use]
    pub fn read(&self) -> Option<RolloutLine> {
        if let Some(line) = self.start.and_then(|start| start.read()) {
            return Some(line);
        }
        let line = RolloutLine::read(std::str::from_utf8(self.bytes).ok()?).ok()?;
        (!matches!(line.item, RolloutItem::Kept(_))).then_some(line)
    }

    /// The line as stored.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The offset of the line, including blank lines before it.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// Calls `take` for every non-blank line until it breaks. Returns the number of bytes in whole lines.
///
/// # Errors
/// The file cannot be read or is empty.
pub fn scan(
    path: &Path,
    take: impl FnMut(ScannedLine<'_>) -> ControlFlow<()>,
) -> Result<u64, RolloutLoadError> {
    let chain = RolloutChain::open(path);
    let scanned = chain.and_then(|chain| scan_chain(&chain, 0..u64::MAX, take));
    let (whole, is_blank) = scanned.map_err(|source| RolloutLoadError::Io {
        path: path.to_owned(),
        source,
    })?;
    if is_blank {
        Err(RolloutLoadError::Empty)
    } else {
        Ok(whole)
    }
}

/// Calls `take` for the non-blank lines in a range of an open thread until it breaks. The range must start at
/// the beginning of a line.
///
/// # Errors
/// The file cannot be read.
pub fn scan_segment(
    chain: &RolloutChain,
    segment: Range<u64>,
    take: impl FnMut(ScannedLine<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    scan_chain(chain, segment, take).map(drop)
}

/// Some lines of a file, and everything from an offset on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSelection {
    /// The offsets of lines before `rest`, ascending.
    pub lines: Vec<u64>,
    /// The offset of the first of the other lines.
    pub rest: u64,
}

/// Like `scan`, with the selected lines only.
///
/// # Errors
/// The file cannot be read.
pub fn scan_selection(
    path: &Path,
    selection: &LineSelection,
    mut take: impl FnMut(ScannedLine<'_>) -> ControlFlow<()>,
) -> Result<u64, RolloutLoadError> {
    let scanned = RolloutChain::open(path).and_then(|chain| {
        for offset in &selection.lines {
            scan_segment(&chain, *offset..u64::MAX, |line| {
                let _ = take(line);
                ControlFlow::Break(())
            })?;
        }
        scan_chain(&chain, selection.rest..u64::MAX, take)
    });
    let scanned = scanned.map_err(|source| RolloutLoadError::Io {
        path: path.to_owned(),
        source,
    });
    scanned.map(|(whole, _)| whole)
}

/// Returns the end of the last whole line, and whether all lines were blank.
fn scan_chain(
    chain: &RolloutChain,
    segment: Range<u64>,
    mut take: impl FnMut(ScannedLine<'_>) -> ControlFlow<()>,
) -> io::Result<(u64, bool)> {
    let (mut whole, mut is_blank, mut is_enough) = (segment.start, true, false);
    for (begin, bytes) in chain.within(segment) {
        let (end, blank) = scan_lines(bytes?, begin, |line| {
            let flow = take(line);
            is_enough = flow.is_break();
            flow
        })?;
        whole = end;
        is_blank &= blank;
        if is_enough {
            break;
        }
    }
    Ok((whole, is_blank))
}

/// Returns the end of the last whole line, and whether all lines were blank.
fn scan_lines(
    mut input: impl Read,
    begin: u64,
    mut take: impl FnMut(ScannedLine<'_>) -> ControlFlow<()>,
) -> io::Result<(u64, bool)> {
    let mut buffer = vec![0; FIRST_READ];
    // `buffer[taken..filled]` is read but not yet passed on; its first byte is at `offset`.
    let (mut taken, mut filled, mut offset) = (0, 0, begin);
    // The beginning of a line that is too long to be kept whole.
    let mut long: Option<LongLine> = None;
    let mut is_blank = true;
    loop {
        if filled > LONG_LINE || long.is_some() {
            (long.get_or_insert_default()).push(&buffer[..filled]);
            filled = 0;
            buffer.truncate(BUFFER);
            buffer.shrink_to_fit();
        }
        if filled == buffer.len() {
            buffer.resize((filled * 2).clamp(BUFFER, LONG_LINE + BUFFER), 0);
        }
        // The older bytes contain no line end, so only the new ones are searched.
        let before = filled;
        filled += read_some(&mut input, &mut buffer[filled..])?;
        if filled == before {
            let rest = long.as_ref().map_or(&buffer[..filled], LongLine::bytes);
            if let Some(line) = ScannedLine::parse(rest, offset) {
                is_blank = false;
                let _ = take(line);
            }
            return Ok((offset, is_blank && long.is_none()));
        }
        for end in memchr::memchr_iter(b'\n', &buffer[before..filled]) {
            let end = before + end + 1;
            let part = &buffer[taken..end];
            let whole = long.take().map(|mut long| {
                long.push(part);
                long
            });
            let (bytes, length) = match &whole {
                Some(long) => (long.bytes(), long.length()),
                None => (part, part.len() as u64),
            };
            if let Some(long) = whole.as_ref().filter(|long| long.is_dropped()) {
                let length = long.length();
                tracing::warn!(offset, length, "a line is too long and is not read");
            }
            let line = ScannedLine::parse(bytes, offset);
            is_blank &= line.is_none() && whole.is_none();
            offset += length;
            taken = end;
            if line.is_some_and(|line| take(line).is_break()) {
                return Ok((offset, is_blank));
            }
        }
        if buffer.len() < BUFFER {
            buffer.resize(BUFFER, 0);
        }
        buffer.copy_within(taken..filled, 0);
        (taken, filled) = (0, filled - taken);
    }
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Option<(String, Option<String>)> {
        let bytes = line.as_bytes();
        let (kind, payload) = ScannedLine::parse(bytes, 0)?.kind()?;
        Some((kind.into_owned(), payload.map(Cow::into_owned)))
    }

    #[test]
    fn line_kind_is_found_in_any_member_order() {
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

    #[test]
    fn lines_of_every_length_come_with_their_places() {
        let lengths = [0, 1, BUFFER - 2, BUFFER, 3 * BUFFER, 5, 0, 7];
        let lines: Vec<String> = lengths.map(|length| "x".repeat(length) + "\n").into();
        let whole = lines.concat();
        let mut expected = Vec::new();
        let mut offset = 0;
        for line in &lines {
            if line.len() > 1 {
                expected.push((offset, line.len() - 1));
            }
            offset += line.len() as u64;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), whole.clone() + "torn").unwrap();
        let mut found = Vec::new();
        let length = scan(file.path(), |line| {
            found.push((line.offset(), line.bytes().len()));
            ControlFlow::Continue(())
        });
        assert_eq!(length.unwrap(), whole.len() as u64);
        assert_eq!(found.pop(), Some((whole.len() as u64, 4)));
        assert_eq!(found, expected);

        let (begin, _) = expected[1];
        let mut part = Vec::new();
        let chain = RolloutChain::open(file.path()).unwrap();
        scan_segment(&chain, begin..whole.len() as u64, |line| {
            part.push((line.offset(), line.bytes().len()));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(part, expected[1..]);
    }
}
