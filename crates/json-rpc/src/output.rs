//! The queue of lines on their way to a stream.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

/// The number of lines that wait before senders do.
const QUEUE_LENGTH: usize = 128;

/// The most lines that are written at once.
const BATCH: usize = 64;

/// A queue of lines: one end to send, one to write from.
#[must_use]
pub fn line_queue() -> (LineSender, LineQueue) {
    let (sender, queue) = mpsc::channel(QUEUE_LENGTH);
    (LineSender(sender), LineQueue(queue))
}

/// A line, and whom to tell once it is written.
#[derive(Debug)]
struct QueuedLine {
    text: String,
    written: Option<oneshot::Sender<()>>,
}

impl From<String> for QueuedLine {
    fn from(text: String) -> Self {
        Self {
            text,
            written: None,
        }
    }
}

/// Queues lines. A line is written whole or not at all, so a send can be dropped at any time.
#[derive(Clone, Debug)]
pub struct LineSender(mpsc::Sender<QueuedLine>);

impl LineSender {
    /// Queues a line, which must end in a line feed. Waits while the queue is full. False if the stream is closed.
    pub async fn send(&self, line: String) -> bool {
        self.0.send(line.into()).await.is_ok()
    }

    /// Queues a line and waits until it is written. False if the stream is closed or fails.
    pub(crate) async fn send_and_flush(&self, line: String) -> bool {
        let (written, flushed) = oneshot::channel();
        let line = QueuedLine {
            text: line,
            written: Some(written),
        };
        self.0.send(line).await.is_ok() && flushed.await.is_ok()
    }

    /// Queues a line without waiting: if the queue is full, a task waits instead.
    pub(crate) fn send_later(&self, line: String) {
        if let Err(TrySendError::Full(line)) = self.0.try_send(line.into()) {
            let sender = self.clone();
            tokio::spawn(async move { sender.0.send(line).await });
        }
    }

    /// Waits until the queue has room or the stream is closed.
    pub(crate) async fn has_room(&self) {
        let _ = self.0.reserve().await;
    }
}

/// The queued lines.
#[derive(Debug)]
pub struct LineQueue(mpsc::Receiver<QueuedLine>);

impl LineQueue {
    /// Writes the lines until all senders are dropped or the stream fails, then shuts the stream down.
    pub async fn write_to(mut self, mut output: impl AsyncWrite + Unpin) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.0.recv_many(&mut batch, BATCH).await > 0 {
            let text: String = batch.iter().map(|line| line.text.as_str()).collect();
            let written = output.write_all(text.as_bytes()).await;
            if written.is_err() || output.flush().await.is_err() {
                return;
            }
            for line in batch.drain(..) {
                if let Some(written) = line.written {
                    let _ = written.send(());
                }
            }
        }
        let _ = output.shutdown().await;
    }

    #[cfg(test)]
    pub(crate) async fn next(&mut self) -> Option<String> {
        Some(self.0.recv().await?.text)
    }
}
