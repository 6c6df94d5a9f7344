//! Watches skill folders.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use codex_file_watch as file_watch;

/// Limit on watched folders.
const LIMIT: usize = 1_024;

/// Watches folders until it is dropped.
pub(crate) struct FolderWatcher {
    inner: file_watch::Watcher,
    watched: HashMap<PathBuf, Option<file_watch::Watch>>,
    changed: Arc<dyn Fn() + Send + Sync>,
}

impl FolderWatcher {
    /// Calls `changed` after a change. None if watching is not supported, which is logged.
    pub(crate) fn start(changed: impl Fn() + Send + Sync + 'static) -> Option<Self> {
        let inner = file_watch::Watcher::new();
        let inner = inner.inspect_err(|error| tracing::warn!("skills are not watched: {error}"));
        Some(Self {
            inner: inner.ok()?,
            watched: HashMap::new(),
            changed: Arc::new(changed),
        })
    }

    /// Watches these folders, which need not exist. Returns whether any of them was not watched before.
    pub(crate) fn watch(&mut self, folders: impl IntoIterator<Item = PathBuf>) -> bool {
        let mut is_new = false;
        for folder in folders {
            if self.watched.len() >= LIMIT || self.watched.contains_key(&folder) {
                continue;
            }
            is_new = true;
            let changed = Arc::clone(&self.changed);
            let watch = self.inner.watch(&folder, move |_| changed());
            let watch = watch.inspect_err(|error| {
                tracing::warn!("{} is not watched: {error}", folder.display());
            });
            self.watched.insert(folder, watch.ok());
        }
        is_new
    }
}
