//! The numbers of lines that some engines write: `"ordinal":7` behind the timestamp.
//!
//! A file whose first line has one is numbered, and every line that is added to it gets the next number; those engines do not
//! take up a file that ends with a line without. Other files have no numbers.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use codex_protocol::LineStart;

use crate::chain::RolloutChain;

/// Enough of a line to see its number.
const LINE_START: usize = 128;
/// How much of the end of a file is read first, to find its last line.
const TAIL: u64 = 64 * 1024;

/// The number of the next line of a file; none if its lines have no numbers.
pub(crate) fn next_ordinal(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(0))?;
    let mut start = Vec::new();
    file.by_ref()
        .take(LINE_START as u64)
        .read_to_end(&mut start)?;
    if ordinal_of(&start).is_none() {
        return Ok(None);
    }
    match last_ordinal(file)? {
        Some(last) => Ok(Some(last + 1)),
        None => count(file).map(Some),
    }
}

/// Whether the lines of a file have numbers. What cannot be read has none.
#[must_use]
pub fn has_ordinals(path: &Path) -> bool {
    first_ordinal(path).is_some()
}

fn first_ordinal(path: &Path) -> Option<u64> {
    let mut start = Vec::new();
    let file = codex_regular_file::open(path).ok()?;
    file.take(LINE_START as u64).read_to_end(&mut start).ok()?;
    ordinal_of(&start)
}

/// Whether a copy of the file can go on with its numbers: it has them from 0 on, and continues no other file.
#[must_use]
pub fn is_numbered_from_zero(path: &Path) -> bool {
    let chain = RolloutChain::open(path);
    first_ordinal(path) == Some(0) && chain.is_ok_and(|chain| !chain.has_base())
}

/// The length of the first line, with its end.
pub(crate) fn first_line_length(path: &Path) -> io::Result<u64> {
    let mut file = BufReader::new(codex_regular_file::open(path)?);
    file.skip_until(b'\n').map(|length| length as u64)
}

fn ordinal_of(line: &[u8]) -> Option<u64> {
    let start = &line[..line.len().min(LINE_START)];
    LineStart::parse(start)
        .and_then(|start| start.ordinal)
        .or_else(|| {
            // A cut line has no payload to be recognised by.
            let text = std::str::from_utf8(start).ok()?;
            let (_, rest) = text
                .strip_prefix("{\"timestamp\":\"")?
                .split_once("\",\"ordinal\":")?;
            let digits = rest.split(',').next()?;
            digits.parse().ok()
        })
}

/// The number of the last line, if the line is found near the end and has one.
fn last_ordinal(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let length = file.seek(SeekFrom::End(0))?;
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.by_ref().take(TAIL).read_to_end(&mut tail)?;
    let lines = tail.trim_ascii_end();
    let begin = memchr::memrchr(b'\n', lines).map(|end| end + 1);
    let begin = begin.or((from == 0).then_some(0));
    Ok(begin.and_then(|begin| ordinal_of(&lines[begin..])))
}

/// Counts all lines. Those without a number, which an earlier version of this program has written, count as well.
fn count(file: &mut (impl Read + Seek)) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file);
    let (mut next, mut start) = (0, Vec::new());
    loop {
        start.clear();
        let mut length = 0;
        let ended = loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                break length == 0;
            }
            let end = memchr::memchr(b'\n', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let room = LINE_START - start.len().min(LINE_START);
            start.extend_from_slice(&piece[..piece.len().min(room)]);
            length += piece.len();
            let used = piece.len() + usize::from(end.is_some());
            reader.consume(used);
            if end.is_some() {
                break false;
            }
        };
        if !start.trim_ascii().is_empty() {
            next = ordinal_of(&start).map_or(next + 1, |ordinal| ordinal + 1);
        }
        if ended {
            return Ok(next);
        }
    }
}

/// Whether lines begin with one that has a number.
pub(crate) fn begin_with_ordinal(lines: &[u8]) -> bool {
    ordinal_of(lines).is_some()
}

/// Adds numbers to lines, from `next` on. A line that has one keeps it.
pub(crate) fn number_lines(lines: &[u8], next: &mut u64) -> Vec<u8> {
    let mut numbered = Vec::with_capacity(lines.len() + lines.len() / 8);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if let Some(ordinal) = ordinal_of(line) {
            *next = ordinal + 1;
            numbered.extend_from_slice(line);
            continue;
        }
        let end_of_time = line
            .strip_prefix(b"{\"timestamp\":\"")
            .and_then(|rest| memchr::memchr(b'"', rest))
            .map(|at| b"{\"timestamp\":\"".len() + at + 1);
        match end_of_time {
            Some(at) => {
                numbered.extend_from_slice(&line[..at]);
                numbered.extend_from_slice(format!(",\"ordinal\":{next}").as_bytes());
                numbered.extend_from_slice(&line[at..]);
                *next += 1;
            }
            None => numbered.extend_from_slice(line),
        }
    }
    numbered
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn line(ordinal: Option<u64>, payload: &str) -> String {
        let ordinal = ordinal.map_or(String::new(), |ordinal| format!(",\"ordinal\":{ordinal}"));
        format!(
            "{{\"timestamp\":\"2026-03-01T10:00:00.012Z\"{ordinal},\"type\":\"event_msg\",\"payload\":{payload}}}\n"
        )
    }

    fn next(text: &str) -> Option<u64> {
        next_ordinal(&mut Cursor::new(text.as_bytes())).unwrap()
    }

    #[test]
    fn next_number_follows_the_last_line() {
        let long = format!("\"{}\"", "x".repeat(200_000));
        let first = line(Some(0), "{}");
        assert_eq!(next(""), None);
        assert_eq!(next(&line(None, "{}")), None);
        assert_eq!(next(&first), Some(1));
        assert_eq!(next(&(first.clone() + &line(Some(1), &long))), Some(2));
        assert_eq!(next(&(first.clone() + &line(Some(6), "{}"))), Some(7));
        // A fork begins where its source was left.
        assert_eq!(next(&line(Some(39), "{}")), Some(40));
    }

    #[test]
    fn lines_without_numbers_count_in_a_numbered_file() {
        let text = line(Some(4), "{}") + &line(None, "{}") + &line(None, "{}");
        assert_eq!(next(&text), Some(7));
    }

    #[test]
    fn numbers_are_added_behind_the_time() {
        let lines = line(None, "{\"a\":1}") + &line(Some(9), "{}") + &line(None, "{}");
        let mut next = 3;
        let numbered = number_lines(lines.as_bytes(), &mut next);
        let expected = line(Some(3), "{\"a\":1}") + &line(Some(9), "{}") + &line(Some(10), "{}");
        assert_eq!(String::from_utf8(numbered).unwrap(), expected);
        assert_eq!(next, 11);
    }
}
