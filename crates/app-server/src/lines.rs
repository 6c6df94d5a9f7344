//! The line codec: bytes in, lines out, none longer than a limit.
//!
//! A line ends at `\n` and nowhere else. One that passes the limit is skipped to its end and reported
//! once; no more than the limit is ever held. Nothing is lost if a read is dropped half-way.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The longest line that is read unless somebody says otherwise.
pub(crate) const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// A line, or what is left of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// It passed the limit and was skipped.
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    limit: usize,
    partial: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            limit,
            partial: Vec::new(),
            skipping: false,
        }
    }

    /// The next line; none at the end of the input. What stands after the last `\n` counts as a line.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                let is_blank = self.partial.is_empty() && !self.skipping;
                return Ok((!is_blank).then(|| self.take()));
            }
            let end = memchr::memchr(b'\n', available);
            let taken = end.unwrap_or(available.len());
            if self.partial.len() + taken > self.limit {
                self.skipping = true;
                self.partial = Vec::new();
            }
            if !self.skipping {
                self.partial.extend_from_slice(&available[..taken]);
            }
            self.input.consume(end.map_or(taken, |end| end + 1));
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.skipping) {
            Line::TooLong
        } else {
            Line::Whole(line)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn check(input: &str, expected: &[Option<&str>]) {
        for capacity in [1, 3, 1024] {
            let reader = tokio::io::BufReader::with_capacity(capacity, input.as_bytes());
            let mut lines = Lines::new(reader, 8);
            for line in expected {
                let expected = line.map_or(Line::TooLong, |text| Line::Whole(text.into()));
                assert_eq!(lines.next().await.unwrap(), Some(expected));
            }
            assert_eq!(lines.next().await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn lines_end_at_newlines_only() {
        check(
            "a\rb\u{2028}\n\nlast",
            &[Some("a\rb\u{2028}"), Some(""), Some("last")],
        )
        .await;
        check("", &[]).await;
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_and_the_next_one_is_read() {
        check("12345678\n", &[Some("12345678")]).await;
        check("123456789\nnext\n", &[None, Some("next")]).await;
        check("123456789", &[None]).await;
    }
}
