//! Reads lines up to a maximum length.

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

pub(crate) enum InputLine {
    Read(Vec<u8>),
    /// The line was skipped.
    TooLong,
}

/// Reads lines up to a maximum length. Cancel safe.
pub(crate) struct InputLines<R> {
    input: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> InputLines<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self {
            input: BufReader::new(input),
            limit,
            line: Vec::new(),
            skipping: false,
        }
    }

    /// The next line; none at the end of the input.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<InputLine>> {
        loop {
            let available = self.input.fill_buf().await;
            let available = available.context("cannot read the input")?;
            if available.is_empty() {
                let last = std::mem::take(&mut self.line);
                return Ok((!last.is_empty()).then_some(InputLine::Read(last)));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            if !self.skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(end.map_or(taken, |end| end + 1));
            if self.line.len() > self.limit {
                self.skipping = true;
                self.line = Vec::new();
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let skipped = std::mem::take(&mut self.skipping);
                return Ok(Some(if skipped {
                    InputLine::TooLong
                } else {
                    InputLine::Read(line)
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn too_long_line_is_skipped() {
        let mut lines = InputLines::new(&b"four\ntoo long\n\nend"[..], 4);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(match line {
                InputLine::Read(text) => String::from_utf8(text).unwrap(),
                InputLine::TooLong => "(too long)".to_owned(),
            });
        }
        assert_eq!(seen, ["four", "(too long)", "", "end"]);
    }
}
