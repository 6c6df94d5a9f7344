//! What waits to be written to one connection.
//!
//! Putting something in never waits, so that a slow client slows nobody but itself. The bytes that
//! wait are bounded: a client that lets them pass the limit is cut off, and nothing more is kept for
//! it. Who has much to say that can wait, asks for [`Outbox::room`] first.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// How many bytes may wait for a client that does not read. One message may be longer, if nothing
/// else waits.
const BYTE_LIMIT: usize = 256 * 1024 * 1024;

/// How many bytes may wait when there is room for more.
const ROOM: usize = 512 * 1024;

/// Messages are put together up to this size, so that small ones are written at one go and large
/// ones not copied.
const WRITE_SIZE: usize = 64 * 1024;

/// The queue between those who have something to say and the writer of a connection.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Notify,
    taken: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<Bytes>,
    bytes: usize,
    closed: bool,
}

impl Outbox {
    /// Adds a message, its line end included. Dropped if the connection is closed.
    pub(crate) fn push(&self, message: Bytes) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let is_over = state.bytes + message.len() > BYTE_LIMIT && state.bytes > 0;
        if is_over {
            tracing::warn!("a client does not read what it is sent; it is cut off");
            *state = State {
                closed: true,
                ..State::default()
            };
        } else {
            state.bytes += message.len();
            state.messages.push_back(message);
        }
        drop(state);
        if is_over {
            self.tell_end();
        }
        self.changed.notify_one();
    }

    /// Waits until little waits to be written. False if nothing will be written any more.
    pub(crate) async fn room(&self) -> bool {
        loop {
            let mut taken = std::pin::pin!(self.taken.notified());
            // From here on it is told: nothing is missed while the state is looked at.
            taken.as_mut().enable();
            {
                let state = self.lock();
                if state.closed {
                    return false;
                }
                if state.bytes <= ROOM {
                    return true;
                }
            }
            taken.await;
        }
    }

    /// Waits until nothing is added any more.
    pub(crate) async fn closed(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.lock().closed {
                return;
            }
            ended.await;
        }
    }

    /// What was put in so far is still written; nothing is added any more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.tell_end();
        self.changed.notify_one();
    }

    fn tell_end(&self) {
        self.taken.notify_waiters();
        self.ended.notify_waiters();
    }

    /// Writes until the outbox is closed and empty.
    pub(crate) async fn write_to(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while let Some(messages) = self.next_messages().await {
            if let Err(error) = write(messages, output).await {
                *self.lock() = State {
                    closed: true,
                    ..State::default()
                };
                self.tell_end();
                return Err(error);
            }
        }
        Ok(())
    }

    async fn next_messages(&self) -> Option<VecDeque<Bytes>> {
        loop {
            // There is one writer, and a permit is kept for it: nothing is missed in between.
            {
                let mut state = self.lock();
                if !state.messages.is_empty() {
                    state.bytes = 0;
                    self.taken.notify_waiters();
                    return Some(std::mem::take(&mut state.messages));
                }
                if state.closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write(
    messages: VecDeque<Bytes>,
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut together = Vec::new();
    for message in messages {
        if together.len() + message.len() > WRITE_SIZE && !together.is_empty() {
            output.write_all(&together).await?;
            together.clear();
        }
        if message.len() > WRITE_SIZE {
            output.write_all(&message).await?;
        } else {
            together.extend_from_slice(&message);
        }
    }
    output.write_all(&together).await?;
    output.flush().await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_of_every_size_are_written_in_their_order() {
        let outbox = Outbox::default();
        let sizes = [3, WRITE_SIZE + 1, 5, WRITE_SIZE - 1, 7, 0, 2 * WRITE_SIZE];
        let mut expected = Vec::new();
        for (number, size) in (b'a'..).zip(sizes) {
            expected.extend(std::iter::repeat_n(number, size));
            outbox.push(vec![number; size].into());
        }
        outbox.close();
        let mut written = Vec::new();
        outbox.write_to(&mut written).await.unwrap();
        assert!(written == expected);
    }

    #[tokio::test]
    async fn there_is_room_again_when_the_writer_has_taken_what_waited() {
        let outbox = Outbox::default();
        assert!(outbox.room().await);
        outbox.push(vec![b' '; ROOM + 1].into());
        let mut output = tokio::io::sink();
        tokio::select! {
            biased;
            _ = outbox.room() => panic!("nobody has written yet"),
            _ = std::future::ready(()) => {}
        }
        tokio::select! {
            biased;
            is_open = async { outbox.room().await } => assert!(is_open),
            _ = async { outbox.write_to(&mut output).await } => panic!("nobody has closed it"),
        }
        outbox.close();
        assert!(!outbox.room().await);
    }

    #[tokio::test]
    async fn one_message_may_pass_the_limit_but_no_second_one() {
        let outbox = Outbox::default();
        let large = Bytes::from(vec![b' '; BYTE_LIMIT + 1]);
        outbox.push(large.clone());
        assert_eq!(outbox.lock().bytes, large.len());
        outbox.push(Bytes::from_static(b"x"));
        assert!(outbox.lock().closed);
    }
}
