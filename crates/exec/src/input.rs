//! The standard input of a process.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;

/// Ends the current line and then the input of a terminal.
const END_OF_LINE_AND_INPUT: &[u8] = b"\n\x04";

/// The input of one process.
#[derive(Debug)]
pub struct StandardInput {
    sink: pipe::Sender,
    typed: bool,
}

impl StandardInput {
    /// Input through a pipe.
    pub(crate) fn piped(sink: pipe::Sender) -> Self {
        Self { sink, typed: false }
    }

    /// Input through a terminal.
    pub(crate) fn typed(sink: pipe::Sender) -> Self {
        Self { sink, typed: true }
    }

    /// Writes all of `bytes`. Waits while the process does not read.
    ///
    /// # Errors
    /// The process no longer reads.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes).await
    }

    /// Ends the input. A terminal cannot be closed in one direction, so the end-of-input character is written instead.
    ///
    /// # Errors
    /// The process no longer reads.
    pub async fn close(mut self) -> io::Result<()> {
        if self.typed {
            self.sink.write_all(END_OF_LINE_AND_INPUT).await?;
        }
        Ok(())
    }
}
