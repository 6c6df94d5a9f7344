//! The output of a process as a stream.
//!
//! Nothing is read ahead: a process blocks while nobody reads, so memory is bounded by the reader.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;

use crate::platform::{OutputPipe, widen};

/// The initial capacity of a pipe.
const READ_SIZE: usize = 64 * 1024;

/// The stream that output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output, or a terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output with arbitrary boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// The stream.
    pub stream: OutputStream,
    /// At most 64 KiB.
    pub bytes: Bytes,
}

/// The output of one process.
#[derive(Debug)]
pub struct ProcessOutput {
    sources: Vec<OutputSource>,
    buffer: BytesMut,
}

#[derive(Debug)]
struct OutputSource {
    stream: OutputStream,
    pipe: OutputPipe,
    is_wide: bool,
}

impl ProcessOutput {
    pub(crate) fn new(sources: Vec<(OutputStream, OutputPipe)>) -> Self {
        let source = |(stream, pipe)| OutputSource {
            stream,
            pipe,
            is_wide: false,
        };
        Self {
            sources: sources.into_iter().map(source).collect(),
            buffer: BytesMut::new(),
        }
    }

    /// The next chunk, or `None` when every process that could write has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<OutputChunk> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<OutputChunk>> {
        let mut index = 0;
        while let Some(source) = self.sources.get_mut(index) {
            match read(&mut source.pipe, context, &mut self.buffer) {
                Poll::Pending => index += 1,
                // A terminal ends with an error. Any other error is an end too.
                Poll::Ready(Err(_) | Ok(0)) => {
                    self.sources.remove(index);
                }
                Poll::Ready(Ok(length)) => {
                    let stream = source.stream;
                    if length == READ_SIZE {
                        source.widen();
                    }
                    // The other stream is read first the next time.
                    self.sources.rotate_left(index + 1);
                    let bytes = self.buffer.split().freeze();
                    return Poll::Ready(Some(OutputChunk { stream, bytes }));
                }
            }
        }
        if self.sources.is_empty() {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    }
}

impl OutputSource {
    /// Increases the capacity of the pipe when a process writes faster than it is read, because waking the process costs
    /// more than the output written meanwhile.
    fn widen(&mut self) {
        if !std::mem::replace(&mut self.is_wide, true) {
            widen(&self.pipe);
        }
    }
}

/// Reads into the empty `buffer`.
fn read(
    source: &mut OutputPipe,
    context: &mut Context<'_>,
    buffer: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    buffer.reserve(READ_SIZE);
    let mut limited = buffer.limit(READ_SIZE);
    // Cancel safe: data is read only when it is ready.
    pin!(source.read_buf(&mut limited)).poll(context)
}
