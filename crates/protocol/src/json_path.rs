//! Finds the path of the value at an offset in a JSON text.
//!
//! A parser has accepted the text up to that offset, so the text before it is valid. Scanning never fails; for other input
//! it returns the best path it has.

use std::fmt::Write;

/// The path of the innermost value that contains `offset`; empty for the whole text.
pub(crate) fn path_at(text: &str, offset: usize) -> String {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        position: 0,
        offset,
        path: Vec::new(),
    };
    scanner.value();
    scanner.print(text)
}

/// A step of a path. Names are ranges of the text.
enum PathStep {
    Name { start: usize, end: usize },
    Index(usize),
}

struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
    offset: usize,
    path: Vec<PathStep>,
}

/// Whether the value was found, so that the path is final.
type Found = bool;

impl Scanner<'_> {
    /// Skips a value.
    fn value(&mut self) -> Found {
        self.skip_blanks();
        if self.position >= self.offset {
            return true;
        }
        match self.peek() {
            Some(b'{') => self.container(b'}', Self::member),
            Some(b'[') => self.container(b']', Self::item),
            Some(b'"') => {
                self.string();
                self.position >= self.offset
            }
            _ => {
                self.scalar();
                self.position >= self.offset
            }
        }
    }

    /// Skips an object or array, member by member.
    fn container(&mut self, close: u8, part: fn(&mut Self, usize) -> Found) -> Found {
        self.position += 1;
        for index in 0.. {
            self.skip_blanks();
            match self.peek() {
                None => return true,
                Some(next) if next == close => {
                    self.position += 1;
                    return self.position >= self.offset;
                }
                Some(b',') => self.position += 1,
                Some(_) => {}
            }
            let before = self.position;
            if part(self, index) || self.position >= self.offset {
                return true;
            }
            if self.position == before {
                return true;
            }
        }
        true
    }

    fn member(&mut self, _index: usize) -> Found {
        self.skip_blanks();
        let start = self.position + 1;
        self.string();
        let end = self.position.saturating_sub(1).max(start);
        if self.position >= self.offset {
            return true;
        }
        self.skip_blanks();
        self.position += usize::from(self.peek() == Some(b':'));
        self.step(PathStep::Name { start, end })
    }

    fn item(&mut self, index: usize) -> Found {
        self.step(PathStep::Index(index))
    }

    fn step(&mut self, step: PathStep) -> Found {
        self.path.push(step);
        let found = self.value();
        if !found {
            self.path.pop();
        }
        found
    }

    fn string(&mut self) {
        if self.peek() != Some(b'"') {
            return;
        }
        self.position += 1;
        while let Some(byte) = self.peek() {
            self.position += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn scalar(&mut self) {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.peek().is_some_and(is_part) {
            self.position += 1;
        }
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn print(&self, text: &str) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                PathStep::Name { start, end } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(text.get(*start..*end).unwrap_or_default());
                }
                PathStep::Index(index) => {
                    // Writing to a string cannot fail.
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path at the place that is marked with `^`.
    #[track_caller]
    fn check(marked: &str, expected: &str) {
        let offset = marked.find('^').unwrap();
        let text = marked.replacen('^', "", 1);
        assert_eq!(path_at(&text, offset), expected, "{marked}");
    }

    #[test]
    fn at_the_end_of_a_value() {
        check(r#"{"a":7^}"#, "a");
        check(r#"{"a":1,"b":[true,{"c":"x\"y"^}]}"#, "b[1].c");
        check(r#"{"a": 1 , "b" : [ 2, 3^ ] }"#, "b[1]");
        check(r#"7^"#, "");
    }

    #[test]
    fn at_the_beginning_of_a_value() {
        check(r#"{"a":1,"b":^{"c":2}}"#, "b");
        check(r#"[[], ^[]]"#, "[1]");
    }

    #[test]
    fn path_after_an_incomplete_value() {
        check(r#"{"a":{"b":1}^,"c":2}"#, "a");
        check(r#"{"a":[{}^]}"#, "a[0]");
        check(r#"{"a":1}^"#, "");
    }

    #[test]
    fn text_that_is_not_json_does_no_harm() {
        for text in [
            "", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[,", "[1 2", "{]", "}{", "\"\\",
        ] {
            for offset in 0..text.len() + 2 {
                path_at(text, offset);
            }
        }
    }
}
