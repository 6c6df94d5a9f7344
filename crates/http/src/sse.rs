//! An incremental parser of server-sent events.
//!
//! It takes a byte stream in chunks of any size and returns the data of each event; the chunk boundaries do not
//! matter. The cost is linear: each byte is examined once and copied at most once. Lines may end in CR, LF or CRLF.
//! A byte order mark at the start is skipped. The `data` lines of one event are joined by LF. The values of `event`,
//! `id` and `retry` are kept for callers that want them; longer ones than [`MAX_KEPT_VALUE_BYTES`] are ignored. Comments
//! and other fields are skipped. Events and lines have size limits; exceeding one ends the stream.
//!
//! Data is returned as bytes, not decoded. An unfinished event at the end of the stream is dropped, as the format
//! requires.

use std::time::Duration;

use memchr::{memchr, memchr2};

/// The maximum size of an event's data; enough for images in base64.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;
/// The maximum length of a skipped line.
const MAX_SKIPPED_LINE_BYTES: usize = 1024 * 1024;
/// The maximum length of a type, an id or a number of milliseconds.
const MAX_KEPT_VALUE_BYTES: usize = 1024;
/// Larger buffers are freed after their event.
const KEPT_CAPACITY: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const DATA: &[u8] = b"data";
/// The length of the longest name of a field that is not skipped.
const LONGEST_NAME: usize = 5;

/// The stream exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// The data of an event is too large.
    #[error("an event of the stream is larger than {0} bytes")]
    EventTooLarge(usize),
    /// A comment or an ignored field is too long.
    #[error("a line of the stream is longer than {0} bytes")]
    LineTooLong(usize),
}

/// The limits of the parser.
#[derive(Clone, Copy, Debug)]
pub struct SseLimits {
    /// The maximum size of an event's data, in bytes.
    pub event: usize,
    /// The maximum length of a skipped line, in bytes.
    pub skipped_line: usize,
}

impl Default for SseLimits {
    fn default() -> Self {
        Self {
            event: MAX_EVENT_BYTES,
            skipped_line: MAX_SKIPPED_LINE_BYTES,
        }
    }
}

/// A field whose value is kept.
#[derive(Clone, Copy, Debug)]
enum KeptField {
    Event,
    Id,
    Retry,
}

impl KeptField {
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"event" => Some(Self::Event),
            b"id" => Some(Self::Id),
            b"retry" => Some(Self::Retry),
            _ => None,
        }
    }
}

/// What is known about the current line.
#[derive(Clone, Copy, Debug)]
enum LineState {
    /// Its field name is still incomplete.
    Name,
    /// A data line, before its first byte, which may be the optional space.
    DataStart,
    /// A data line.
    Data,
    /// A field whose value is kept, without its end.
    Kept(KeptField),
    /// A comment or an ignored field, and how many bytes were skipped.
    Skipped(usize),
}

/// The parser: give a chunk to [`SseParser::next`], which takes events from it until there is none left.
#[derive(Debug)]
pub struct SseParser {
    limits: SseLimits,
    line: LineState,
    name: Vec<u8>,
    /// The value of the current line, if it is kept.
    value: Vec<u8>,
    event_type: Vec<u8>,
    /// The id of the current event, which counts from its end on.
    next_id: Option<Vec<u8>>,
    last_id: Vec<u8>,
    retry: Option<Duration>,
    data: Vec<u8>,
    has_data: bool,
    first_line: bool,
    after_carriage_return: bool,
    /// The event in `data` was returned and is cleared by the next call.
    handed_out: bool,
    failed: Option<SseError>,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new(SseLimits::default())
    }
}

impl SseParser {
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            line: LineState::Name,
            name: Vec::new(),
            value: Vec::new(),
            event_type: Vec::new(),
            next_id: None,
            last_id: Vec::new(),
            retry: None,
            data: Vec::new(),
            has_data: false,
            first_line: true,
            after_carriage_return: false,
            handed_out: false,
            failed: None,
        }
    }

    /// Parses `chunk` up to the end of the next event and removes the parsed bytes from it.
    ///
    /// `None` means that the whole chunk was parsed. After an error every call returns that error.
    pub fn next<'parser>(
        &'parser mut self,
        chunk: &mut &[u8],
    ) -> Option<Result<&'parser [u8], SseError>> {
        if let Some(error) = self.failed {
            return Some(Err(error));
        }
        if self.handed_out {
            self.forget_event();
        }
        while !chunk.is_empty() {
            match self.read_line(chunk) {
                Ok(false) => {}
                Ok(true) => {
                    self.handed_out = true;
                    return Some(Ok(&self.data));
                }
                Err(error) => {
                    self.failed = Some(error);
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// The type of the event that was returned last; empty if it has none.
    #[must_use]
    pub fn event_type(&self) -> &[u8] {
        &self.event_type
    }

    /// The id of the last complete event that had one, also of those without data; empty if there was none.
    #[must_use]
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// How long the server wants its clients to wait before they connect again.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Parses up to the end of the line or of the chunk. True if an event is complete.
    fn read_line(&mut self, chunk: &mut &[u8]) -> Result<bool, SseError> {
        if std::mem::take(&mut self.after_carriage_return) && chunk[0] == b'\n' {
            *chunk = &chunk[1..];
            return Ok(false);
        }
        let Some(end) = memchr2(b'\r', b'\n', chunk) else {
            let rest = std::mem::take(chunk);
            self.take(rest)?;
            return Ok(false);
        };
        let (text, rest) = chunk.split_at(end);
        self.after_carriage_return = rest[0] == b'\r';
        *chunk = &rest[1..];
        self.take(text)?;
        self.end_line()
    }

    /// Adds a part of a line without a line end.
    fn take(&mut self, piece: &[u8]) -> Result<(), SseError> {
        match self.line {
            LineState::Name => self.take_name(piece),
            LineState::DataStart => match piece {
                [] => Ok(()),
                [b' ', text @ ..] => self.take_data(text),
                text => self.take_data(text),
            },
            LineState::Data => self.take_data(piece),
            LineState::Kept(_) => self.keep(piece),
            LineState::Skipped(before) => self.skip(before, piece),
        }
    }

    fn take_name(&mut self, piece: &[u8]) -> Result<(), SseError> {
        let colon = memchr(b':', piece);
        let name = &piece[..colon.unwrap_or(piece.len())];
        if self.name.len() + name.len() > BYTE_ORDER_MARK.len() + LONGEST_NAME {
            return self.skip(self.name.len(), piece);
        }
        self.name.extend_from_slice(name);
        let Some(colon) = colon else {
            return Ok(());
        };
        if self.field_name() == DATA {
            self.begin_data();
        } else if let Some(field) = KeptField::named(self.field_name()) {
            self.line = LineState::Kept(field);
        } else {
            return self.skip(self.name.len(), &piece[colon..]);
        }
        self.take(&piece[colon + 1..])
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), SseError> {
        let length = self.value.len();
        if length + piece.len() > MAX_KEPT_VALUE_BYTES.min(self.limits.skipped_line) {
            return self.skip(length, piece);
        }
        self.value.extend_from_slice(piece);
        Ok(())
    }

    /// Applies the value of a complete line.
    fn apply(&mut self, field: KeptField) {
        let value = self.value.strip_prefix(b" ").unwrap_or(&self.value);
        match field {
            KeptField::Event => self.event_type = value.to_vec(),
            KeptField::Id if value.contains(&0) => {}
            KeptField::Id => self.next_id = Some(value.to_vec()),
            KeptField::Retry if value.iter().all(u8::is_ascii_digit) => {
                let number = std::str::from_utf8(value).ok();
                if let Some(milliseconds) = number.and_then(|number| number.parse().ok()) {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            KeptField::Retry => {}
        }
    }

    /// The name of the current field, without a byte order mark.
    fn field_name(&self) -> &[u8] {
        match self.name.strip_prefix(BYTE_ORDER_MARK) {
            Some(name) if self.first_line => name,
            _ => &self.name,
        }
    }

    fn begin_data(&mut self) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.line = LineState::DataStart;
    }

    fn take_data(&mut self, text: &[u8]) -> Result<(), SseError> {
        self.line = LineState::Data;
        if self.data.len() + text.len() > self.limits.event {
            return Err(SseError::EventTooLarge(self.limits.event));
        }
        self.data.extend_from_slice(text);
        Ok(())
    }

    fn skip(&mut self, before: usize, piece: &[u8]) -> Result<(), SseError> {
        let skipped = before + piece.len();
        self.line = LineState::Skipped(skipped);
        if skipped > self.limits.skipped_line {
            return Err(SseError::LineTooLong(self.limits.skipped_line));
        }
        Ok(())
    }

    /// Ends the line. True if it was the empty line that ends an event.
    fn end_line(&mut self) -> Result<bool, SseError> {
        let mut ends_event = false;
        match self.line {
            LineState::Name => match self.field_name() {
                b"" => ends_event = self.end_event(),
                // A line without a colon is a field with an empty value.
                DATA => self.begin_data(),
                name => {
                    if let Some(field) = KeptField::named(name) {
                        self.apply(field);
                    }
                }
            },
            LineState::Kept(field) => self.apply(field),
            _ => {}
        }
        self.line = LineState::Name;
        self.name.clear();
        self.value.clear();
        self.first_line = false;
        if self.data.len() > self.limits.event {
            return Err(SseError::EventTooLarge(self.limits.event));
        }
        Ok(ends_event)
    }

    /// Ends an event. False if it has no data, so that nothing is to be returned.
    fn end_event(&mut self) -> bool {
        if let Some(id) = self.next_id.take() {
            self.last_id = id;
        }
        if !self.has_data {
            self.event_type.clear();
        }
        self.has_data
    }

    fn forget_event(&mut self) {
        self.event_type.clear();
        self.handed_out = false;
        self.has_data = false;
        self.data.clear();
        self.data.shrink_to(KEPT_CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limits: SseLimits) -> Parsed {
        let mut parser = SseParser::new(limits);
        let mut events = Vec::new();
        for mut chunk in chunks {
            while let Some(event) = parser.next(&mut chunk) {
                match event {
                    Ok(data) => events.push(String::from_utf8_lossy(data).into_owned()),
                    Err(error) => return (events, Some(error)),
                }
            }
        }
        (events, None)
    }

    type Parsed = (Vec<String>, Option<SseError>);

    /// Checks the events of a stream, in one chunk and byte by byte.
    fn check(stream: &str, expected: &[&str]) {
        let limits = SseLimits::default();
        assert_eq!(
            parse([stream.as_bytes()], limits).0,
            expected,
            "whole: {stream:?}"
        );
        assert_eq!(
            parse(stream.as_bytes().chunks(1), limits).0,
            expected,
            "{stream:?}"
        );
    }

    #[test]
    fn every_line_end_counts() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\ndata: b\n\r", &["a\nb"]);
    }

    #[test]
    fn data_lines_are_joined() {
        check(
            "data: a\ndata: b\ndata:\ndata\ndata: c\n\n",
            &["a\nb\n\n\nc"],
        );
    }

    #[test]
    fn one_space_after_the_colon_is_dropped() {
        check("data:a\n\ndata:  b\n\ndata: \n\n", &["a", " b", ""]);
    }

    #[test]
    fn comments_and_other_fields_are_skipped() {
        check(
            ": hello\nevent: x\nid: 1\nretry: 5\ndatax: no\n data: no\ndat: no\ndata: a\n:\n\n",
            &["a"],
        );
    }

    #[test]
    fn types_ids_and_delays_are_kept() {
        let stream =
            b"id: 1\nevent: endpoint\ndata: a\n\nid:2\nretry: 500\n\ndata: b\n\nid: 3\ndata: c\n";
        for size in [1, 2, 7, stream.len()] {
            let mut parser = SseParser::default();
            let mut types = Vec::new();
            for mut chunk in stream.chunks(size) {
                while let Some(Ok(data)) =
                    parser.next(&mut chunk).map(|data| data.map(<[u8]>::to_vec))
                {
                    types.push((data, parser.event_type().to_vec()));
                }
            }
            let expected = [
                (b"a".to_vec(), b"endpoint".to_vec()),
                (b"b".to_vec(), Vec::new()),
            ];
            assert_eq!(types, expected);
            // The last event is not complete.
            assert_eq!(parser.last_id(), b"2");
            assert_eq!(parser.retry(), Some(Duration::from_millis(500)));
        }
    }

    #[test]
    fn ids_and_delays_that_are_none_are_ignored() {
        let long = "9".repeat(MAX_KEPT_VALUE_BYTES);
        let stream = format!(
            "id: 1\n\nid: \0\n\nid: {long}\n\nretry: 5s\nretry: -1\nretry: {long}\nretry:\n\n"
        );
        let mut parser = SseParser::default();
        assert_eq!(parser.next(&mut stream.as_bytes()), None);
        assert_eq!(parser.last_id(), b"1");
        assert_eq!(parser.retry(), None);
        assert_eq!(parser.next(&mut &b"id\n\n"[..]), None);
        assert_eq!(parser.last_id(), b"");
    }

    #[test]
    fn events_without_data_are_none() {
        check("\n\nevent: x\n\n: c\n\ndata\n\n", &[""]);
    }

    #[test]
    fn the_byte_order_mark_is_skipped_once() {
        check("\u{feff}data: a\n\n", &["a"]);
        check("\u{feff}\n\ndata: a\n\n", &["a"]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
    }

    #[test]
    fn an_unfinished_event_is_dropped() {
        check("data: a\n\ndata: b\n", &["a"]);
        check("data: a\n\ndata: b", &["a"]);
    }

    #[test]
    fn limits_end_the_stream() {
        let limits = SseLimits {
            event: 4,
            skipped_line: 8,
        };
        let check = |stream: &str, events: &[&str], error: Option<SseError>| {
            for size in [1, 3, 100] {
                let (found, ended) = parse(stream.as_bytes().chunks(size), limits);
                assert_eq!(
                    (&*found, ended),
                    (&*to_strings(events), error),
                    "{stream:?}"
                );
            }
        };
        let too_large = Some(SseError::EventTooLarge(4));
        check("data: 1234\n\n", &["1234"], None);
        check("data: 12345\n\n", &[], too_large);
        check("data: 1\n\ndata: 12\ndata: 34\n\n", &["1"], too_large);
        check("data\ndata\ndata\ndata\ndata\ndata\n\n", &[], too_large);
        check(":1234567\ndata: 1\n\n", &["1"], None);
        check(
            "data: 1\n\n:12345678\n",
            &["1"],
            Some(SseError::LineTooLong(8)),
        );
    }

    fn to_strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn an_error_stays() {
        let mut parser = SseParser::new(SseLimits {
            event: 1,
            skipped_line: 1,
        });
        let error = SseError::EventTooLarge(1);
        assert_eq!(parser.next(&mut &b"data: 12"[..]), Some(Err(error)));
        assert_eq!(parser.next(&mut &b"\n\n"[..]), Some(Err(error)));
    }

    /// A reference implementation that works on the whole text.
    fn naive(stream: &str) -> Vec<String> {
        let text = stream.strip_prefix('\u{feff}').unwrap_or(stream);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let Some((complete, _)) = text.rsplit_once('\n') else {
            return Vec::new();
        };
        let mut events = Vec::new();
        let mut data: Vec<&str> = Vec::new();
        for line in complete.split('\n') {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            if line.is_empty() && !data.is_empty() {
                events.push(data.join("\n"));
                data.clear();
            } else if name == "data" {
                data.push(value.strip_prefix(' ').unwrap_or(value));
            }
        }
        events
    }

    /// Text that often contains the special characters of the format.
    fn streams() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("data"),
            Just(":"),
            Just(" "),
            Just("\n"),
            Just("\n\n"),
            Just("\r"),
            Just("\r\n"),
            Just("event"),
            Just("\u{feff}"),
            Just("data: x"),
            Just("é😀"),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            stream in streams(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
            prop_assert_eq!(parse(chunks, SseLimits::default()), (naive(&stream), None));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let limits = SseLimits { event: 16, skipped_line: 16 };
            let whole = parse([&*bytes], limits);
            prop_assert_eq!(parse(bytes.chunks(1), limits), whole);
        }
    }
}
