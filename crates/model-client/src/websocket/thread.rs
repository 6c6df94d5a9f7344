//! The websocket that a thread keeps over its turns.
//!
//! A request takes the connection and puts it back when its response is complete. In between a task answers the pings of
//! the server, asks for a sign of life, and closes the connection when the server does, when the server does not answer,
//! and when it was not used for long.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use codex_http::SocketMessage;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::connection::SocketConnection;
use crate::credential::Authorization;

/// The time between signs of life of an idle connection.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How often a connection is asked for a sign of life before it is closed as unused, after ten minutes.
const MAX_PINGS: u32 = 10;

/// The websocket of a thread. Clones share it; dropping all of them closes it.
#[derive(Clone, Default)]
pub struct ThreadConnection(Arc<SharedConnection>);

#[derive(Default)]
struct SharedConnection {
    idle: Mutex<Option<IdleConnection>>,
    /// Closed as soon as the connection is prepared.
    warming: Mutex<Option<watch::Receiver<()>>>,
    is_used: AtomicBool,
    has_fallen_back: AtomicBool,
}

/// A connection without a request.
struct IdleConnection {
    connection: Arc<Mutex<Option<SocketConnection>>>,
    keeper: AbortHandle,
}

impl Drop for IdleConnection {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl ThreadConnection {
    /// Whether requests are sent over a websocket at present.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.0.is_used.load(Ordering::Relaxed) && !self.has_fallen_back()
    }

    /// Gives up the websocket for good, so that the thread uses HTTP. Returns false if it does so already.
    pub fn fall_back(&self) -> bool {
        *self.0.idle.lock() = None;
        let before = self.0.has_fallen_back.swap(true, Ordering::Relaxed);
        !before && self.0.is_used.load(Ordering::Relaxed)
    }

    pub(crate) fn has_fallen_back(&self) -> bool {
        self.0.has_fallen_back.load(Ordering::Relaxed)
    }

    pub(super) fn set_used(&self) {
        self.0.is_used.store(true, Ordering::Relaxed);
    }

    /// Lets requests wait until the returned value is dropped.
    pub(super) fn begin_warming(&self) -> watch::Sender<()> {
        let (done, warming) = watch::channel(());
        *self.0.warming.lock() = Some(warming);
        done
    }

    /// Waits until the connection is prepared, or cannot be.
    pub(super) async fn warmed(&self) {
        let warming = self.0.warming.lock().clone();
        if let Some(mut warming) = warming {
            // An error says that it is done.
            let _ = warming.changed().await;
            *self.0.warming.lock() = None;
        }
    }

    /// Takes the idle connection, if it was opened with this login.
    pub(super) fn take(&self, authorization: &Authorization) -> Option<SocketConnection> {
        let idle = self.0.idle.lock().take()?;
        let connection = idle.connection.lock().take()?;
        (connection.authorization == *authorization).then_some(connection)
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(&self, connection: SocketConnection) {
        if self.has_fallen_back() {
            return;
        }
        let connection = Arc::new(Mutex::new(Some(connection)));
        let task = tokio::spawn(keep_alive(Arc::clone(&connection)));
        *self.0.idle.lock() = Some(IdleConnection {
            connection,
            keeper: task.abort_handle(),
        });
    }
}

impl fmt::Debug for ThreadConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ThreadConnection")
            .field("is_in_use", &self.is_in_use())
            .finish_non_exhaustive()
    }
}

/// Keeps an idle connection open while the server answers.
async fn keep_alive(slot: Arc<Mutex<Option<SocketConnection>>>) {
    for _ in 0..MAX_PINGS {
        if read_control(&slot).await.is_none() || !ping(&slot).await {
            break;
        }
        if read_control(&slot).await != Some(SignOfLife::Seen) {
            break;
        }
    }
    slot.lock().take();
}

#[derive(PartialEq, Eq)]
enum SignOfLife {
    Seen,
    None,
}

/// Reads control messages until the next ping is due. None if the connection cannot be used any more.
async fn read_control(slot: &Mutex<Option<SocketConnection>>) -> Option<SignOfLife> {
    let mut sign = SignOfLife::None;
    let ended = std::future::poll_fn(|context| {
        let mut slot = slot.lock();
        let Some(connection) = &mut *slot else {
            return Poll::Ready(());
        };
        loop {
            match connection.socket.poll_next(context) {
                Poll::Ready(Ok(SocketMessage::Control)) => sign = SignOfLife::Seen,
                // Data that belongs to no request would be taken for the answer to the next one.
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    let is_open = tokio::time::timeout(PING_INTERVAL, ended).await.is_err();
    is_open.then_some(sign)
}

/// Sends a ping. The connection is only locked while it is polled, so that a request can take it at any time.
async fn ping(slot: &Mutex<Option<SocketConnection>>) -> bool {
    let sent = std::future::poll_fn(|context| {
        let mut slot = slot.lock();
        let Some(connection) = &mut *slot else {
            return Poll::Ready(false);
        };
        let ping = pin!(connection.socket.ping());
        // A ping that cannot be sent at once is as good as an unanswered one.
        match ping.poll(context) {
            Poll::Ready(sent) => Poll::Ready(sent.is_ok()),
            Poll::Pending => Poll::Ready(true),
        }
    });
    sent.await
}
