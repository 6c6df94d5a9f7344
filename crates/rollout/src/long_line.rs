//! Lines that are longer than any line of ours are read without the middle of their long texts, so that they need little memory.
//!
//! The result is the same JSON with shorter strings, and says how much is missing. The file stays as it is.

/// A longer line is shortened. The longest message of a client, with what is around it, is shorter.
pub(crate) const LONG_LINE: usize = 72 * 1024 * 1024;

/// How much of a text is kept.
const KEPT_TEXT: usize = 1024 * 1024;

/// What stands for an image that is left out: one transparent pixel. Part of an image would be no image.
const NO_IMAGE: &[u8] = b"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A long line while it is read.
#[derive(Debug, Default)]
pub(crate) struct LongLine {
    kept: Vec<u8>,
    length: u64,
    place: LinePlace,
    is_dropped: bool,
}

/// Where the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LinePlace {
    #[default]
    Outside,
    /// In a text that begins at `start` of what is kept.
    Text { start: usize, unit: Unit },
    /// In the part of a text that is left out.
    LeftOut { bytes: u64, is_escaped: bool },
}

/// The part of a text that must not be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Complete,
    /// So many bytes of a character follow.
    Character(u8),
    /// A backslash came before.
    Escape,
    /// So many digits of `\u` came, with this value.
    Digits(u8, u32),
    /// The first half of a pair; the other half follows.
    HalfPair,
}

impl LongLine {
    /// Adds what comes next.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.is_dropped {
            return;
        }
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            if let LinePlace::LeftOut {
                bytes,
                is_escaped: false,
            } = &mut self.place
            {
                // Most of a long line.
                let skipped = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if skipped > 0 {
                    *bytes += skipped as u64;
                    rest = &rest[skipped..];
                    continue;
                }
            }
            self.take(*byte);
            rest = after;
        }
        // Many short texts: there is nothing to leave out.
        if self.kept.len() > LONG_LINE {
            self.kept = Vec::new();
            self.is_dropped = true;
        }
    }

    /// The shortened line; empty if it cannot be shortened.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.kept
    }

    /// The length of the whole line.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether it is too long although it was shortened.
    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped
    }

    fn take(&mut self, byte: u8) {
        match &mut self.place {
            LinePlace::Outside => {
                self.kept.push(byte);
                if byte == b'"' {
                    self.place = LinePlace::Text {
                        start: self.kept.len(),
                        unit: Unit::Complete,
                    };
                }
            }
            LinePlace::LeftOut { bytes, is_escaped } => match byte {
                b'"' if !*is_escaped => {
                    let note = format!(" [{bytes} bytes are not read]\"");
                    let is_image = self.kept.ends_with(NO_IMAGE);
                    let note = if is_image { "\"" } else { &note };
                    self.kept.extend_from_slice(note.as_bytes());
                    self.place = LinePlace::Outside;
                }
                byte => {
                    *bytes += 1;
                    *is_escaped = byte == b'\\' && !*is_escaped;
                }
            },
            LinePlace::Text { start, unit } => {
                let start = *start;
                if *unit == Unit::Complete && byte == b'"' {
                    self.kept.push(byte);
                    self.place = LinePlace::Outside;
                    return;
                }
                *unit = unit.after(byte);
                let is_whole = *unit == Unit::Complete;
                self.kept.push(byte);
                if is_whole && self.kept.len() - start >= KEPT_TEXT {
                    self.leave_out(start);
                }
            }
        }
    }

    /// Leaves out what follows in the text that begins at `start`.
    fn leave_out(&mut self, start: usize) {
        if self.kept[start..].starts_with(b"data:") {
            self.kept.truncate(start);
            self.kept.extend_from_slice(NO_IMAGE);
        }
        self.place = LinePlace::LeftOut {
            bytes: 0,
            is_escaped: false,
        };
    }
}

impl Unit {
    fn after(self, byte: u8) -> Self {
        match self {
            Self::Complete | Self::HalfPair => match byte {
                b'\\' => Self::Escape,
                0xC0..=0xDF => Self::Character(1),
                0xE0..=0xEF => Self::Character(2),
                0xF0..=0xFF => Self::Character(3),
                _ => Self::Complete,
            },
            Self::Character(0 | 1) => Self::Complete,
            Self::Character(rest) => Self::Character(rest - 1),
            Self::Escape if byte == b'u' => Self::Digits(0, 0),
            Self::Escape => Self::Complete,
            Self::Digits(count, value) => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                let value = value << 4 | digit;
                match (count, value) {
                    (3, 0xD800..=0xDBFF) => Self::HalfPair,
                    (3, _) => Self::Complete,
                    _ => Self::Digits(count + 1, value),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shortened(line: &str, step: usize) -> Value {
        let mut long = LongLine::default();
        for part in line.as_bytes().chunks(step) {
            long.push(part);
        }
        assert_eq!(long.length(), line.len() as u64);
        serde_json::from_slice(long.bytes()).unwrap()
    }

    #[test]
    fn short_line_is_unchanged() {
        let line = json!({ "a\"\\": ["\u{1F600}", "ä\n", "data:x"], "b": { "c": 1.5, "d": null } });
        for text in [
            line.to_string(),
            r#"{"a\"\\":["\ud83d\ude00","\u00e4\n","data:x"],"b":{"c":1.5,"d":null}}"#.to_owned(),
        ] {
            for step in [1, 7, 1000] {
                assert_eq!(shortened(&text, step), line);
            }
        }
    }

    #[test]
    fn long_texts_lose_their_end_wherever_it_falls() {
        for unit in [
            "a",
            "ä",
            "\u{1F600}",
            "\\ud83d\\ude00",
            "\\u00e4",
            "\\\\",
            "\\\"",
            "a\\n",
        ] {
            for shift in 0..13 {
                let text = "x".repeat(shift) + &unit.repeat(3 * KEPT_TEXT / unit.len());
                let line = format!("{{\"text\":\"{text}\",\"after\":[1]}}");
                let value = shortened(&line, 64 * 1024);
                let kept = value["text"].as_str().unwrap();
                assert!(kept.len() < 2 * KEPT_TEXT, "{unit}");
                assert!(kept.ends_with(" bytes are not read]"), "{unit}");
                assert_eq!(value["after"], json!([1]));
            }
        }
    }

    #[test]
    fn long_image_becomes_another_image() {
        let url = "data:image/png;base64,".to_owned() + &"A".repeat(3 * KEPT_TEXT);
        let value = shortened(
            &json!({ "image_url": url, "detail": "high" }).to_string(),
            1000,
        );
        let expected = std::str::from_utf8(NO_IMAGE).unwrap();
        assert_eq!(value, json!({ "image_url": expected, "detail": "high" }));
    }

    #[test]
    fn line_of_many_texts_is_dropped() {
        let mut long = LongLine::default();
        let part = "\"x\",".repeat(1024 * 1024);
        for _ in 0..20 {
            long.push(part.as_bytes());
        }
        assert!(long.is_dropped() && long.bytes().is_empty());
        assert_eq!(long.length(), 20 * part.len() as u64);
    }
}
