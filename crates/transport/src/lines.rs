//! Splits a byte stream into lines of limited length.
//!
//! Lines end only at `\n`. A line above the limit is skipped to its end and reported once; at most the limit is kept
//! in memory.

use std::io::{self, BufRead};

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::InputLine;

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    line: LineBuffer,
}

/// The current line.
#[derive(Debug)]
struct LineBuffer {
    limit: usize,
    partial: Vec<u8>,
    skipping: bool,
}

impl<R> Lines<R> {
    pub fn new(input: R, limit: usize) -> Self {
        let line = LineBuffer {
            limit,
            partial: Vec::new(),
            skipping: false,
        };
        Self { input, line }
    }
}

impl<R: BufRead> Lines<R> {
    /// The next line; none at the end of the input. Text after the last `\n` is a line too.
    pub fn next_line(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                return Ok(self.line.last());
            }
            let (taken, line) = self.line.take_from(available);
            self.input.consume(taken);
            if line.is_some() {
                return Ok(line);
            }
        }
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Like [`next_line`](Lines::next_line) for a stream. Cancel safe.
    pub async fn next_of_stream(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.line.last());
            }
            let (taken, line) = self.line.take_from(available);
            self.input.consume(taken);
            if line.is_some() {
                return Ok(line);
            }
        }
    }
}

impl LineBuffer {
    /// Appends the bytes of the line. Returns their number, and the line if it is complete.
    fn take_from(&mut self, available: &[u8]) -> (usize, Option<InputLine>) {
        let end = memchr::memchr(b'\n', available);
        let taken = end.unwrap_or(available.len());
        if self.partial.len() + taken > self.limit {
            self.skipping = true;
            self.partial = Vec::new();
        }
        if !self.skipping {
            self.partial.extend_from_slice(&available[..taken]);
        }
        match end {
            Some(end) => (end + 1, Some(self.finish())),
            None => (taken, None),
        }
    }

    /// The unterminated line at the end of the input.
    fn last(&mut self) -> Option<InputLine> {
        let is_blank = self.partial.is_empty() && !self.skipping;
        (!is_blank).then(|| self.finish())
    }

    fn finish(&mut self) -> InputLine {
        let line = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.skipping) {
            InputLine::TooLong
        } else {
            InputLine::Whole(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &[Option<&str>]) {
        for capacity in [1, 3, 1024] {
            let mut lines = Lines::new(BufReader::with_capacity(capacity, input.as_bytes()), 8);
            for line in expected {
                let expected =
                    line.map_or(InputLine::TooLong, |text| InputLine::Whole(text.into()));
                assert_eq!(lines.next_line().unwrap(), Some(expected));
            }
            assert_eq!(lines.next_line().unwrap(), None);
        }
    }

    #[test]
    fn lines_end_at_newlines_only() {
        check(
            "a\rb\u{2028}\n\nlast",
            &[Some("a\rb\u{2028}"), Some(""), Some("last")],
        );
        check("", &[]);
    }

    #[test]
    fn oversized_line_is_skipped_and_the_next_one_read() {
        check("12345678\n", &[Some("12345678")]);
        check("123456789\nnext\n", &[None, Some("next")]);
        check("123456789", &[None]);
    }
}
