//! Reads the lines of a log within a limit of memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// The longest line. Source code of cells and error texts are in lines.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// The lines of a log, one at a time.
pub(crate) struct LogLines {
    reader: BufReader<File>,
    line: Vec<u8>,
}

/// What a line ended with.
pub(crate) enum LineEnd {
    Newline,
    /// The end of the file, inside a line.
    Cut,
    TooLong,
    /// The end of the file, and no line.
    Log,
}

impl LogLines {
    pub(crate) fn new(file: File) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 18, file),
            line: Vec::new(),
        }
    }

    /// The line that was read last, without its end; empty if it was too long.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line.
    pub(crate) fn next(&mut self) -> std::io::Result<LineEnd> {
        self.line.clear();
        let limit = MAX_LINE as u64 + 1;
        let read = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut self.line)?;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            return Ok(LineEnd::Newline);
        }
        if read as u64 == limit {
            self.line.clear();
            self.reader.skip_until(b'\n')?;
            return Ok(LineEnd::TooLong);
        }
        Ok(if read == 0 {
            LineEnd::Log
        } else {
            LineEnd::Cut
        })
    }
}
