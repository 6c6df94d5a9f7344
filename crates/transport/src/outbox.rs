//! The queue of messages to one connection.
//!
//! Adding a message never blocks, so a slow client affects only itself. The queued bytes are bounded. Producers of
//! large data that can wait, such as command output or model text, wait for [`Outbox::room`] first, and no requests
//! are read before [`Outbox::takes_requests`]. A reply above the limit is replaced by an error. A client that lets
//! unrequested messages exceed its [`Limits`] is disconnected, and nothing more is queued for it.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use crate::message::EncodedMessage;

/// The limits of bytes that are queued for a client, besides those being written.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For all messages. One message may exceed it.
    all: usize,
    /// For notifications, once a write has taken longer than `patience`. Before that, a burst from many threads does
    /// not mean that the client has stopped reading.
    unrequested: usize,
    patience: Duration,
}

impl Limits {
    /// For the only client of a server, which ends with it.
    pub const ONLY_CLIENT: Self = Self::only(128 * 1024 * 1024);

    /// For a client that can reconnect, beside others that need memory.
    pub const ONE_OF_MANY: Self = Self {
        unrequested: 2 * 1024 * 1024,
        patience: Duration::from_secs(1),
        ..Self::ONLY_CLIENT
    };

    const fn only(all: usize) -> Self {
        Self {
            all,
            unrequested: all,
            patience: Duration::ZERO,
        }
    }
}

/// Below this number of queued bytes, producers may continue.
const RESUME_BYTES: usize = 512 * 1024;

/// Below this number of queued bytes, more requests are read.
const REQUESTS: usize = 64 * 1024 * 1024;

/// Small messages are joined up to this size and written at once; larger ones are not copied.
const WRITE_SIZE: usize = 64 * 1024;

/// The queue of messages to one connection.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    limits: Limits,
    changed: Notify,
    taken: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct OutboxState {
    messages: Vec<EncodedMessage>,
    bytes: usize,
    /// The bytes that do not belong to replies.
    unrequested: usize,
    /// The start of the current write.
    writing_since: Option<Instant>,
    closed: bool,
    is_cut_off: bool,
    /// The queued bytes when the client was disconnected for not reading.
    overflow: Option<usize>,
}

/// The outbox is full, so a reply was not added.
#[derive(Debug, PartialEq, Eq)]
pub struct OutboxFull;

/// Messages in order, each with its line end.
#[derive(Debug)]
pub struct Batch(pub Vec<EncodedMessage>);

impl Batch {
    /// The number of bytes.
    pub fn byte_count(&self) -> usize {
        self.0.iter().map(EncodedMessage::byte_count).sum()
    }

    /// All bytes in pieces to write one after the other. Pieces are built lazily.
    pub fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        let mut large = None;
        let mut messages = self.0.into_iter().peekable();
        std::iter::from_fn(move || {
            loop {
                if let Some(piece) = large.as_mut().and_then(Iterator::next) {
                    return Some(piece);
                }
                let mut together = Vec::new();
                while let Some(message) =
                    messages.next_if(|next| together.len() + next.byte_count() <= WRITE_SIZE)
                {
                    message
                        .parts()
                        .iter()
                        .for_each(|part| together.extend_from_slice(part));
                }
                if !together.is_empty() {
                    return Some(together.into());
                }
                let message = messages.next()?;
                let size = match &message {
                    EncodedMessage::Whole(line) => line.len(),
                    EncodedMessage::Parts(_) => WRITE_SIZE,
                };
                large = Some(message.into_pieces(size));
            }
        })
    }
}

impl Outbox {
    pub fn new(limits: Limits) -> Self {
        Self {
            state: Mutex::default(),
            limits,
            changed: Notify::new(),
            taken: Notify::new(),
            ended: Notify::new(),
        }
    }

    /// Adds a message that is short or that the caller waited for. Dropped if the connection is closed.
    pub fn push(&self, message: impl Into<EncodedMessage>) {
        self.add(message.into(), 0);
    }

    /// Adds a reply. Dropped if the connection is closed.
    ///
    /// # Errors
    /// Too much is queued for the client.
    pub fn push_reply(&self, message: impl Into<EncodedMessage>) -> Result<(), OutboxFull> {
        let message = message.into();
        let state = self.state.lock();
        // The size of this message does not count: whether it fits must depend only on what is queued.
        if state.bytes - state.unrequested > self.limits.all {
            return Err(OutboxFull);
        }
        drop(state);
        self.add(message, 0);
        Ok(())
    }

    /// Adds a notification or a request of the server. Dropped if the connection is closed.
    pub fn push_notification(&self, message: impl Into<EncodedMessage>) {
        let message = message.into();
        let unrequested = message.byte_count();
        self.add(message, unrequested);
    }

    fn add(&self, message: EncodedMessage, unrequested: usize) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let is_full = state.unrequested > 0 && state.unrequested + unrequested > self.limits.all;
        if unrequested > 0 && (is_full || self.is_stuck(&state)) {
            let waiting = state.bytes;
            drop(state);
            tracing::warn!(
                waiting,
                "a client does not read what it is sent; it is cut off"
            );
            return self.end(Some(waiting));
        }
        state.bytes += message.byte_count();
        state.unrequested += unrequested;
        state.messages.push(message);
        drop(state);
        self.changed.notify_one();
    }

    fn is_stuck(&self, state: &OutboxState) -> bool {
        let is_long = |since: Instant| since.elapsed() >= self.limits.patience;
        state.unrequested > self.limits.unrequested && state.writing_since.is_some_and(is_long)
    }

    /// Whether producers may continue: little is queued, or the outbox is closed.
    pub fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.bytes <= RESUME_BYTES
    }

    /// Waits until producers may continue. Returns false if nothing more is written.
    pub async fn room(&self) -> bool {
        self.until_at_most(RESUME_BYTES).await
    }

    /// Waits until more requests may be read. Returns false if nothing more is written.
    pub async fn takes_requests(&self) -> bool {
        self.until_at_most(REQUESTS).await
    }

    async fn until_at_most(&self, bytes: usize) -> bool {
        loop {
            let mut taken = std::pin::pin!(self.taken.notified());
            // Registered before the state is checked, so that no wake-up is missed.
            taken.as_mut().enable();
            {
                let state = self.state.lock();
                if state.closed {
                    return false;
                }
                if state.bytes <= bytes {
                    return true;
                }
            }
            taken.await;
        }
    }

    /// Waits until the outbox is closed.
    pub async fn closed(&self) {
        self.until(|state| state.closed).await;
    }

    /// Waits until the client is disconnected.
    pub async fn until_cut_off(&self) {
        self.until(|state| state.is_cut_off).await;
    }

    async fn until(&self, is_so: impl Fn(&OutboxState) -> bool) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if is_so(&self.state.lock()) {
                return;
            }
            ended.await;
        }
    }

    /// Closes the outbox: queued messages are still written, nothing is added.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.wake_all();
    }

    /// Disconnects the client: queued messages are dropped.
    pub fn cut_off(&self) {
        self.end(None);
    }

    /// The queued bytes when the client was disconnected for not reading; none if it was not.
    pub fn overflow(&self) -> Option<usize> {
        self.state.lock().overflow
    }

    fn end(&self, overflow: Option<usize>) {
        let mut state = self.state.lock();
        *state = OutboxState {
            closed: true,
            is_cut_off: true,
            overflow: state.overflow.or(overflow),
            ..OutboxState::default()
        };
        drop(state);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.taken.notify_waiters();
        self.ended.notify_waiters();
        self.changed.notify_one();
    }

    /// The next batch, for the single writer. None once the outbox is closed and empty.
    pub async fn next(&self) -> Option<Batch> {
        loop {
            // There is one writer, and the permit is stored, so no message is missed in between.
            {
                let mut state = self.state.lock();
                state.writing_since = None;
                if !state.messages.is_empty() {
                    (state.bytes, state.unrequested) = (0, 0);
                    state.writing_since = Some(Instant::now());
                    self.taken.notify_waiters();
                    return Some(Batch(std::mem::take(&mut state.messages)));
                }
                if state.closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Writes until the outbox is closed and empty.
    pub async fn write_to(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while let Some(batch) = self.next().await {
            for piece in batch.into_pieces() {
                if let Err(error) = output.write_all(&piece).await {
                    self.cut_off();
                    return Err(error);
                }
            }
            output.flush().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_of_every_size_are_written_in_their_order() {
        let outbox = Outbox::new(Limits::ONLY_CLIENT);
        let sizes = [3, WRITE_SIZE + 1, 5, WRITE_SIZE - 1, 7, 0, 2 * WRITE_SIZE];
        let mut expected = Vec::new();
        for (number, size) in (b'a'..).zip(sizes) {
            expected.extend(std::iter::repeat_n(number, size));
            outbox.push(vec![number; size]);
        }
        outbox.close();
        let mut written = Vec::new();
        outbox.write_to(&mut written).await.unwrap();
        assert!(written == expected);
    }

    #[tokio::test]
    async fn outbox_has_capacity_after_the_writer_drained_it() {
        let outbox = Outbox::new(Limits::ONLY_CLIENT);
        assert!(outbox.room().await);
        outbox.push(vec![b' '; RESUME_BYTES + 1]);
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
    async fn client_over_the_outbox_limit_is_disconnected() {
        let outbox = Outbox::new(Limits::only(10));
        // One message may exceed the limit, a second one may not.
        outbox.push_notification(vec![b' '; 100]);
        assert_eq!(outbox.state.lock().bytes, 100);
        outbox.push_notification(Bytes::from_static(b"x"));
        outbox.until_cut_off().await;
        assert_eq!(outbox.overflow(), Some(100));
        outbox.closed().await;
        assert!(outbox.next().await.is_none());
    }

    #[tokio::test]
    async fn oversized_reply_is_dropped_without_disconnecting() {
        let outbox = Outbox::new(Limits::only(10));
        outbox.push_notification(vec![b' '; 100]);
        assert_eq!(outbox.push_reply(vec![b' '; 100]), Ok(()));
        assert_eq!(outbox.push_reply(Bytes::from_static(b"x")), Err(OutboxFull));
        outbox.push(Bytes::from_static(b"an error"));
        assert_eq!(outbox.next().await.map(|batch| batch.0.len()), Some(3));
        assert_eq!(outbox.push_reply(Bytes::from_static(b"x")), Ok(()));
        assert_eq!(outbox.overflow(), None);
    }

    #[tokio::test]
    async fn burst_may_exceed_the_limit_of_a_reading_client() {
        let limits = Limits {
            unrequested: 10,
            ..Limits::only(1000)
        };
        let outbox = Outbox::new(limits);
        let notify = || outbox.push_notification(vec![b' '; 30]);
        for _ in 0..3 {
            notify();
        }
        assert_eq!(outbox.next().await.unwrap().0.len(), 3);
        // Replies do not count here, nor does the first message above the limit.
        outbox.push(vec![b' '; 30]);
        notify();
        outbox.push(vec![b' '; 30]);
        assert!(!outbox.state.lock().closed);
        notify();
        outbox.until_cut_off().await;
    }

    #[tokio::test]
    async fn a_client_that_reads_may_get_any_amount() {
        let outbox = Outbox::new(Limits::only(10));
        for _ in 0..100 {
            outbox.push(vec![b' '; 30]);
            assert_eq!(outbox.next().await.unwrap().0.len(), 1);
        }
        outbox.close();
        outbox.push(Bytes::from_static(b"x"));
        assert!(outbox.next().await.is_none());
    }
}
