//! The scanner: one pass over bytes, skipping values or reading them.

use std::borrow::Cow;

use thiserror::Error;

use super::escapes::{Escapes, decode, hex, plain_run};
use super::string::JsonString;
use super::value::{Json, Object};
use crate::payload_files::PayloadBytes;

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
    /// What the text is the content of.
    payload: Option<&'a PayloadBytes<'a>>,
}

type Scan<T> = Result<T, SyntaxError>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            pos: 0,
            depth: 0,
            payload: None,
        }
    }

    /// At a position of a payload, where a value begins.
    pub(crate) fn in_payload(payload: &'a PayloadBytes<'a>, pos: usize) -> Self {
        Self {
            bytes: payload.bytes,
            pos,
            depth: 0,
            payload: Some(payload),
        }
    }

    /// The whole text as one value.
    pub(crate) fn parse(bytes: &'a [u8]) -> Scan<Json<'a>> {
        let mut scanner = Self::new(bytes);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    /// A whole payload as one value.
    pub(crate) fn parse_payload(payload: &'a PayloadBytes<'a>) -> Scan<Json<'a>> {
        let mut scanner = Self::in_payload(payload, 0);
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
            let key = self.key()?;
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
            Some(b'"') => {
                let (text, escapes) = self.raw_string()?;
                let string = JsonString::scanned(text, escapes, self.payload);
                Ok(Json::String(string))
            }
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
    fn key(&mut self) -> Scan<Cow<'a, str>> {
        let (text, escapes) = self.raw_string()?;
        Ok(match escapes {
            Escapes::None => Cow::Borrowed(text),
            _ => Cow::Owned(decode(text)),
        })
    }

    /// One string between its quotes, checked but not decoded, and its escapes.
    fn raw_string(&mut self) -> Scan<(&'a str, Escapes)> {
        self.pos += 1;
        let start = self.pos;
        let mut escapes = Escapes::None;
        loop {
            self.pos = plain_run(self.bytes, self.pos);
            match self.bytes.get(self.pos) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let is_canonical = self.escape()? && escapes != Escapes::Other;
                    escapes = if is_canonical {
                        Escapes::Canonical
                    } else {
                        Escapes::Other
                    };
                }
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("the text ends inside a string"),
            }
        }
        let bytes = &self.bytes[start..self.pos];
        self.pos += 1;
        let text =
            std::str::from_utf8(bytes).map_err(|_| self.error("a string that is not UTF-8"))?;
        Ok((text, escapes))
    }

    /// Passes over an escape; whether a compact text has it too.
    fn escape(&mut self) -> Scan<bool> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 2;
                Ok(true)
            }
            Some(b'/') => {
                self.pos += 2;
                Ok(false)
            }
            Some(b'u') => {
                let digits = self.pos + 2;
                let unit = self.unicode_escape()?;
                match unit {
                    0xDC00..=0xDFFF => self.fail("a lone surrogate"),
                    0xD800..=0xDBFF => match self.unicode_escape()? {
                        0xDC00..=0xDFFF => Ok(false),
                        _ => self.fail("a lone surrogate"),
                    },
                    0x08..=0x0a | 0x0c | 0x0d | 0x20.. => Ok(false),
                    _ => Ok(!self.bytes[digits..self.pos]
                        .iter()
                        .any(u8::is_ascii_uppercase)),
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
    fn invalid_json_is_rejected() {
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
