//! What a process prints, as it comes.
//!
//! Nothing is read ahead: who does not read makes the process wait, so memory is bounded by what
//! the reader keeps.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

/// As much as a pipe holds at first.
const READ_SIZE: usize = 64 * 1024;

/// As much as a pipe may hold.
const WIDE: usize = 1024 * 1024;

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output, and everything printed to a terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output, cut anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it came from.
    pub stream: Stream,
    /// What was printed, at most 64 KiB.
    pub bytes: Bytes,
}

/// The output of one process.
#[derive(Debug)]
pub struct Output {
    sources: Vec<Source>,
    buffer: BytesMut,
}

#[derive(Debug)]
struct Source {
    stream: Stream,
    pipe: pipe::Receiver,
    is_wide: bool,
}

impl Output {
    pub(crate) fn new(sources: Vec<(Stream, pipe::Receiver)>) -> Self {
        let source = |(stream, pipe)| Source {
            stream,
            pipe,
            is_wide: false,
        };
        Self {
            sources: sources.into_iter().map(source).collect(),
            buffer: BytesMut::new(),
        }
    }

    /// What was printed next, or `None` when every process that could still print is gone. Nothing
    /// is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Chunk> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Chunk>> {
        let mut index = 0;
        while let Some(source) = self.sources.get_mut(index) {
            match read(&mut source.pipe, context, &mut self.buffer) {
                Poll::Pending => index += 1,
                // Terminals end with an error. Another one would be no less of an end.
                Poll::Ready(Err(_) | Ok(0)) => {
                    self.sources.remove(index);
                }
                Poll::Ready(Ok(length)) => {
                    let stream = source.stream;
                    if length == READ_SIZE {
                        source.widen();
                    }
                    // The other stream has its turn next time.
                    self.sources.rotate_left(index + 1);
                    let bytes = self.buffer.split().freeze();
                    return Poll::Ready(Some(Chunk { stream, bytes }));
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

impl Source {
    /// Lets a process that prints faster than it is heard go on for longer before it has to wait:
    /// waking it costs more than what it would print meanwhile.
    fn widen(&mut self) {
        if !std::mem::replace(&mut self.is_wide, true) {
            // A terminal cannot, and a user may have too many; then it stays as it is.
            let _ = rustix::pipe::fcntl_setpipe_size(&self.pipe, WIDE);
        }
    }
}

/// Reads into the empty `buffer`.
fn read(
    source: &mut pipe::Receiver,
    context: &mut Context<'_>,
    buffer: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    buffer.reserve(READ_SIZE);
    let mut limited = buffer.limit(READ_SIZE);
    // Giving up this future loses nothing: it reads only when it is ready.
    pin!(source.read_buf(&mut limited)).poll(context)
}
