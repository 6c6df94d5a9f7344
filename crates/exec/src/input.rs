//! What a process is given to read.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;

/// What a terminal takes for the end of input at the beginning of a line.
const END_OF_LINE_AND_INPUT: &[u8] = b"\n\x04";

/// The input of one process.
#[derive(Debug)]
pub struct Input {
    sink: pipe::Sender,
    typed: bool,
}

impl Input {
    /// Through a pipe.
    pub(crate) fn piped(sink: pipe::Sender) -> Self {
        Self { sink, typed: false }
    }

    /// Through a terminal.
    pub(crate) fn typed(sink: pipe::Sender) -> Self {
        Self { sink, typed: true }
    }

    /// Writes all of `bytes`; waits for as long as the process does not read.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes).await
    }

    /// Tells the process that nothing more comes. A terminal cannot be closed on one side: there
    /// the end is typed.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub async fn close(mut self) -> io::Result<()> {
        if self.typed {
            self.sink.write_all(END_OF_LINE_AND_INPUT).await?;
        }
        Ok(())
    }
}
