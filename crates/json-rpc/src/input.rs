//! Lines of bounded length from a stream.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The longest line that is read, in bytes. It leaves room for several images.
pub const LINE_LIMIT: usize = 256 * 1024 * 1024;

/// The capacity that the buffer of a line keeps between lines.
const KEPT_CAPACITY: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextLine {
    /// The buffer holds a line.
    Line,
    /// The line was longer than the limit and was skipped.
    TooLong,
    /// The stream has ended.
    End,
}

/// Reads the next line into `line`, without keeping more than `limit` bytes of it.
pub(crate) async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    limit: usize,
    line: &mut Vec<u8>,
) -> io::Result<NextLine> {
    line.clear();
    line.shrink_to(KEPT_CAPACITY);
    let mut is_too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(match (is_too_long, line.is_empty()) {
                (true, _) => NextLine::TooLong,
                (false, true) => NextLine::End,
                (false, false) => NextLine::Line,
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(available.len(), |end| end + 1);
        if line.len() + length > limit {
            is_too_long = true;
            *line = Vec::new();
        }
        if !is_too_long {
            line.extend_from_slice(&available[..length]);
        }
        input.consume(length);
        match end {
            Some(_) if is_too_long => return Ok(NextLine::TooLong),
            Some(_) => return Ok(NextLine::Line),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped() {
        let mut input = BufReader::with_capacity(4, b"one\nlonger than ten\ntwo\nlast".as_slice());
        let mut line = Vec::new();
        let mut read = Vec::new();
        loop {
            match next_line(&mut input, 10, &mut line).await.unwrap() {
                NextLine::Line => read.push(String::from_utf8(line.clone()).unwrap()),
                NextLine::TooLong => read.push("(too long)".to_owned()),
                NextLine::End => break,
            }
        }
        assert_eq!(read, ["one\n", "(too long)", "two\n", "last"]);
    }

    #[tokio::test]
    async fn input_may_end_within_long_line() {
        let mut input = b"longer than ten".as_slice();
        let mut line = Vec::new();
        let first = next_line(&mut input, 10, &mut line).await.unwrap();
        let second = next_line(&mut input, 10, &mut line).await.unwrap();
        assert_eq!((first, second), (NextLine::TooLong, NextLine::End));
    }
}
