//! The paths that a client watches, by id.

use std::collections::HashMap;
use std::sync::Arc;

use codex_file_watch::Watch;
use parking_lot::Mutex;

use crate::background_notifier::BackgroundNotifier;

/// The watches of one connection.
#[derive(Debug, Default)]
pub(crate) struct Watches(Mutex<HashMap<String, NamedWatch>>);

/// A watch and its notifier. Dropping it ends both.
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
        self.0.lock().insert(id, watch);
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.lock().contains_key(id)
    }

    pub(crate) fn remove(&self, id: &str) {
        let removed = self.0.lock().remove(id);
        drop(removed);
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        drop(all);
    }
}
