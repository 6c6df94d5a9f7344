//! What waits to be written to one connection.
//!
//! Putting something in never waits, so that a slow client slows nobody but itself. The bytes that
//! wait are bounded: a client that lets them pass the limit is cut off, and nothing more is kept for
//! it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// How many bytes may wait for a client that does not read.
const BYTE_LIMIT: usize = 256 * 1024 * 1024;

/// The queue between those who have something to say and the writer of a connection.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Notify,
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
        state.bytes += message.len();
        if state.bytes > BYTE_LIMIT {
            tracing::warn!("a client does not read what it is sent; it is cut off");
            *state = State {
                closed: true,
                ..State::default()
            };
        } else {
            state.messages.push_back(message);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// What was put in so far is still written; nothing is added any more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Writes until the outbox is closed and empty.
    pub(crate) async fn write_to(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut written = Vec::new();
        while let Some(messages) = self.next_messages().await {
            written.clear();
            for message in messages {
                written.extend_from_slice(&message);
            }
            let outcome = async {
                output.write_all(&written).await?;
                output.flush().await
            };
            if let Err(error) = outcome.await {
                *self.lock() = State {
                    closed: true,
                    ..State::default()
                };
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
