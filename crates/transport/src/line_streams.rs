//! A client of a listener, for a protocol that is written for a pair of streams with a message per line.
//!
//! Messages of the client become lines of one stream; what is written to the other one becomes messages to the client.
//! A client that does not read holds up whoever writes to it, and nobody else.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use crate::outbox::{Limits, Outbox};
use crate::{InputLine, MessageHandler};

/// The capacity of each direction in bytes.
const CAPACITY: usize = 64 * 1024;

/// The streams of one client.
#[derive(Debug)]
pub struct LineStreams {
    /// The messages of the client.
    pub input: ReadHalf<DuplexStream>,
    /// The messages to the client.
    pub output: WriteHalf<DuplexStream>,
}

/// Writes the messages of a client as lines.
#[derive(Debug)]
pub struct LineWriter {
    lines: WriteHalf<DuplexStream>,
    outbox: Arc<Outbox>,
    /// What a client is sent whose message is too long.
    too_long: &'static str,
}

/// Connects streams with a client. `too_long` is the reply to a message over the limit. The outbox is closed when the
/// output stream has ended and all of it is queued.
#[must_use]
pub fn line_streams(
    limits: Limits,
    too_long: &'static str,
) -> (LineStreams, LineWriter, Arc<Outbox>) {
    let (ours, theirs) = tokio::io::duplex(CAPACITY);
    let (input, output) = tokio::io::split(theirs);
    let (written, lines) = tokio::io::split(ours);
    let outbox = Arc::new(Outbox::new(limits));
    let handler = LineWriter {
        lines,
        outbox: Arc::clone(&outbox),
        too_long,
    };
    tokio::spawn(queue_lines(written, Arc::clone(&outbox)));
    (LineStreams { input, output }, handler, outbox)
}

/// Queues what is written for the client, as fast as it reads.
async fn queue_lines(written: ReadHalf<DuplexStream>, outbox: Arc<Outbox>) {
    let mut written = BufReader::with_capacity(CAPACITY, written);
    loop {
        let mut line = Vec::new();
        // A stream in memory does not fail.
        match written.read_until(b'\n', &mut line).await {
            Ok(1..) if outbox.room().await => outbox.push(line),
            Ok(_) | Err(_) => break,
        }
    }
    outbox.close();
}

#[async_trait]
impl MessageHandler for LineWriter {
    async fn take(&mut self, message: InputLine) {
        let mut line = match message {
            InputLine::Whole(line) => line,
            InputLine::TooLong => return self.outbox.push(self.too_long.as_bytes().to_vec()),
        };
        // Between the tokens of a message line ends are blanks; within strings there are none.
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        // Fails if the other side has ended, and then the client is disconnected.
        let _ = self.lines.write_all(&line).await;
    }

    async fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_are_lines_in_both_directions() {
        let (mut streams, mut handler, outbox) = line_streams(Limits::ONE_OF_MANY, "too long\n");
        handler
            .take(InputLine::Whole(b"{\r\n \"a\": 1\n}".to_vec()))
            .await;
        let mut lines = BufReader::new(&mut streams.input).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "{   \"a\": 1 }");
        handler.take(InputLine::TooLong).await;
        streams.output.write_all(b"one\ntwo\n").await.unwrap();
        drop(lines);
        drop(streams);
        let mut written = Vec::new();
        outbox.write_to(&mut written).await.unwrap();
        assert_eq!(written, b"too long\none\ntwo\n");
    }

    #[tokio::test]
    async fn slow_client_delays_only_its_own_stream() {
        let (mut streams, handler, outbox) = line_streams(Limits::ONE_OF_MANY, "");
        let mut line = vec![b'x'; 600 * 1024];
        line.push(b'\n');
        streams.output.write_all(&line).await.unwrap();
        let blocked = async {
            loop {
                streams.output.write_all(&line).await.unwrap();
            }
        };
        tokio::select! {
            () = blocked => {}
            () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
        }
        assert!(outbox.next().await.unwrap().byte_count() < 2 * line.len());
        outbox.cut_off();
        drop(handler);
        // Whoever writes learns that the client is gone.
        while streams.output.write_all(&line).await.is_ok() {}
    }
}
