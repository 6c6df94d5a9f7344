//! The standard input of a process.

use std::io;

use tokio::io::AsyncWriteExt as _;

use crate::platform::{END_OF_TERMINAL_INPUT, InputPipe, as_typed};

/// The input of one process.
#[derive(Debug)]
pub struct StandardInput {
    sink: InputPipe,
    typed: bool,
}

impl StandardInput {
    /// Input through a pipe.
    pub(crate) fn piped(sink: InputPipe) -> Self {
        Self { sink, typed: false }
    }

    /// Input through a terminal.
    pub(crate) fn typed(sink: InputPipe) -> Self {
        Self { sink, typed: true }
    }

    /// Writes all of `bytes`. Waits while the process does not read.
    ///
    /// # Errors
    /// The process no longer reads.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.typed {
            self.sink.write_all(&as_typed(bytes)).await?;
        } else {
            self.sink.write_all(bytes).await?;
        }
        self.sink.flush().await
    }

    /// Ends the input. A terminal cannot be closed in one direction, so the end-of-input character is written instead.
    ///
    /// # Errors
    /// The process no longer reads.
    pub async fn close(mut self) -> io::Result<()> {
        if self.typed {
            self.write(END_OF_TERMINAL_INPUT).await?;
        }
        Ok(())
    }
}
