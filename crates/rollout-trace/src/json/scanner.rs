//! The scanner: one pass over bytes, skipping values or reading them.

use std::borrow::Cow;

use thiserror::Error;

use super::value::{Json, Object};

/// Containers may be nested this deep; one more is an error, as in serde_json.
const MAX_DEPTH: u8 = 127;

/// Where a text stopped being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{what} at byte {at}")]
pub(crate) struct SyntaxError {
    what: &'static str,
    at: usize,
}

/// A cursor over one JSON text.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
    depth: u8,
}

type Scan<T> = Result<T, SyntaxError>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            pos: 0,
            depth: 0,
        }
    }

    /// The whole text as one value.
    pub(crate) fn parse(bytes: &'a [u8]) -> Scan<Json<'a>> {
        let mut scanner = Self::new(bytes);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Goes to a position that is known to be the end of a value inside the current container.
    pub(crate) fn jump(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.pos) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.pos += 1;
        }
        None
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Scan<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fail("trailing characters"),
        }
    }

    /// Walks an object; `member` must consume the value of the key that it is given.
    pub(crate) fn object<E: From<SyntaxError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'{')?;
        if self.peek() == Some(b'}') {
            self.close();
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key").into());
            }
            let key = self.string()?;
            if self.peek() != Some(b':') {
                return Err(self.error("expected a colon").into());
            }
            self.pos += 1;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.pos += 1,
                Some(b'}') => break,
                _ => {
                    return Err(self
                        .error("expected a comma or the end of the object")
                        .into());
                }
            }
        }
        self.close();
        Ok(())
    }

    /// Walks an array; `element` must consume one value.
    pub(crate) fn array<E: From<SyntaxError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'[')?;
        if self.peek() == Some(b']') {
            self.close();
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek() {
                Some(b',') => self.pos += 1,
                Some(b']') => break,
                _ => {
                    return Err(self
                        .error("expected a comma or the end of the array")
                        .into());
                }
            }
        }
        self.close();
        Ok(())
    }

    pub(crate) fn value(&mut self) -> Scan<Json<'a>> {
        match self.peek() {
            Some(b'{') => {
                let mut members = Object::default();
                self.object(|scanner, key| {
                    let value = scanner.value()?;
                    members.push(key, value);
                    Ok::<_, SyntaxError>(())
                })?;
                Ok(Json::Object(members.folded()))
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.array(|scanner| {
                    elements.push(scanner.value()?);
                    Ok::<_, SyntaxError>(())
                })?;
                Ok(Json::Array(elements))
            }
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Json::Number(self.number()?)),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => self.fail("expected a value"),
            None => self.fail("the text ends where a value is expected"),
        }
    }

    /// Passes over one value, checking it as `value` would.
    pub(crate) fn skip(&mut self) -> Scan<()> {
        match self.peek() {
            Some(b'{') => self.object(|scanner, _| scanner.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b'"') => self.raw_string().map(drop),
            _ => self.value().map(drop),
        }
    }

    fn open(&mut self, bracket: u8) -> Scan<()> {
        if self.peek() != Some(bracket) {
            return self.fail("expected a container");
        }
        if self.depth == MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        self.depth += 1;
        self.pos += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.pos += 1;
    }

    fn word(&mut self, word: &'static str, value: Json<'a>) -> Scan<Json<'a>> {
        if self.bytes[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            Ok(value)
        } else {
            self.fail("expected true, false or null")
        }
    }

    fn number(&mut self) -> Scan<&'a str> {
        let start = self.pos;
        if self.bytes[self.pos] == b'-' {
            self.pos += 1;
        }
        let first = self.pos;
        if self.digits()? > 1 && self.bytes[first] == b'0' {
            return self.fail("a number with a leading zero");
        }
        if self.bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.pos), Some(b'e' | b'E')) {
            self.pos += 1;
            if matches!(self.bytes.get(self.pos), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.digits()?;
        }
        std::str::from_utf8(&self.bytes[start..self.pos]).map_err(|_| self.error("a bad number"))
    }

    fn digits(&mut self) -> Scan<usize> {
        let start = self.pos;
        while matches!(self.bytes.get(self.pos), Some(b'0'..=b'9')) {
            self.pos += 1;
        }
        match self.pos - start {
            0 => self.fail("expected a digit"),
            count => Ok(count),
        }
    }

    /// One string, decoded; borrowed when it holds no escape.
    fn string(&mut self) -> Scan<Cow<'a, str>> {
        let (text, escaped) = self.raw_string()?;
        if escaped {
            Ok(Cow::Owned(decode(text)))
        } else {
            Ok(Cow::Borrowed(text))
        }
    }

    /// One string between its quotes, checked but not decoded, and whether it holds an escape.
    fn raw_string(&mut self) -> Scan<(&'a str, bool)> {
        self.pos += 1;
        let start = self.pos;
        let mut escaped = false;
        loop {
            self.pos = plain_run(self.bytes, self.pos);
            match self.bytes.get(self.pos) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("the text ends inside a string"),
            }
        }
        let bytes = &self.bytes[start..self.pos];
        self.pos += 1;
        let text =
            std::str::from_utf8(bytes).map_err(|_| self.error("a string that is not UTF-8"))?;
        Ok((text, escaped))
    }

    fn escape(&mut self) -> Scan<()> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 2;
                Ok(())
            }
            Some(b'u') => {
                let unit = self.unicode_escape()?;
                match unit {
                    0xDC00..=0xDFFF => self.fail("a lone surrogate"),
                    0xD800..=0xDBFF => match self.unicode_escape()? {
                        0xDC00..=0xDFFF => Ok(()),
                        _ => self.fail("a lone surrogate"),
                    },
                    _ => Ok(()),
                }
            }
            _ => self.fail("an unknown escape"),
        }
    }

    fn unicode_escape(&mut self) -> Scan<u16> {
        match self.bytes.get(self.pos..self.pos + 6) {
            Some([b'\\', b'u', digits @ ..]) => {
                let unit = hex(digits).ok_or_else(|| self.error("a bad unicode escape"))?;
                self.pos += 6;
                Ok(unit)
            }
            _ => self.fail("a bad unicode escape"),
        }
    }

    fn error(&self, what: &'static str) -> SyntaxError {
        SyntaxError { what, at: self.pos }
    }

    fn fail<T>(&self, what: &'static str) -> Scan<T> {
        Err(self.error(what))
    }
}

/// The end of the bytes from `pos` that are neither quote, backslash nor control character.
///
/// Looks at eight bytes at a time: strings are most of a payload.
fn plain_run(bytes: &[u8], mut pos: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    while let Some(chunk) = bytes.get(pos..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = has_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = has_zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let special = quote | backslash | control;
        if special != 0 {
            // Borrows only run upwards, so the lowest marked byte is a true one.
            return pos + (special.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while let Some(&byte) = bytes.get(pos) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        pos += 1;
    }
    pos
}

fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |value, &digit| {
        let nibble = char::from(digit).to_digit(16)?;
        Some(value << 4 | nibble as u16)
    })
}

/// Decodes a string body whose escapes were checked by `raw_string`.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes()[at + 1];
        let mut used = 2;
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                used = decode_unicode(&rest.as_bytes()[at..], &mut out);
            }
            other => out.push(char::from(other)),
        }
        rest = &rest[at + used..];
    }
    out.push_str(rest);
    out
}

/// Decodes `\uXXXX` or a surrogate pair; returns the bytes used.
fn decode_unicode(bytes: &[u8], out: &mut String) -> usize {
    let unit = |at: usize| bytes.get(at + 2..at + 6).and_then(hex).unwrap_or_default();
    let first = unit(0);
    if (0xD800..0xDC00).contains(&first) {
        let pair = [first, unit(6)];
        out.extend(char::decode_utf16(pair).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        12
    } else {
        out.push(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER));
        6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    fn skip_all(bytes: &[u8]) -> Scan<()> {
        let mut scanner = Scanner::new(bytes);
        scanner.skip()?;
        scanner.end()
    }

    fn check(text: &str, expected: Option<&str>) {
        let parsed = Scanner::parse(text.as_bytes());
        assert_eq!(
            parsed.as_ref().ok().map(compact).as_deref(),
            expected,
            "{text:?}: {parsed:?}"
        );
        assert_eq!(
            skip_all(text.as_bytes()).is_ok(),
            expected.is_some(),
            "skipping {text:?}"
        );
    }

    #[test]
    fn keeps_order_and_digits() {
        check(
            r#" { "b" : [1.10, 1e400, -0, 1E5, 0.5e-3, 1e+2], "a":null } "#,
            Some(r#"{"b":[1.10,1e+400,0,1e+5,0.5e-3,1e+2],"a":null}"#),
        );
        check("[-0.0]", Some("[-0.0]"));
    }

    #[test]
    fn last_duplicate_wins_at_the_first_place() {
        check(r#"{"a":1,"b":2,"a":3}"#, Some(r#"{"a":3,"b":2}"#));
    }

    #[test]
    fn strings() {
        check(
            r#""a\/\u0041\uD83D\uDE00\n\u0001""#,
            Some("\"a/A😀\\n\\u0001\""),
        );
        check(
            "\"é and a longer run of text\"",
            Some("\"é and a longer run of text\""),
        );
        check(r#""\ud83d""#, None);
        check(r#""\ude00""#, None);
        check(r#""\ud83dx""#, None);
        check("\"a\nb\"", None);
        check("\"12345678\u{1}\"", None);
        check(r#""\x""#, None);
        check(r#""open"#, None);
    }

    #[test]
    fn rejects_what_is_not_json() {
        for text in [
            "", "01", "1.", "-", "1e", "{\"a\"}", "[1,]", "[1 2]", "tru", "1 2", "{,}", "nulls",
            "+1",
        ] {
            check(text, None);
        }
        assert!(Scanner::parse(b"\"\xff\"").is_err());
        assert!(skip_all(b"\"\xff\"").is_err());
    }

    #[test]
    fn nests_as_deep_as_serde_json() {
        for depth in [126, 127, 128, 129] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            let theirs = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(skip_all(text.as_bytes()).is_ok(), theirs, "{depth}");
        }
    }
}
