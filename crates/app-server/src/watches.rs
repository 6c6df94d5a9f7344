//! The paths that one client watches, by the ids that it or the server gave them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use codex_file_watch::Watch;

use crate::background_notifier::BackgroundNotifier;

/// The watches of one connection.
#[derive(Debug, Default)]
pub(crate) struct Watches(Mutex<HashMap<String, NamedWatch>>);

/// A watch, and what sends its changes. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct NamedWatch {
    pub(crate) _watch: Watch,
    pub(crate) notifier: Arc<BackgroundNotifier>,
}

impl Drop for NamedWatch {
    fn drop(&mut self) {
        self.notifier.close();
    }
}

impl Watches {
    pub(crate) fn add(&self, id: String, watch: NamedWatch) {
        self.lock().insert(id, watch);
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.lock().contains_key(id)
    }

    pub(crate) fn remove(&self, id: &str) {
        let removed = self.lock().remove(id);
        drop(removed);
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, NamedWatch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
