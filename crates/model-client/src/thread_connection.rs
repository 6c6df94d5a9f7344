//! The connection that a thread keeps over its turns, for providers that have one.
//!
//! It belongs to the thread, so that it ends with it. What it is, only the client that opened it knows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

/// The connection of a thread to its model. Clones share it; dropping all of them closes it.
#[derive(Clone, Default)]
pub struct ThreadConnection(Arc<SharedConnection>);

#[derive(Default)]
struct SharedConnection {
    /// Where no request uses it.
    kept: Mutex<Option<Box<dyn Any + Send>>>,
    /// Closed as soon as the connection is prepared.
    warming: Mutex<Option<watch::Receiver<()>>>,
    is_used: AtomicBool,
    has_fallen_back: AtomicBool,
}

impl ThreadConnection {
    /// Whether requests are sent over it at present.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.0.is_used.load(Ordering::Relaxed) && !self.has_fallen_back()
    }

    /// Gives it up for good, so that every request is sent on its own. Returns false if it was not in use.
    pub fn fall_back(&self) -> bool {
        let was_in_use = self.is_in_use();
        self.0.has_fallen_back.store(true, Ordering::Relaxed);
        *self.0.kept.lock() = None;
        was_in_use
    }

    pub(crate) fn has_fallen_back(&self) -> bool {
        self.0.has_fallen_back.load(Ordering::Relaxed)
    }

    pub(crate) fn set_used(&self) {
        self.0.is_used.store(true, Ordering::Relaxed);
    }

    /// Lets requests wait until the returned value is dropped.
    pub(crate) fn begin_warming(&self) -> watch::Sender<()> {
        let (done, warming) = watch::channel(());
        *self.0.warming.lock() = Some(warming);
        done
    }

    /// Waits until the connection is prepared, or cannot be.
    pub(crate) async fn warmed(&self) {
        let warming = self.0.warming.lock().clone();
        if let Some(mut warming) = warming {
            // An error says that it is done.
            let _ = warming.changed().await;
            *self.0.warming.lock() = None;
        }
    }

    /// Takes what was kept.
    pub(crate) fn take<T: Any>(&self) -> Option<Box<T>> {
        let kept = self.0.kept.lock().take();
        kept?.downcast().ok()
    }

    /// Keeps a connection for the next request.
    pub(crate) fn keep(&self, connection: impl Any + Send) {
        if !self.has_fallen_back() {
            *self.0.kept.lock() = Some(Box::new(connection));
        }
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
