//! What waits to be written to one connection.
//!
//! Putting something in never waits, so that a slow client slows nobody but itself. The bytes that
//! wait are bounded. Whoever has much to send that can wait, the output of a command or the text of a
//! model, waits for [`Outbox::room`] first, and no further requests are read before
//! [`Outbox::takes_requests`]. A reply that passes the limit is replaced by an error; a client that lets
//! what it did not ask for pass its [`Limits`] is cut off, and nothing more is kept for it.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use crate::message::Message;

/// How many bytes may wait for a client that does not read, besides those being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Of replies, and of everything else. One message may pass it.
    all: usize,
    /// Of notifications, once a write has taken longer than `patience`: those of many threads
    /// may come all at once, and are no sign that it does not read.
    unrequested: usize,
    patience: Duration,
}

impl Limits {
    /// For the one client of a server, which ends with it.
    pub(crate) const ONLY_CLIENT: Self = Self::only(128 * 1024 * 1024);

    /// For a client that can connect again, beside others who need the memory.
    pub(crate) const ONE_OF_MANY: Self = Self {
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

/// How many bytes may wait when there is room for more.
const ROOM: usize = 512 * 1024;

/// How many bytes may wait when further requests are read.
const REQUESTS: usize = 64 * 1024 * 1024;

/// Messages are put together up to this size, so that small ones are written at one go and large
/// ones not copied.
const WRITE_SIZE: usize = 64 * 1024;

/// The queue of messages to one connection.
#[derive(Debug)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    limits: Limits,
    changed: Notify,
    taken: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<Message>,
    bytes: usize,
    /// How many of them are not in replies.
    unrequested: usize,
    /// Since when messages are being written.
    writing_since: Option<Instant>,
    closed: bool,
    is_cut_off: bool,
    /// How many bytes waited when the client was cut off for not reading them.
    overflow: Option<usize>,
}

/// A reply was not added, because too much waits to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Messages in their order, each with its line end.
#[derive(Debug)]
pub(crate) struct Batch(pub(crate) Vec<Message>);

impl Batch {
    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Message::len).sum()
    }

    /// All of them, in pieces to be written one after the other. None is made before it is wanted.
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        let mut large = None;
        let mut messages = self.0.into_iter().peekable();
        std::iter::from_fn(move || {
            loop {
                if let Some(piece) = large.as_mut().and_then(Iterator::next) {
                    return Some(piece);
                }
                let mut together = Vec::new();
                while let Some(message) =
                    messages.next_if(|next| together.len() + next.len() <= WRITE_SIZE)
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
                    Message::Whole(line) => line.len(),
                    Message::Parts(_) => WRITE_SIZE,
                };
                large = Some(message.into_pieces(size));
            }
        })
    }
}

impl Outbox {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            state: Mutex::default(),
            limits,
            changed: Notify::new(),
            taken: Notify::new(),
            ended: Notify::new(),
        }
    }

    /// Adds what is short or was waited for, its line end included. Dropped if the connection is closed.
    pub(crate) fn push(&self, message: impl Into<Message>) {
        self.add(message.into(), 0);
    }

    /// Adds a reply, likewise.
    ///
    /// # Errors
    /// Too much waits to be read by the client.
    pub(crate) fn push_reply(&self, message: impl Into<Message>) -> Result<(), Full> {
        let message = message.into();
        let state = self.state.lock();
        // However long it is, one more is added: whether it fits must not depend on what else waits.
        if state.bytes - state.unrequested > self.limits.all {
            return Err(Full);
        }
        drop(state);
        self.add(message, 0);
        Ok(())
    }

    /// Adds a notification or a request of the server, likewise.
    pub(crate) fn push_notification(&self, message: impl Into<Message>) {
        let message = message.into();
        let unrequested = message.len();
        self.add(message, unrequested);
    }

    fn add(&self, message: Message, unrequested: usize) {
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
        state.bytes += message.len();
        state.unrequested += unrequested;
        state.messages.push(message);
        drop(state);
        self.changed.notify_one();
    }

    fn is_stuck(&self, state: &State) -> bool {
        let is_long = |since: Instant| since.elapsed() >= self.limits.patience;
        state.unrequested > self.limits.unrequested && state.writing_since.is_some_and(is_long)
    }

    /// Whether little waits to be written, or nothing will be written any more.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.bytes <= ROOM
    }

    /// Waits until little waits to be written. False if nothing will be written any more.
    pub(crate) async fn room(&self) -> bool {
        self.until_at_most(ROOM).await
    }

    /// Waits until the client has read enough to be replied to more. False if nothing will be written
    /// any more.
    pub(crate) async fn takes_requests(&self) -> bool {
        self.until_at_most(REQUESTS).await
    }

    async fn until_at_most(&self, bytes: usize) -> bool {
        loop {
            let mut taken = std::pin::pin!(self.taken.notified());
            // From here on it is woken: nothing is missed while the state is looked at.
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

    /// Waits until nothing is added any more.
    pub(crate) async fn closed(&self) {
        self.until(|state| state.closed).await;
    }

    /// Waits until nothing is written any more, whatever there is.
    pub(crate) async fn until_cut_off(&self) {
        self.until(|state| state.is_cut_off).await;
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if is_so(&self.state.lock()) {
                return;
            }
            ended.await;
        }
    }

    /// What was put in so far is still written; nothing is added any more.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake_all();
    }

    /// Nothing more is written, not even what waits.
    pub(crate) fn cut_off(&self) {
        self.end(None);
    }

    /// How many bytes waited when the client was cut off for not reading them; none if it was not.
    pub(crate) fn overflow(&self) -> Option<usize> {
        self.state.lock().overflow
    }

    fn end(&self, overflow: Option<usize>) {
        let mut state = self.state.lock();
        *state = State {
            closed: true,
            is_cut_off: true,
            overflow: state.overflow.or(overflow),
            ..State::default()
        };
        drop(state);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.taken.notify_waiters();
        self.ended.notify_waiters();
        self.changed.notify_one();
    }

    /// What is to be written next, for the one writer. Nothing once the outbox is closed and empty.
    pub(crate) async fn next(&self) -> Option<Batch> {
        loop {
            // There is one writer, and a permit is kept for it: nothing is missed in between.
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
    pub(crate) async fn write_to(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
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
#[allow(clippy::unwrap_used)]
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
    async fn there_is_room_again_when_the_writer_has_taken_what_waited() {
        let outbox = Outbox::new(Limits::ONLY_CLIENT);
        assert!(outbox.room().await);
        outbox.push(vec![b' '; ROOM + 1]);
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
    async fn a_client_that_does_not_read_is_cut_off_at_the_limit() {
        let outbox = Outbox::new(Limits::only(10));
        // One message may pass the limit, but no second one.
        outbox.push_notification(vec![b' '; 100]);
        assert_eq!(outbox.state.lock().bytes, 100);
        outbox.push_notification(Bytes::from_static(b"x"));
        outbox.until_cut_off().await;
        assert_eq!(outbox.overflow(), Some(100));
        outbox.closed().await;
        assert!(outbox.next().await.is_none());
    }

    #[tokio::test]
    async fn a_reply_over_the_limit_is_not_added_and_ends_nothing() {
        let outbox = Outbox::new(Limits::only(10));
        outbox.push_notification(vec![b' '; 100]);
        assert_eq!(outbox.push_reply(vec![b' '; 100]), Ok(()));
        assert_eq!(outbox.push_reply(Bytes::from_static(b"x")), Err(Full));
        outbox.push(Bytes::from_static(b"an error"));
        assert_eq!(outbox.next().await.map(|batch| batch.0.len()), Some(3));
        assert_eq!(outbox.push_reply(Bytes::from_static(b"x")), Ok(()));
        assert_eq!(outbox.overflow(), None);
    }

    #[tokio::test]
    async fn what_comes_all_at_once_may_pass_the_limit_of_a_client_that_reads() {
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
        // While those are written, what it asked for is no reason, nor is the first that passes the limit.
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
