//! Reads whole lines from a file, within limits.

use std::fs::File;
use std::io::{self, Read};

/// The size of one read.
const CHUNK: usize = 64 * 1024;
/// A longer line is skipped.
const LINE_LIMIT: usize = 16 * 1024 * 1024;

/// Reads lines from the current position of a file.
pub(crate) struct LineReader {
    file: File,
    buffer: Vec<u8>,
    /// How much of the buffer has been returned.
    taken: usize,
    /// The end of the last whole line.
    offset: u64,
    /// How many more bytes may be read.
    budget: u64,
    passing_over: bool,
    ended: bool,
}

impl LineReader {
    /// Reads at most `budget` bytes of `file`, whose position is `offset`.
    pub(crate) fn new(file: File, offset: u64, budget: u64) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            taken: 0,
            offset,
            budget,
            passing_over: false,
            ended: false,
        }
    }

    /// The end of the last whole line.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// The next whole line, without its line break.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let rest = &self.buffer[self.taken..];
            if let Some(end) = memchr::memchr(b'\n', rest) {
                let start = self.taken;
                self.taken += end + 1;
                self.offset += end as u64 + 1;
                if std::mem::take(&mut self.passing_over) {
                    continue;
                }
                return Ok(Some(&self.buffer[start..start + end]));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// The bytes after the last whole line.
    pub(crate) fn rest(&self) -> &[u8] {
        if self.passing_over {
            &[]
        } else {
            &self.buffer[self.taken..]
        }
    }

    fn fill(&mut self) -> io::Result<bool> {
        if self.ended || self.budget == 0 {
            return Ok(false);
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        if self.buffer.len() > LINE_LIMIT {
            self.passing_over = true;
        }
        if self.passing_over {
            self.offset += self.buffer.len() as u64;
            self.buffer.clear();
        }
        // The step grows with the line, so a long line is not copied too often.
        let step = self.buffer.len().max(CHUNK) as u64;
        let wanted = step.min(self.budget);
        let read = (&mut self.file)
            .take(wanted)
            .read_to_end(&mut self.buffer)?;
        self.budget -= read as u64;
        self.ended = (read as u64) < wanted;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines_of(content: &[u8], budget: u64) -> (Vec<usize>, u64, usize) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let mut lines = LineReader::new(file, 0, budget);
        let mut lengths = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            lengths.push(line.len());
        }
        (lengths, lines.offset(), lines.rest().len())
    }

    #[test]
    fn whole_lines_and_the_rest() {
        assert_eq!(lines_of(b"a\n\nbc\nd", 100), (vec![1, 0, 2], 6, 1));
        assert_eq!(lines_of(b"", 100), (vec![], 0, 0));
        let long = [vec![b'x'; 200_000], b"\ny\n".to_vec()].concat();
        assert_eq!(lines_of(&long, u64::MAX), (vec![200_000, 1], 200_003, 0));
    }

    #[test]
    fn no_more_is_read_than_allowed() {
        let (lengths, offset, rest) = lines_of(&vec![0; 300_000], 100_000);
        assert_eq!((lengths.len(), offset, rest), (0, 0, 100_000));
    }

    #[test]
    fn an_endless_line_is_passed_over() {
        let long = [vec![b'x'; 40_000_000], b"\ny\n".to_vec()].concat();
        assert_eq!(lines_of(&long, u64::MAX), (vec![1], 40_000_003, 0));
    }
}
