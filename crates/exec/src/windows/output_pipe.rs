//! Where output of a command is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{ChildStderr, ChildStdout};

/// Standard output or standard error.
#[derive(Debug)]
pub(crate) enum OutputPipe {
    Stdout(ChildStdout),
    Stderr(ChildStderr),
}

impl AsyncRead for OutputPipe {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stdout(pipe) => Pin::new(pipe).poll_read(context, buffer),
            Self::Stderr(pipe) => Pin::new(pipe).poll_read(context, buffer),
        }
    }
}
